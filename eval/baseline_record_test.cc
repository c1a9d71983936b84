#include "eval/baseline_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "datasets/manifest.h"
#include "eval/data_identity.h"
#include "eval/run_record.h"
#include "eval/sums.h"
#include "lra/config.h"
#include "lra/files.h"
#include "lra/fingerprint.h"
#include "lra/folder_test_util.h"
#include "lra/sha256.h"

namespace lra {
namespace {

using ::testing::HasSubstr;

BaselineRun MakeBaselineRun() {
  BaselineRun run;
  run.name = "majority";
  run.description = "the most frequent label";
  run.data.set_task("toy");
  run.spec.set_classes(2);
  run.splits = {{"validation", {1, 0, 1, 0}, {0, 1}}, {"test", {1, 0}, {0}}};
  run.command_line = "lra baseline toy";
  run.unix_seconds = 1700000000;
  return run;
}

TEST(BaselineRecordTest, WritesARecordWithCheckedPredictions) {
  const TestFolder home;
  const std::string folder = home.File("run");
  ASSERT_TRUE(WriteBaselineRecord(folder, MakeBaselineRun()).ok());
  const auto record = ReadRunRecord(folder);
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(record->kind(), RunRecord::BASELINE);
  EXPECT_EQ(record->method(), kMajorityMethod);
  EXPECT_EQ(record->config().task(), "toy");
  EXPECT_EQ(CountOf(FindResult(*record, "validation")->sums(), kCorrect), 1);
  EXPECT_EQ(FindResult(*record, "test")->examples(), 1);
  EXPECT_EQ(FindResult(*record, "test")->step(), -1);
  ASSERT_EQ(record->test_looks_size(), 1);
  EXPECT_EQ(record->test_looks(0).command(), "lra baseline toy");
  EXPECT_TRUE(CheckPredictions(folder, *record).ok());
  EXPECT_TRUE(FileExists(JoinPath(folder, "predictions.npy")));
  EXPECT_TRUE(FileExists(JoinPath(folder, "predictions-validation.npy")));
}

TEST(BaselineRecordTest, AgainGivesTheSameRecordAndOtherRunsAreSafe) {
  const TestFolder home;
  const std::string folder = home.File("run");
  const auto first = WriteBaselineRecord(folder, MakeBaselineRun());
  BaselineRun later = MakeBaselineRun();
  later.unix_seconds += 60;
  const auto second = WriteBaselineRecord(folder, later);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_TRUE(EqualExceptVolatile(*first, *second));

  RunRecord trained;
  trained.set_kind(RunRecord::MEASURED);
  trained.set_method("linear");
  ASSERT_TRUE(WriteRunRecord(folder, trained).ok());
  EXPECT_EQ(WriteBaselineRecord(folder, later).status().code(), absl::StatusCode::kAlreadyExists);
}

TEST(BaselineRecordTest, ErrorsNameBaselineSplitAndExample) {
  BaselineRun run = MakeBaselineRun();
  run.splits[1].labels[0] = 7;
  const auto record = WriteBaselineRecord(TestFolder().File("run"), run);
  EXPECT_THAT(std::string(record.status().message()),
              HasSubstr("baseline majority, test: example 0: label 7"));
}

// The usual view has the plain name; another one must not claim the same folder.
TEST(BaselineRecordTest, FolderNamesTellViewsApart) {
  BaselineRun run = MakeBaselineRun();
  run.data.set_task("listops");
  run.data.set_view_fingerprint(Fingerprint(*LoadView("listops", "fair", "small", {})));
  EXPECT_EQ(BaselineDirectory("runs", run), "runs/listops-baseline-majority");
  run.data.set_view_fingerprint(
      Fingerprint(*LoadView("listops", "fair", "small", {"max_length_tokens=100"})));
  EXPECT_EQ(BaselineDirectory("runs", run),
            "runs/listops-baseline-majority-" + Fingerprint(run.data).substr(0, 8));
}

TEST(BaselineRecordTest, KeepsTheBarAndHowTheDataIsSeen) {
  BaselineRun run = MakeBaselineRun();
  run.bar.set_name("order");
  run.bar.set_ignores("the order of the units");
  run.bar.set_is_required(true);
  run.view.set_max_length_tokens(100);
  run.protocol = "fair@1";
  run.preset = "small";
  const auto record = WriteBaselineRecord(TestFolder().File("run"), run);
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(record->bar().name(), "order");
  EXPECT_EQ(record->bar().ignores(), "the order of the units");
  EXPECT_TRUE(record->bar().is_required());
  EXPECT_EQ(record->config().view().max_length_tokens(), 100);
  EXPECT_EQ(record->config().protocol(), "fair@1");
  EXPECT_EQ(record->config().preset(), "small");
}

TEST(DataIdentityTest, CopiesTheManifestAndFingerprintsTheView) {
  Manifest manifest;
  manifest.mutable_spec()->set_name("no_such_task");
  manifest.mutable_spec()->set_version(4);
  manifest.set_origin("imported");
  ManifestSplit* split = manifest.add_splits();
  split->set_name("test");
  split->set_content_fingerprint("abc");
  DataView view;
  view.set_max_length_tokens(128);
  const DataIdentity data = IdentifyData(manifest, view);
  EXPECT_EQ(data.task_version(), 4);
  EXPECT_EQ(data.split_fingerprint().at("test"), "abc");
  EXPECT_EQ(data.view_fingerprint(), Fingerprint(view));
  EXPECT_FALSE(data.is_canonical());
}

// The view cuts the stored split "all", so two rules for the cut give different data.
TEST(DataIdentityTest, SplitsAreTheViews) {
  Manifest manifest;
  ManifestSplit* split = manifest.add_splits();
  split->set_name("all");
  split->set_examples(100);
  split->set_content_fingerprint("abc");
  DataView view;
  view.set_split(DataView::SEED42);
  const DataIdentity permuted = IdentifyData(manifest, view);
  view.set_split(DataView::SLICES);
  const DataIdentity sliced = IdentifyData(manifest, view);
  EXPECT_EQ(permuted.split_fingerprint_size(), 3);
  EXPECT_EQ(permuted.split_fingerprint().at("test"), Sha256Hex("abc SEED42 test"));
  EXPECT_NE(permuted.split_fingerprint().at("test"), sliced.split_fingerprint().at("test"));
  EXPECT_NE(permuted.split_fingerprint().at("test"), permuted.split_fingerprint().at("train"));
}

TEST(DataIdentityTest, TheDataOfARunIsRecognised) {
  Manifest manifest;
  manifest.mutable_spec()->set_name("toy");
  for (const char* name : {"train", "validation", "test"}) {
    ManifestSplit* split = manifest.add_splits();
    split->set_name(name);
    split->set_content_fingerprint(std::string("of ") + name);
  }
  DataView view;
  view.set_max_length_tokens(100);
  RunRecord run;
  *run.mutable_data() = IdentifyData(manifest, view);
  EXPECT_TRUE(CheckDataOfRun(run, manifest, view).ok());
  DataView other = view;
  other.set_max_length_tokens(99);
  EXPECT_THAT(std::string(CheckDataOfRun(run, manifest, other).message()),
              HasSubstr("the view is"));
  manifest.mutable_splits(2)->set_content_fingerprint("of others");
  EXPECT_THAT(std::string(CheckDataOfRun(run, manifest, view).message()),
              HasSubstr("split test is of others, the run's is of test"));
  manifest.mutable_splits()->RemoveLast();
  EXPECT_THAT(std::string(CheckDataOfRun(run, manifest, view).message()),
              HasSubstr("split test is missing"));
  manifest.mutable_spec()->set_name("another");
  EXPECT_THAT(std::string(CheckDataOfRun(run, manifest, view).message()),
              HasSubstr("task is another, the run's is toy"));
}

TEST(DataIdentityTest, TheViewOfARun) {
  RunRecord run;
  run.mutable_data()->set_task("text");
  run.mutable_config()->mutable_view()->set_max_length_tokens(100);
  run.mutable_data()->set_view_fingerprint(Fingerprint(run.config().view()));
  EXPECT_EQ(ViewOfRun(run, "")->max_length_tokens(), 100);
  EXPECT_EQ(ViewOfRun(run, "text")->max_length_tokens(), 100);
  EXPECT_THAT(std::string(ViewOfRun(run, "image").status().message()),
              HasSubstr("of task \"text\", not \"image\""));
  run.mutable_config()->clear_view();  // as in records of baselines from before they kept it
  EXPECT_THAT(std::string(ViewOfRun(run, "").status().message()), HasSubstr("does not say how"));
}

TEST(DataIdentityTest, CanonicalMeansEveryPinnedSplitAgrees) {
  const auto file = LoadTaskFile("listops");
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_EQ(file->canonical_fingerprint_size(), 3);
  Manifest manifest;
  manifest.mutable_spec()->set_name("listops");
  for (const auto& [name, fingerprint] : file->canonical_fingerprint()) {
    ManifestSplit* split = manifest.add_splits();
    split->set_name(name);
    split->set_content_fingerprint(fingerprint);
  }
  EXPECT_TRUE(IdentifyData(manifest, DataView()).is_canonical());
  EXPECT_EQ(CanonicalText(IdentifyData(manifest, DataView())), "canonical");
  manifest.mutable_splits(1)->set_content_fingerprint("c");
  EXPECT_FALSE(IdentifyData(manifest, DataView()).is_canonical());
  EXPECT_EQ(CanonicalText(IdentifyData(manifest, DataView())), "not canonical");
}

// Genuine pictures are no other data than is pinned: none is.
TEST(DataIdentityTest, WhereNothingIsPinnedThatIsSaid) {
  EXPECT_TRUE(HasPinnedData("listops"));
  DataIdentity data;
  for (const char* task : {"image", "no_such_task"}) {
    EXPECT_FALSE(HasPinnedData(task));
    data.set_task(task);
    EXPECT_EQ(CanonicalText(data), "nothing pinned to compare with");
  }
}

}  // namespace
}  // namespace lra
