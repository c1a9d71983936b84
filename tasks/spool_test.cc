#include "tasks/spool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "datasets/data_test_util.h"
#include "lra/folder_test_util.h"

namespace lra {
namespace {

using testing::HasSubstr;

bool IsEmptyFolder(const std::string& path) { return std::filesystem::is_empty(path); }

// An example of `length` values that follow from `start`.
EncodedExample Example(int64_t length, int start, int64_t length_b = 0) {
  EncodedExample example;
  for (int64_t i = 0; i < length; ++i) example.tokens.push_back((start + i * 7) % 251);
  for (int64_t i = 0; i < length_b; ++i) example.tokens_b.push_back((start + i * 5) % 251);
  example.label = start % 3;
  return example;
}

void ExpectSame(const absl::StatusOr<EncodedExample>& read, const EncodedExample& expected) {
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->tokens, expected.tokens);
  EXPECT_EQ(read->tokens_b, expected.tokens_b);
  EXPECT_EQ(read->label, expected.label);
}

class SpoolTest : public testing::Test {
 protected:
  Spool Make(int vocabulary_size, bool is_pair = false) const {
    absl::StatusOr<Spool> spool =
        Spool::Create(folder_.path(), SmallSpec(vocabulary_size, is_pair));
    LRA_CHECK(spool.ok()) << spool.status().ToString();
    return *std::move(spool);
  }
  const TestFolder folder_;
};

TEST_F(SpoolTest, ReadsInAnyOrderWhatWasAddedInAnother) {
  Spool spool = Make(256);
  const std::vector<uint64_t> keys = {7, 0, uint64_t{1} << 40, ~uint64_t{0}, 3};
  for (size_t i = 0; i < keys.size(); ++i) {
    ASSERT_TRUE(spool.Add(keys[i], Example(i * 10 + 1, static_cast<int>(i))).ok());
    ExpectSame(spool.Read(keys[0]), Example(1, 0));  // reading also works between two Adds
  }
  EXPECT_EQ(spool.examples(), 5);
  for (size_t i : {4, 1, 3, 0, 2, 4}) {
    ExpectSame(spool.Read(keys[i]), Example(i * 10 + 1, static_cast<int>(i)));
  }
}

TEST_F(SpoolTest, KeepsPairsIdsAboveAByteAndEmptyTexts) {
  for (int vocabulary_size : {256, 60000}) {
    Spool spool = Make(vocabulary_size, true);
    EncodedExample wide = Example(5, 1, 9), empty;
    if (vocabulary_size > 256) wide.tokens[2] = 59999;
    wide.label = -5;
    ASSERT_TRUE(spool.Add(1, wide).ok() && spool.Add(2, empty).ok());
    ASSERT_TRUE(spool.Add(3, Example(0, 1, 4)).ok());
    ExpectSame(spool.Read(3), Example(0, 1, 4));
    ExpectSame(spool.Read(2), empty);
    ExpectSame(spool.Read(1), wide);
  }
}

// What is written goes through a buffer of 4 MB.
TEST_F(SpoolTest, ManyLargeExamplesGoThroughTheDisk) {
  for (int vocabulary_size : {256, 60000}) {
    Spool spool = Make(vocabulary_size);
    const auto length = [](int i) { return i == 5 ? 9000000 : 700000 + i; };
    for (int i = 0; i < 12; ++i) ASSERT_TRUE(spool.Add(i, Example(length(i), i)).ok());
    for (int i = 11; i >= 0; --i) ExpectSame(spool.Read(i), Example(length(i), i));
  }
}

TEST_F(SpoolTest, AKeyTwiceAndAKeyNeverAddedAreErrors) {
  Spool spool = Make(256);
  ASSERT_TRUE(spool.Add(4, Example(3, 1)).ok());
  EXPECT_EQ(spool.Add(4, Example(9, 2)).code(), absl::StatusCode::kInvalidArgument);
  ExpectSame(spool.Read(4), Example(3, 1));
  const absl::Status status = spool.Read(5).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("key 5"));
}

TEST_F(SpoolTest, TheFileHasNoNameWhileItIsThere) {
  Spool first = Make(256);
  EXPECT_TRUE(IsEmptyFolder(folder_.path()));
  ASSERT_TRUE(first.Add(1, Example(5000000, 1)).ok());
  EXPECT_TRUE(IsEmptyFolder(folder_.path()));
  const Spool second(std::move(first));
  ExpectSame(second.Read(1), Example(5000000, 1));
}

TEST_F(SpoolTest, AMissingFolderIsNamed) {
  const absl::Status status = Spool::Create(folder_.File("none"), SmallSpec()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr(folder_.File("none")));
}

// A limit on the size of files looks like a full disk.
TEST_F(SpoolTest, AFullDiskIsAnErrorThatNamesTheFolder) {
  Spool spool = Make(256);
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit limit{1 << 20, before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &limit);
  const absl::Status status = spool.Add(1, Example(5000000, 1));
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr(folder_.path()));
  EXPECT_THAT(std::string(status.message()), HasSubstr("File too large"));
}

// If bytes are missing for any reason, the result is an error and not an example.
TEST_F(SpoolTest, AFileThatEndsEarlyIsAnError) {
  Spool spool = Make(256);
  ASSERT_TRUE(spool.Add(1, Example(5000000, 1)).ok());
  bool cut = false;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    const std::string target = std::filesystem::read_symlink(entry.path(), error).string();
    if (!absl::StartsWith(target, absl::StrCat(folder_.path(), "/spool-"))) continue;
    ASSERT_EQ(truncate(entry.path().c_str(), 4999999), 0);
    cut = true;
  }
  ASSERT_TRUE(cut);
  errno = 0;
  const absl::Status status = spool.Read(1).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr(folder_.path()));
}

}  // namespace
}  // namespace lra
