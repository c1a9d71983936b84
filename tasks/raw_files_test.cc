#include "tasks/raw_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lra/files.h"
#include "lra/folder_test_util.h"

namespace lra {
namespace {

// Gives out its bytes in pieces of at most `piece`.
class PiecewiseSource : public RawSource {
 public:
  PiecewiseSource(std::string bytes, size_t piece) : bytes_(std::move(bytes)), piece_(piece) {}
  absl::StatusOr<std::optional<RawEntry>> Next() override { return std::nullopt; }
  absl::StatusOr<size_t> Read(char* buffer, size_t size_bytes) override {
    const size_t count = std::min({size_bytes, piece_, bytes_.size() - at_});
    bytes_.copy(buffer, count, at_);
    at_ += count;
    return count;
  }
  const std::string& name() const override { return bytes_; }
  size_t read_bytes() const { return at_; }

 private:
  const std::string bytes_;
  const size_t piece_;
  size_t at_ = 0;
};

TEST(ReadWholeEntryTest, ReadsUpToItsLimitAndNoFurther) {
  const RawEntry entry{"a/file"};
  std::string bytes(200000, 'x');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 31 + i / 999);
  for (size_t piece : {1u, 1000u, 1u << 20}) {
    for (size_t size : {0u, 1u, 65535u, 65536u, 65537u, 200000u}) {
      PiecewiseSource source(bytes.substr(0, size), piece);
      const auto read = ReadWholeEntry(&source, entry, size);
      ASSERT_TRUE(read.ok()) << read.status();
      EXPECT_EQ(*read, bytes.substr(0, size)) << size;
      if (size == 0) continue;
      PiecewiseSource longer(bytes.substr(0, size), piece);
      const absl::Status status = ReadWholeEntry(&longer, entry, size - 1).status();
      EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
      EXPECT_EQ(status.message(),
                absl::StrCat("a/file: the file is longer than ", size - 1, " bytes"));
    }
  }
  PiecewiseSource endless(std::string(10 << 20, 'x'), 1 << 20);
  EXPECT_FALSE(ReadWholeEntry(&endless, entry, 1000).ok());
  EXPECT_LE(endless.read_bytes(), 1u << 16);
}

// Hundreds of files wait in memory together.
TEST(ReadWholeEntryTest, ASmallFileKeepsNoMoreThanItNeeds) {
  PiecewiseSource source(std::string(1300, 'x'), 1 << 20);
  EXPECT_LT(ReadWholeEntry(&source, RawEntry{"a"}, 65536)->capacity(), 2600u);
}

TEST(FileSetTest, NamesFilesInTheOrderOfTheirKeys) {
  FileSet files, others;
  EXPECT_TRUE(files.empty());
  files.Add(9, "nine");
  files.Add(uint64_t{1} << 40, "");
  files.Add(2, "two");
  for (const auto& [key, bytes] : {std::pair(uint64_t{2}, "two"), std::pair(uint64_t{9}, "nine"),
                                   std::pair(uint64_t{1} << 40, "")}) {
    others.Add(key, bytes);
  }
  EXPECT_FALSE(files.empty());
  std::string digests;
  for (const char* bytes : {"two", "nine", ""}) {
    const Sha256Digest digest = Sha256Of(bytes);
    digests.append(digest.begin(), digest.end());
  }
  const ManifestSource source = files.Source("train/pos");
  EXPECT_EQ(source.name(), "train/pos");
  EXPECT_EQ(source.size_bytes(), 7);
  EXPECT_EQ(source.sha256(), Sha256Hex(digests));
  EXPECT_EQ(others.Source("train/pos").sha256(), source.sha256());
  others.Add(10, "nine");
  EXPECT_NE(others.Source("train/pos").sha256(), source.sha256());
}

TEST(BytesTextTest, EscapesWhatIsNotPrinted) {
  const std::vector<uint16_t> tokens = {'c', 'a', 'f', 0xc3, 0xa9, 0x01, '\n'};
  EXPECT_EQ(BytesText(tokens), "caf\xc3\xa9\\x01\\n");
  const std::vector<uint16_t> latin = {'c', 0xe9};
  EXPECT_EQ(BytesText(latin), "c\\xe9");
}

TEST(WriteSampleFileTest, MakesFoldersOnTheWay) {
  const TestFolder folder;
  ASSERT_TRUE(WriteSampleFile(folder.path(), "a/b/c.txt", "text").ok());
  EXPECT_EQ(*ReadFile(folder.File("a/b/c.txt")), "text");
  ASSERT_TRUE(WriteSampleFile(folder.path(), "d.txt", "").ok());
  EXPECT_EQ(*ReadFile(folder.File("d.txt")), "");
}

}  // namespace
}  // namespace lra
