// What is left out and what is an error. tests/doctor_test.cc gathers cases of runs that were
// trained.
#include "inspect/doctor_case.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "datasets/data_test_util.h"
#include "datasets/manifest.h"
#include "eval/data_identity.h"
#include "eval/run_record.h"
#include "lra/files.h"
#include "lra/folder_test_util.h"
#include "models/base/parameters.h"
#include "run_folder/checkpoint.h"
#include "run_folder/curve.h"

namespace lra {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A finished run whose weights are gone.
class DoctorCaseTest : public testing::Test {
 protected:
  void SetUp() override {
    setenv("LRA_DATA", folder_.path().c_str(), 1);
    RunRecord record;
    record.set_kind(RunRecord::MEASURED);
    record.set_method("linear");
    *record.mutable_spec() = SmallSpec();
    record.mutable_config()->set_task("small");
    record.mutable_config()->mutable_view()->set_max_length_tokens(40);
    ASSERT_EQ(WriteRunRecord(folder_.File("run"), record), absl::OkStatus());
    request_.run = folder_.File("run");
    request_.threads = 1;
    request_.knowledge_of = [](const Manifest&) {
      TaskKnowledge knowledge;
      knowledge.shortcut_values = 1;
      knowledge.shortcut = [](absl::Span<const int32_t>) { return 0; };
      return knowledge;
    };
  }
  void TearDown() override { unsetenv("LRA_DATA"); }
  void WriteData(const std::string& name) {
    const std::vector<EncodedExample> examples = {{{1, 2}, {}, 1}, {{2, 3}, {}, 1}};
    WriteTestData(folder_.File(name), SmallSpec(),
                  {{"train", examples}, {"validation", examples}, {"test", examples}});
  }

  const TestFolder folder_;
  CaseRequest request_;
};

TEST_F(DoctorCaseTest, WhatIsNotThereIsNoted) {
  const auto gathered = GatherCase(request_);
  ASSERT_TRUE(gathered.ok()) << gathered.status();
  EXPECT_TRUE(gathered->facts.is_finished);
  EXPECT_EQ(gathered->facts.run.method(), "linear");
  EXPECT_FALSE(gathered->facts.data.has_value());
  EXPECT_FALSE(gathered->facts.model.has_value());
  EXPECT_THAT(gathered->notes,
              ElementsAre(HasSubstr(folder_.File("small")), HasSubstr(folder_.File("run"))));
}

TEST_F(DoctorCaseTest, OtherDataIsLookedAtOnlyWhereItIsGiven) {
  WriteData("small");
  const auto usual = GatherCase(request_);
  ASSERT_TRUE(usual.ok()) << usual.status();
  EXPECT_FALSE(usual->facts.data.has_value());
  EXPECT_THAT(usual->notes.front(),
              HasSubstr("small is not the data that the run was trained on; give --data"));
  request_.data_dir = folder_.File("small");
  const auto given = GatherCase(request_);
  ASSERT_TRUE(given.ok()) << given.status();
  ASSERT_TRUE(given->facts.data.has_value());
  EXPECT_FALSE(given->facts.data->is_same);
  EXPECT_EQ(given->facts.data->train_labels, (std::vector<int64_t>{0, 2, 0}));
  // One value for all examples, and all validation labels are the training split's commonest.
  EXPECT_EQ(given->facts.data->shortcut_accuracy, 1.0);
}

TEST_F(DoctorCaseTest, TheRunsOwnDataIsLookedAt) {
  WriteData("own");
  ParameterStore parameters(3);
  parameters.Create("embedding.token.weight", {1}, Initializer::Normal(1));
  RunRecord record = *ReadRunRecord(request_.run);
  CheckpointState state;
  *state.mutable_config() = record.config();
  *state.mutable_spec() = record.spec();
  state.set_data_dir(folder_.File("own"));
  ASSERT_EQ(SaveCheckpoint(request_.run, parameters, {}, &state), absl::OkStatus());
  *record.mutable_data() = IdentifyData(*ReadManifest(folder_.File("own")), record.config().view());
  ASSERT_EQ(WriteRunRecord(request_.run, record), absl::OkStatus());
  // Other examples in the usual folder.
  const std::vector<EncodedExample> others = {{{3}, {}, 0}};
  WriteTestData(folder_.File("small"), SmallSpec(), {{"train", others}});
  const auto gathered = GatherCase(request_);
  ASSERT_TRUE(gathered.ok()) << gathered.status();
  ASSERT_TRUE(gathered->facts.data.has_value()) << gathered->notes.front();
  EXPECT_TRUE(gathered->facts.data->is_same);
  EXPECT_EQ(gathered->facts.data->train_labels, (std::vector<int64_t>{0, 2, 0}));
}

// Its rules are about labels, and its weights are of another model than the task's: no damage.
TEST_F(DoctorCaseTest, PretrainingIsRefusedByName) {
  const std::string run = folder_.File("young"), stage = JoinPath(run, "pretrain");
  ParameterStore parameters(3);
  parameters.Create("embedding.token.weight", {1}, Initializer::Normal(1));
  CheckpointState state;
  state.set_step(2);
  state.mutable_config()->mutable_pretrain()->set_examples(16);
  state.mutable_config()->mutable_train()->set_batch_examples(4);
  *state.mutable_spec() = SmallSpec();
  state.add_curve()->set_step(2);
  ASSERT_EQ(SaveCheckpoint(stage, parameters, {}, &state), absl::OkStatus());
  ASSERT_EQ(RewriteCurve(stage, state), absl::OkStatus());
  for (const std::string& path : {run, stage}) {
    request_.run = path;
    const absl::Status refused = GatherCase(request_).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition) << refused;
    EXPECT_THAT(std::string(refused.message()),
                HasSubstr(path + ": is pretraining, stopped at step 2"));
  }
}

TEST_F(DoctorCaseTest, GivenDataAndTheRunMustBeThere) {
  request_.data_dir = folder_.File("nothing");
  EXPECT_EQ(GatherCase(request_).status().code(), absl::StatusCode::kNotFound);
  request_.run = folder_.File("no-run");
  EXPECT_THAT(std::string(GatherCase(request_).status().message()), HasSubstr("no-run"));
}

}  // namespace
}  // namespace lra
