// What a run says of its data, and what it asks of other data.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "datasets/manifest.h"
#include "inspect/evaluate.h"
#include "lra/copy_folder.h"
#include "lra/files.h"
#include "tasks/prepare.h"
#include "tests/training_fixture.h"
#include "train/trainer.h"

namespace lra {
namespace {

using testing::HasSubstr;

class DataOfRunTest : public TrainerTest {};

// The names of classes stand in the data alone.
TEST_F(DataOfRunTest, OtherDataHasTheClassesOfTheRun) {
  const auto name = [](const std::string& folder, std::vector<std::string> first) {
    Manifest manifest = *ReadManifest(folder);
    for (int i = static_cast<int>(first.size()); i < manifest.spec().classes(); ++i)
      first.push_back(absl::StrCat("class ", i));
    manifest.mutable_class_names()->Assign(first.begin(), first.end());
    ASSERT_TRUE(WriteManifest(folder, manifest).ok());
  };
  const std::string own = *folder_ + "/named", other = *folder_ + "/named-otherwise";
  ASSERT_TRUE(PrepareListOps(own, 48).ok());
  PrepareOptions shallow;
  shallow.task = "listops";
  shallow.out = other;
  shallow.quiet = true;
  shallow.set = {"min_length_tokens=4", "max_length_tokens=40",   "max_depth=3",
                 "train_examples=48",   "validation_examples=40", "test_examples=40"};
  ASSERT_TRUE(Prepare(shallow).ok());
  name(own, {"bad", "good"});
  TrainRequest request = Request("named-run", "linear", {"train.steps=2"});
  request.runtime.set_data_dir(own);
  ASSERT_TRUE(TrainRun(request).ok());
  EvaluateRequest evaluate;
  evaluate.checkpoint = request.runtime.out_dir();
  evaluate.data_dir = other;
  evaluate.quiet = evaluate.allows_other_data = true;
  EXPECT_TRUE(EvaluateCheckpoint(evaluate).ok());  // without names, nothing is known
  name(other, {"bad", "good"});
  EXPECT_TRUE(EvaluateCheckpoint(evaluate).ok());
  for (const char* second : {"fine", "bad"}) {
    name(other, {second == std::string("bad") ? "good" : "bad", second});
    const absl::Status refused = EvaluateCheckpoint(evaluate).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(
        std::string(refused.message()),
        HasSubstr(second == std::string("bad")
                      ? "label 0 is \"good\", in the data that the run was trained on \"bad\""
                      : "label 1 is \"fine\", in the data that the run was trained on "
                        "\"good\" (\"bad\", \"fine\", \"class 2\""));
    EXPECT_THAT(std::string(refused.message()), HasSubstr("\"bad\", \"good\", \"class 2\""));
  }
  // The run's own data is gone, or was made anew in its place.
  for (const bool is_replaced : {false, true}) {
    ASSERT_TRUE(RemoveAll(own).ok());
    if (is_replaced) {
      ASSERT_TRUE(CopyFolder(other, own).ok());
      evaluate.data_dir = own;
    }
    testing::internal::CaptureStderr();
    EXPECT_TRUE(EvaluateCheckpoint(evaluate).ok());
    EXPECT_THAT(
        testing::internal::GetCapturedStderr(),
        testing::AllOf(HasSubstr("warning: the classes of"), HasSubstr("\"good\", \"bad\"")));
  }
}

// Progress alone is left out by --quiet; warnings are in the record, too.
TEST_F(DataOfRunTest, AQuietRunWarns) {
  const std::string data = *folder_ + "/overlap";
  ASSERT_TRUE(PrepareListOps(data, 48).ok());
  Manifest manifest = *ReadManifest(data);
  DuplicateExamples* entry = manifest.add_duplicates();
  entry->set_earlier_split("train");
  entry->set_split("test");
  entry->set_count(40);
  ASSERT_TRUE(WriteManifest(data, manifest).ok());
  TrainRequest request = Request("warns", "linear", {"train.steps=2"});
  request.runtime.set_data_dir(data);
  ASSERT_TRUE(request.runtime.quiet());
  testing::internal::CaptureStderr();
  const auto record = TrainRun(request);
  const std::string said = testing::internal::GetCapturedStderr();
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_THAT(said, HasSubstr("warning: the budget is 2 steps of 8 examples"));
  EXPECT_THAT(said, HasSubstr("warning: 40 of the 40 examples of test have an input that stands in "
                              "train, too"));
  EXPECT_THAT(record->warning(), testing::Contains(HasSubstr("40 of the 40 examples of test")));
  // Another run beside it has said so.
  request.runtime.set_out_dir(*folder_ + "/warns-not");
  request.leaves_out_warnings = true;
  testing::internal::CaptureStderr();
  EXPECT_TRUE(TrainRun(request).ok());
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

// Every answer would be wrong, or right by chance alone.
TEST_F(DataOfRunTest, TrainAndTestMustShareAClass) {
  const std::string data = *folder_ + "/apart";
  ASSERT_TRUE(PrepareListOps(data, 48).ok());
  Manifest manifest = *ReadManifest(data);
  for (ManifestSplit& split : *manifest.mutable_splits()) {
    for (int64_t& count : *split.mutable_label_count()) count = 0;
    split.set_label_count(split.name() == "train" ? 3 : 4, split.examples());
  }
  ASSERT_TRUE(WriteManifest(data, manifest).ok());
  TrainRequest request = Request("apart-run", "linear", {"train.steps=2"});
  request.runtime.set_data_dir(data);
  const absl::Status refused = TrainRun(request).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("train and test share no class: train has class 3, test has class 4"));
}

}  // namespace
}  // namespace lra
