#include "tasks/join.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "datasets/data_test_util.h"
#include "datasets/dataset.h"
#include "datasets/manifest.h"
#include "datasets/mapped_split.h"
#include "lra/folder_test_util.h"
#include "tasks/import_test_util.h"
#include "tasks/options_test_util.h"

namespace lra {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

// There are 4 * 10 * 10 trees, of which 390 are asked for, so most examples meet a duplicate.
PrepareOptions CrowdedListOps(const std::string& out) {
  PrepareOptions options = SmallListOps(out);
  options.set = {"max_depth=2",         "max_arguments=2",    "min_length_tokens=3",
                 "max_length_tokens=5", "train_examples=350", "validation_examples=20",
                 "test_examples=20"};
  return options;
}

class JoinTest : public testing::Test {
 protected:
  std::string MakeWhole(PrepareOptions options) const {
    options.out = folder_.File("whole");
    Make(options);
    return options.out;
  }

  // The folders of the parts, by number.
  std::vector<std::string> MakeParts(PrepareOptions options, int parts) const {
    std::vector<std::string> folders;
    for (int i = 0; i < parts; ++i) {
      options.shard = absl::StrCat(i, "/", parts);
      options.out = folder_.File(absl::StrCat("part-", i, "-of-", parts));
      Make(options);
      folders.push_back(options.out);
    }
    return folders;
  }

  static void Make(const PrepareOptions& options) {
    const absl::Status status = Prepare(options).status();
    LRA_CHECK(status.ok()) << status.ToString();
  }

  absl::StatusOr<Manifest> Join(const std::vector<std::string>& parts, int threads = 2) const {
    return JoinParts(
        {.parts = parts, .out = folder_.File("joined"), .threads = threads, .quiet = true});
  }

  void ExpectWhole(const std::vector<std::string>& parts, int threads = 2) const {
    const auto joined = Join(parts, threads);
    ASSERT_TRUE(joined.ok()) << joined.status();
    EXPECT_FALSE(joined->has_part());
    EXPECT_EQ(Contents(folder_.File("joined")), Contents(folder_.File("whole")));
    ASSERT_TRUE(RemoveAll(folder_.File("joined")).ok());
  }

  // Expects that a failed join leaves nothing behind.
  std::string Refused(const std::vector<std::string>& parts, absl::StatusCode code) const {
    const absl::Status status = Join(parts).status();
    EXPECT_EQ(status.code(), code) << status;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
      EXPECT_THAT(entry.path().filename().string(), testing::Not(HasSubstr("joined")));
    }
    return std::string(status.message());
  }

  const TestFolder folder_;
};

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kDamaged = absl::StatusCode::kDataLoss;

TEST_F(JoinTest, PartsInAnyOrderMakeTheWhole) {
  MakeWhole(SmallListOps(""));
  const std::vector<std::string> parts = MakeParts(SmallListOps(""), 3);
  ExpectWhole(parts);
  ExpectWhole({parts[2], parts[0], parts[1]});
  ExpectWhole({parts[1], parts[2], parts[0]});
  ExpectWhole(MakeParts(SmallListOps(""), 1));
}

TEST_F(JoinTest, ADuplicateOfAnotherPartTakesItsNextAttemptAsInTheWhole) {
  const PrepareOptions options = CrowdedListOps("");
  MakeWhole(options);
  const std::vector<std::string> parts = MakeParts(options, 4);
  // The test is about inputs that occur in several parts though no part has one twice, so there
  // must be some.
  std::vector<std::vector<uint16_t>> inputs;
  for (const std::string& part : parts) {
    EXPECT_THAT(ReadManifest(part)->duplicates(), IsEmpty());
    const Dataset data = *Dataset::Open(part, {.allow_part = true});
    std::vector<uint16_t> scratch;
    for (int64_t i = 0; i < data.split("train")->examples; ++i) {
      const auto tokens = data.split("train")->Tokens(i, &scratch);
      inputs.emplace_back(tokens.begin(), tokens.end());
    }
  }
  EXPECT_EQ(inputs.size(), 350u);
  std::sort(inputs.begin(), inputs.end());
  inputs.erase(std::unique(inputs.begin(), inputs.end()), inputs.end());
  EXPECT_LT(inputs.size(), 300u);
  for (int threads : {1, 8}) ExpectWhole(parts, threads);
  ExpectWhole(MakeParts(options, 7));
}

TEST_F(JoinTest, ExtraColumnsAndAmbiguousExamplesAreKept) {
  PrepareOptions options;
  options.task = "pathfinder32";
  options.set = {"images=40"};
  options.quiet = true;
  MakeWhole(options);
  ExpectWhole(MakeParts(options, 3));
}

TEST_F(JoinTest, WhatIsGivenOfAnExampleIsAPartOfItsFingerprint) {
  PrepareOptions options;
  options.task = "copy";
  options.set = {"train_examples=40", "validation_examples=5", "test_examples=5"};
  options.quiet = true;
  MakeWhole(options);
  ExpectWhole(MakeParts(options, 2));
}

// Otherwise parts from before an upgrade could neither be joined with later ones nor made anew.
TEST_F(JoinTest, PartsOfAnotherVersionOfTheProgramAreJoined) {
  MakeWhole(SmallListOps(""));
  const std::vector<std::string> parts = MakeParts(SmallListOps(""), 3);
  for (const std::string& part : {parts[0], parts[2]}) {
    Manifest manifest = *ReadManifest(part);
    manifest.set_program("lra 0.0.1");
    ASSERT_TRUE(WriteManifest(part, manifest).ok());
  }
  ExpectWhole(parts);
}

TEST_F(JoinTest, PartsThatDoNotBelongTogetherAreRefused) {
  const std::vector<std::string> parts = MakeParts(SmallListOps(""), 3);
  const std::string whole = MakeWhole(SmallListOps(""));
  const auto other = [&](const std::string& name, auto change) {
    PrepareOptions options = SmallListOps(folder_.File(name));
    options.shard = "1/3";
    change(&options);
    Make(options);
    return options.out;
  };
  EXPECT_THAT(Refused({}, kInvalid), HasSubstr("no parts are given"));
  EXPECT_THAT(Refused({parts[1]}, kInvalid),
              HasSubstr("of 3 parts (counted from 0) these are missing: 0, 2"));
  EXPECT_THAT(Refused({parts[0], parts[1]}, kInvalid), HasSubstr("these are missing: 2"));
  EXPECT_THAT(Refused({parts[0], parts[1], parts[2], parts[1]}, kInvalid),
              HasSubstr(absl::StrCat(parts[1], " and ", parts[1], " are both part 1")));
  EXPECT_THAT(Refused({whole}, kInvalid),
              HasSubstr(absl::StrCat(whole, " is no part: it was made without")));
  EXPECT_THAT(Refused({parts[0], whole, parts[2]}, kInvalid), HasSubstr("whole is no part"));
  const auto expect_foreign = [&](const std::string& part) {
    EXPECT_THAT(Refused({parts[0], part, parts[2]}, kInvalid),
                AllOf(HasSubstr(part), HasSubstr(parts[0]), HasSubstr("parts of different data")));
  };
  expect_foreign(other("seed", [](auto* o) { o->seed = 5; }));
  expect_foreign(other("options", [](auto* o) { o->set[5] = "test_examples=21"; }));
  expect_foreign(other("parts", [](auto* o) { o->shard = "1/4"; }));
  expect_foreign(other("task", [](auto* o) {
    o->task = "pathfinder32";
    o->set = {"images=30"};
  }));
}

TEST_F(JoinTest, DamagedPartsAreRefused) {
  const std::vector<std::string> parts = MakeParts(SmallListOps(""), 3);
  const std::string file = JoinPath(parts[1], "train-00000-of-00001.tokens.npy");
  FlipByte(file, 200);
  EXPECT_THAT(Refused(parts, kDamaged), HasSubstr(file));
  FlipByte(file, 200);
  const std::string manifest = JoinPath(parts[1], std::string(kManifestFile));
  FlipByte(manifest, 30);
  EXPECT_THAT(Refused(parts, kDamaged), HasSubstr(manifest));
  FlipByte(manifest, 30);
  ASSERT_TRUE(RemoveAll(JoinPath(parts[1], "test-00000-of-00001.labels.npy")).ok());
  EXPECT_THAT(Refused(parts, kDamaged), HasSubstr("test-00000-of-00001.labels.npy"));
  ASSERT_TRUE(RemoveAll(parts[1]).ok());
  EXPECT_THAT(Refused(parts, absl::StatusCode::kNotFound), HasSubstr(parts[1]));
}

// The manifest of a part claims another number under a valid seal.
TEST_F(JoinTest, APartThatLiesAboutItsNumberIsRefused) {
  PrepareOptions options = SmallListOps("");
  options.set[4] = "validation_examples=22";  // 7, 7 and 8 in three parts
  const std::vector<std::string> parts = MakeParts(options, 3);
  for (const auto& [part, number] : {std::pair(0, 2), std::pair(2, 0)}) {
    Manifest manifest = *ReadManifest(parts[part]);
    manifest.mutable_part()->set_index(number);
    ASSERT_TRUE(WriteManifest(parts[part], manifest).ok());
  }
  EXPECT_THAT(Refused(parts, kDamaged),
              AllOf(HasSubstr("split validation has not the 7 examples"), HasSubstr(parts[2])));
}

TEST_F(JoinTest, WhatIsThereIsNotReplaced) {
  const std::vector<std::string> parts = MakeParts(SmallListOps(""), 2);
  const auto before = Contents(parts[0]);
  const JoinOptions options{.parts = parts, .out = parts[0], .quiet = true};
  EXPECT_EQ(JoinParts(options).status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(Contents(parts[0]), before);
  EXPECT_EQ(JoinParts({.parts = parts, .out = "", .quiet = true}).status().code(), kInvalid);
}

TEST_F(JoinTest, APartIsNotTakenForTheData) {
  const std::vector<std::string> parts = MakeParts(SmallListOps(""), 3);
  const absl::Status status = Dataset::Open(parts[1], {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr(parts[1]), HasSubstr("holds part 1 of 3 (counted from 0) of listops"),
                    HasSubstr("lra data join")));
  EXPECT_TRUE(Dataset::Open(parts[1], {.allow_part = true}).ok());
  EXPECT_FALSE(IsCanonical(*ReadManifest(parts[1])));
}

TEST_F(JoinTest, ShardsThatAreNoneAreRefused) {
  PrepareOptions options = SmallListOps(folder_.File("x"));
  for (const char* shard : {"0", "0/0", "3/3", "-1/3", "1/3/5", "a/3", "1/b", "/", "1/21"}) {
    options.shard = shard;
    const absl::Status status = Prepare(options).status();
    EXPECT_EQ(status.code(), kInvalid) << shard;
    EXPECT_THAT(std::string(status.message()), HasSubstr(absl::StrCat(shard))) << shard;
  }
  EXPECT_FALSE(FileExists(options.out));
}

}  // namespace
}  // namespace lra
