#include "tasks/prepare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "datasets/manifest.h"
#include "lra/config.h"
#include "lra/files.h"
#include "lra/folder_test_util.h"
#include "tasks/inventory.h"
#include "tasks/options_test_util.h"
#include "tasks/verify.h"

namespace lra {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

std::map<std::string, std::string> Contents(const std::string& folder) {
  std::map<std::string, std::string> contents;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    contents[entry.path().filename()] = *ReadFile(entry.path().string());
  }
  return contents;
}

std::vector<std::string> Names(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class PrepareTest : public testing::Test {
 protected:
  void ExpectValid(const std::string& path, bool canonical = false) {
    const auto report = VerifyDataset(path, {.quiet = true});
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_THAT(report->problems, IsEmpty());
    EXPECT_GT(report->labels_checked, 0);
    EXPECT_EQ(report->canonical, canonical);
  }
  const TestFolder folder_;
  const std::string out_ = folder_.File("listops");
};

TEST_F(PrepareTest, BytesDoNotDependOnThreads) {
  std::map<std::string, std::string> first;
  for (int threads : {1, 2, 8}) {
    PrepareOptions options = SmallListOps(folder_.File(absl::StrCat("t", threads)));
    options.set[3] = "train_examples=3000";
    options.threads = threads;
    const auto result = Prepare(options);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->manifest.splits(0).examples(), 3000);
    ExpectValid(options.out);
    if (first.empty()) first = Contents(options.out);
    EXPECT_EQ(Contents(options.out), first) << threads;
  }
}

// The first examples of the canonical data at full size: pins the generator, the ids and the
// fingerprint.
TEST_F(PrepareTest, CanonicalExamplesArePinned) {
  PrepareOptions options;
  options.task = "listops";
  options.out = out_;
  options.set = {"train_examples=200", "validation_examples=20", "test_examples=20"};
  options.quiet = true;
  const auto result = Prepare(options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->manifest.seed(), 0u);
  EXPECT_EQ(result->manifest.splits(0).content_fingerprint(),
            "2b496ccba05a54389c6348da260e125aab51fe777c9e639b2589e44c46c3abba");
  EXPECT_EQ(result->manifest.splits(1).content_fingerprint(),
            "6ef8884cdaea79b96c1034a3c55e12d491f20e94c313ba8a1bdbbf6a3785552d");
  EXPECT_EQ(result->manifest.splits(2).content_fingerprint(),
            "53cb78c72fe79891c65c409f8fc50eff2c3f4434ef4cfa5f2bfa4591b97974c5");
  ExpectValid(out_);
}

TEST_F(PrepareTest, SeedsAndSplitsDiffer) {
  PrepareOptions options = SmallListOps(out_);
  options.set[3] = "train_examples=20";
  std::set<std::string> fingerprints;
  for (uint32_t seed : {0u, 1u}) {
    options.seed = seed;
    options.out = folder_.File(absl::StrCat("seed", seed));
    const auto result = Prepare(options);
    for (const auto& split : result->manifest.splits())
      fingerprints.insert(split.content_fingerprint());
  }
  EXPECT_EQ(fingerprints.size(), 6u);
}

// There are so few trees that most examples meet a duplicate; still all are distinct, in any split
// and on any number of threads.
TEST_F(PrepareTest, DuplicatesTakeTheirNextAttempt) {
  std::map<std::string, std::string> first;
  for (int threads : {1, 8}) {
    PrepareOptions options = SmallListOps(folder_.File(absl::StrCat("t", threads)));
    options.set = {"max_depth=2",         "max_arguments=2",    "min_length_tokens=3",
                   "max_length_tokens=5", "train_examples=350", "validation_examples=20",
                   "test_examples=20"};
    options.threads = threads;
    const auto result = Prepare(options);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->manifest.duplicates_size(), 0);
    ExpectValid(options.out);
    if (first.empty()) first = Contents(options.out);
    EXPECT_EQ(Contents(options.out), first);
  }
  // There are 4 * 10 * 10 such trees.
  PrepareOptions options = SmallListOps(folder_.File("too-many"));
  options.set = {"max_depth=2",         "max_arguments=2",    "min_length_tokens=3",
                 "max_length_tokens=5", "train_examples=401", "validation_examples=20",
                 "test_examples=20"};
  const absl::Status status = Prepare(options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("ask for fewer examples"));
  EXPECT_FALSE(FileExists(options.out));
}

TEST_F(PrepareTest, WhatIsThereIsKeptComparedOrReplaced) {
  PrepareOptions options = SmallListOps(out_);
  ASSERT_FALSE(Prepare(options)->was_there);
  const auto before = Contents(out_);
  EXPECT_TRUE(Prepare(options)->was_there);
  options.out += "/";
  EXPECT_TRUE(Prepare(options)->was_there);

  options.seed = 5;
  const absl::Status other = Prepare(options).status();
  EXPECT_EQ(other.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(other.message()), HasSubstr("replace it with --force"));
  EXPECT_EQ(Contents(out_), before);

  options.force = true;
  const auto replaced = Prepare(options);
  ASSERT_TRUE(replaced.ok()) << replaced.status();
  EXPECT_EQ(ReadManifest(out_)->seed(), 5u);
  EXPECT_NE(Contents(out_), before);
  ExpectValid(out_);
  EXPECT_THAT(Names(folder_.path()), testing::ElementsAre("listops"));
}

// The faster one's data stays; it is the other's, too, unless that asked for something else.
TEST_F(PrepareTest, TwoAtOnceMakeTheSameData) {
  const auto both = [&](uint32_t seed_of_second) {
    absl::Notification begin;
    std::vector<absl::StatusOr<PrepareResult>> results(2, absl::UnknownError("not run"));
    std::vector<std::thread> threads;
    for (uint32_t i : {0, 1}) {
      threads.emplace_back([&, i] {
        PrepareOptions options = SmallListOps(out_);
        options.set[3] = "train_examples=20000";  // so that both begin before one ends
        options.seed = i * seed_of_second;
        options.threads = 1;
        begin.WaitForNotification();
        results[i] = Prepare(options);
      });
    }
    begin.Notify();
    for (std::thread& thread : threads) thread.join();
    return results;
  };
  const auto same = both(0);
  ASSERT_TRUE(same[0].ok() && same[1].ok()) << same[0].status() << same[1].status();
  EXPECT_NE(same[0]->was_there, same[1]->was_there);
  ExpectValid(out_);
  ASSERT_TRUE(RemoveAll(out_).ok());
  const auto other = both(5);
  ASSERT_NE(other[0].ok(), other[1].ok());
  EXPECT_THAT(std::string(other[other[0].ok() ? 1 : 0].status().message()),
              HasSubstr("holds other data"));
  EXPECT_THAT(Names(folder_.path()), testing::ElementsAre("listops"));
}

TEST_F(PrepareTest, DamagedDataIsNotTakenForGood) {
  PrepareOptions options = SmallListOps(out_);
  ASSERT_TRUE(Prepare(options).ok());
  const std::string labels = JoinPath(out_, "test-00000-of-00001.labels.npy");
  std::string bytes = *ReadFile(labels);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  ASSERT_TRUE(WriteFileAtomically(labels, bytes).ok());
  const absl::Status status = Prepare(options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(status.message()),
              testing::AllOf(HasSubstr("damaged"), HasSubstr(labels)));
  options.force = true;
  EXPECT_TRUE(Prepare(options).ok());
  ExpectValid(out_);
}

// A manifest of another program, and what somebody put beside data.
TEST_F(PrepareTest, ForceReplacesNothingButData) {
  ASSERT_TRUE(MakeDirectories(JoinPath(out_, "src")).ok());
  const std::string manifest = JoinPath(out_, "manifest.textproto");
  ASSERT_TRUE(WriteFileAtomically(manifest, "name: \"a cluster's\"\n").ok());
  PrepareOptions options = SmallListOps(out_);
  options.force = true;
  EXPECT_THAT(std::string(Prepare(options).status().message()),
              HasSubstr("its manifest.textproto is none of a data set; --force replaces nothing"));
  EXPECT_EQ(Names(out_).size(), 2u);
  ASSERT_TRUE(RemoveAll(out_).ok());
  ASSERT_TRUE(Prepare(options).ok());
  for (const char* mine : {"manifest.textproto.tmp-backup", "notes.txt", "runs"}) {
    const std::string path = JoinPath(out_, mine);
    ASSERT_TRUE(mine[0] == 'r' ? MakeDirectories(path).ok() : WriteFileAtomically(path, "x").ok());
    const absl::Status status = Prepare(options).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists);
    EXPECT_THAT(std::string(status.message()),
                HasSubstr(absl::StrCat("holds \"", mine, "\", which is no part of a data set")));
    EXPECT_TRUE(FileExists(path));
    ASSERT_TRUE(RemoveAll(path).ok());
  }
  // What a killed process left is nobody's.
  ASSERT_TRUE(WriteFileAtomically(JoinPath(out_, "manifest.textproto.tmp-1-1"), "x").ok());
  EXPECT_TRUE(Prepare(options).ok());
}

TEST_F(PrepareTest, AFolderOfSomethingElseIsLeftAlone) {
  ASSERT_TRUE(MakeDirectories(out_).ok());
  ASSERT_TRUE(WriteFileAtomically(JoinPath(out_, "thesis.tex"), "years of work").ok());
  PrepareOptions options = SmallListOps(out_);
  options.force = true;
  const absl::Status status = Prepare(options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(status.message()), HasSubstr("is no data set"));
  EXPECT_EQ(*ReadFile(JoinPath(out_, "thesis.tex")), "years of work");
}

TEST_F(PrepareTest, WrongUseStartsNothing) {
  const auto status = [&](auto change) {
    PrepareOptions options = SmallListOps(out_);
    change(&options);
    const absl::Status result = Prepare(options).status();
    EXPECT_EQ(result.code(), absl::StatusCode::kInvalidArgument) << result;
    EXPECT_THAT(Names(folder_.path()), IsEmpty());
    return std::string(result.message());
  };
  EXPECT_THAT(status([](auto* o) { o->set = {"max_dept=3"}; }), HasSubstr("max_depth"));
  EXPECT_THAT(status([](auto* o) { o->set = {"max_depth=1"}; }), HasSubstr("max_depth"));
  EXPECT_THAT(status([](auto* o) { o->set = {"min_length_tokens=1999"}; }),
              HasSubstr("no tree has more than 1999"));
  EXPECT_THAT(status([](auto* o) { o->set = {"max_depth=3"}; }), HasSubstr("have up to 122"));
  EXPECT_THAT(status([](auto* o) { o->raw = "x", o->seed = 1; }),
              HasSubstr("--seed is for generated data"));
  EXPECT_THAT(status([](auto* o) { o->out = ""; }), HasSubstr("no output folder"));
  const auto import_copy = [&](auto* o) { o->task = "copy", o->set = {}, o->raw = folder_.path(); };
  EXPECT_THAT(status(import_copy), HasSubstr("task copy cannot be imported: leave --raw out"));
  PrepareOptions options = SmallListOps(out_);
  options.task = "listop";
  EXPECT_THAT(std::string(Prepare(options).status().message()), HasSubstr("listops"));
}

TEST_F(PrepareTest, InventoryAndExamplesReadWell) {
  EXPECT_EQ(Inspect("listops", out_)->state, "missing");
  EXPECT_EQ(Inspect("listops", out_)->command, "lra data prepare listops");
  EXPECT_THAT(Inspect("text", folder_.File("text"))->command,
              testing::MatchesRegex("curl -sL https://.* \\| lra data prepare text --raw -"));
  // Its four files cannot be had by one download.
  EXPECT_EQ(Inspect("mnist_pixels", folder_.File("mnist_pixels"))->command,
            "lra data prepare mnist_pixels --raw PATH");
  ASSERT_TRUE(Prepare(SmallListOps(out_)).ok());
  const DatasetStatus status = *Inspect("listops", out_);
  EXPECT_EQ(status.state, "present");
  EXPECT_EQ(status.examples, 340);
  EXPECT_FALSE(status.canonical);
  const auto shown = ShowExamples(out_, "validation", 3);
  ASSERT_TRUE(shown.ok());
  ASSERT_EQ(shown->size(), 3u);
  EXPECT_EQ((*shown)[2].index, 2);
  EXPECT_THAT((*shown)[0].source, testing::MatchesRegex("\\[(MIN|MAX|MED|SM) .* \\]"));
  ASSERT_TRUE(WriteFileAtomically(JoinPath(out_, kManifestFile), "x").ok());
  EXPECT_EQ(Inspect("listops", out_)->state, "damaged");
}

}  // namespace
}  // namespace lra
