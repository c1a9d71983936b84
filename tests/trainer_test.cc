// Training on small ListOps data, in one process: learns, records, refuses, accumulates. (Kills and
// resumes: tests/kill_resume_test.sh.)
#include "train/trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "eval/run_record.h"
#include "lra/config.h"
#include "models/safetensors.h"
#include "tasks/prepare.h"
#include "train/checkpoint.h"
#include "train/checkpoint_metadata.h"
#include "train/evaluate.h"

namespace lra {
namespace {

using testing::HasSubstr;

class TrainerTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new std::string(testing::TempDir() + "/trainer_test");
    std::filesystem::remove_all(*folder_);
    PrepareOptions options;
    options.task = "listops";
    options.out = *folder_ + "/data";
    options.quiet = true;
    options.set = {"min_length_tokens=4", "max_length_tokens=40",   "max_depth=4",
                   "train_examples=48",   "validation_examples=40", "test_examples=40"};
    const auto result = Prepare(options);
    ASSERT_TRUE(result.ok()) << result.status();
  }

  static void TearDownTestSuite() { delete std::exchange(folder_, nullptr); }

  static TrainRequest Request(const std::string& name, const std::string& attention,
                              const std::vector<std::string>& sets) {
    ConfigBuilder builder("listops");
    EXPECT_TRUE(builder.AddProtocol("fair").ok());
    EXPECT_TRUE(builder.AddPreset("smoke").ok());
    EXPECT_TRUE(builder.AddAttention(attention).ok());
    for (const std::string& set : sets) EXPECT_TRUE(builder.Set(set).ok()) << set;
    TrainRequest request;
    const absl::StatusOr<ResolvedConfig> resolved = builder.Build();
    EXPECT_TRUE(resolved.ok()) << resolved.status();
    request.resolved = *resolved;
    request.runtime.set_quiet(true);
    request.runtime.set_data_dir(*folder_ + "/data");
    request.runtime.set_out_dir(*folder_ + "/" + name);
    return request;
  }

  static std::string* folder_;
};

std::string* TrainerTest::folder_ = nullptr;

class LearnsTest : public TrainerTest, public testing::WithParamInterface<std::string> {};

// 48 short examples can be learned by heart; a broken layer, gradient or optimiser cannot.
TEST_P(LearnsTest, LearnsAFewExamplesByHeart) {
  const auto record =
      TrainRun(Request("learns-" + GetParam(), GetParam(),
                       {"train.steps=240", "train.batch_examples=16", "schedule.learning_rate=5e-3",
                        "model.dropout=0", "train.eval_every_steps=240", "train.log_every_steps=20",
                        "model.layers=2"}));
  ASSERT_TRUE(record.ok()) << record.status();
  ASSERT_EQ(record->curve_size(), 12);
  EXPECT_GT(record->curve(0).train_loss(), 1.5);
  EXPECT_LT(record->curve(11).train_loss(), 0.4) << record->DebugString();
  EXPECT_GT(record->curve(11).train_accuracy(), 0.9);
}

INSTANTIATE_TEST_SUITE_P(Attentions, LearnsTest,
                         testing::Values("transformer", "linear", "cosformer"),
                         [](const auto& info) { return info.param; });

TEST_F(TrainerTest, RecordHoldsWhatThePredictionsSay) {
  const TrainRequest request = Request("record", "linear", {});
  const auto record = TrainRun(request);
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_TRUE(CheckPredictions(request.runtime.out_dir(), *record).ok());
  const SplitResult* test = FindResult(*record, "test");
  ASSERT_NE(test, nullptr);
  EXPECT_EQ(test->examples(), 40);
  EXPECT_EQ(record->test_looks_size(), test->step() == 20 ? 1 : 2);
  // The stored checkpoint, scored again, says the same.
  EvaluateRequest evaluate;
  evaluate.checkpoint =
      request.runtime.out_dir() + "/checkpoint/step-" + std::to_string(test->step());
  evaluate.data_dir = request.runtime.data_dir();
  evaluate.split = "test";
  evaluate.quiet = true;
  const auto evaluation = EvaluateCheckpoint(evaluate);
  ASSERT_TRUE(evaluation.ok()) << evaluation.status();
  EXPECT_EQ(evaluation->record.results(0).predictions_sha256(), test->predictions_sha256());
  EXPECT_EQ(ReadRunRecord(request.runtime.out_dir())->test_looks_size(),
            record->test_looks_size() + 1);
}

// The weights file alone, moved elsewhere.
std::string CopyOfWeights(const std::string& run, int64_t step, const std::string& to) {
  std::filesystem::create_directories(to);
  std::filesystem::copy_file(CheckpointPath(run, step) + "/weights.safetensors",
                             to + "/mine.safetensors",
                             std::filesystem::copy_options::overwrite_existing);
  return to + "/mine.safetensors";
}

TEST_F(TrainerTest, TheLoneWeightsFileIsACheckpoint) {
  const TrainRequest request = Request("whole-run", "cosformer", {"train.steps=3"});
  const auto record = TrainRun(request);
  ASSERT_TRUE(record.ok()) << record.status();
  const SplitResult& test = *FindResult(*record, "test");
  const std::string lone = *folder_ + "/lone";
  EvaluateRequest evaluate;
  evaluate.checkpoint = CopyOfWeights(request.runtime.out_dir(), test.step(), lone);
  evaluate.data_dir = request.runtime.data_dir();
  evaluate.split = "test";
  evaluate.quiet = true;
  EXPECT_EQ(*CheckpointTask(evaluate.checkpoint), "listops");
  const auto evaluation = EvaluateCheckpoint(evaluate);
  ASSERT_TRUE(evaluation.ok()) << evaluation.status();
  const RunRecord& scored = evaluation->record;
  EXPECT_EQ(scored.results(0).predictions_sha256(), test.predictions_sha256());
  EXPECT_EQ(scored.config_fingerprint(), record->config_fingerprint());
  EXPECT_EQ(scored.weights_sha256(), record->weights_sha256());
  EXPECT_EQ(scored.results(0).checkpoint(), kSelectedCheckpoint);
  EXPECT_TRUE(ReadRunRecord(lone + "/evaluations/test-step-3").ok());
  EXPECT_EQ(scored.test_looks_size(), 1);
  // The run it was copied from was not looked at.
  EXPECT_EQ(ReadRunRecord(request.runtime.out_dir())->test_looks_size(), record->test_looks_size());
  // A flipped bit inside a checkpoint folder is found, by its digest, though the file is named.
  const std::string inside =
      CheckpointPath(request.runtime.out_dir(), test.step()) + "/weights.safetensors";
  std::fstream file(inside, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(-1, std::ios::end).put('\x55');
  file.close();
  evaluate.checkpoint = inside;
  EXPECT_EQ(EvaluateCheckpoint(evaluate).status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(TrainerTest, DataOfAnotherTaskIsRefusedByItsField) {
  const TrainRequest request = Request("task-run", "linear", {"train.steps=3"});
  ASSERT_TRUE(TrainRun(request).ok());
  EvaluateRequest evaluate;
  evaluate.checkpoint = CopyOfWeights(request.runtime.out_dir(), 3, *folder_ + "/other-task");
  evaluate.data_dir = request.runtime.data_dir();
  evaluate.quiet = true;
  const auto file = ReadSafetensors(evaluate.checkpoint);
  ASSERT_TRUE(file.ok()) << file.status();
  const auto refusal = [&](void (*change)(TaskSpec*)) {
    CheckpointState state = *StateFromMetadata("w", file->metadata);
    change(state.mutable_spec());
    EXPECT_TRUE(
        WriteSafetensors(evaluate.checkpoint, file->tensors, CheckpointMetadata(state)).ok());
    const absl::Status status = EvaluateCheckpoint(evaluate).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    return std::string(status.message());
  };
  EXPECT_THAT(refusal([](TaskSpec* spec) { spec->set_name("text"); }),
              HasSubstr("spec.name is listops, the checkpoint was trained with text"));
  EXPECT_THAT(refusal([](TaskSpec* spec) { spec->set_version(7); }),
              HasSubstr("spec.version is 1, the checkpoint was trained with 7"));
  EXPECT_THAT(refusal([](TaskSpec* spec) {
                std::swap(*spec->mutable_token_names(3), *spec->mutable_token_names(4));
              }),
              HasSubstr("spec.token_names[3]"));
  EXPECT_THAT(refusal([](TaskSpec* spec) { spec->set_classes(11); }), HasSubstr("spec.classes"));
}

TEST_F(TrainerTest, AFinishedRunIsLeftAlone) {
  TrainRequest request = Request("finished", "linear", {"train.steps=3"});
  const auto first = TrainRun(request);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(TrainRun(request).status().code(), absl::StatusCode::kAlreadyExists);
  request.resume = true;
  const auto again = TrainRun(request);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->finished_unix_seconds(), first->finished_unix_seconds());
  EXPECT_TRUE(EqualExceptVolatile(*first, *again));
}

TEST_F(TrainerTest, ResumingAnotherConfigurationNamesTheField) {
  ASSERT_TRUE(TrainRun(Request("other", "linear", {"train.steps=3"})).ok());
  TrainRequest request =
      Request("other", "linear", {"train.steps=3", "schedule.learning_rate=0.5"});
  request.resume = true;
  const absl::Status status = TrainRun(request).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("schedule.learning_rate"));
}

TEST_F(TrainerTest, OneSeedOneResultAndAnotherSeedAnother) {
  const auto a = TrainRun(Request("seed-a", "cosformer", {"train.steps=5"}));
  const auto b = TrainRun(Request("seed-b", "cosformer", {"train.steps=5"}));
  TrainRequest request = Request("seed-c", "cosformer", {"train.steps=5"});
  request.resolved.config.set_seed(1);
  const auto c = TrainRun(request);
  ASSERT_TRUE(a.ok() && b.ok() && c.ok());
  EXPECT_TRUE(EqualExceptVolatile(*a, *b));
  EXPECT_NE(a->weights_sha256(), c->weights_sha256());
  EXPECT_EQ(a->cell_fingerprint(), c->cell_fingerprint());
}

TEST_F(TrainerTest, AccumulationChangesRoundingOnly) {
  const auto whole =
      TrainRun(Request("whole", "linear", {"train.steps=6", "train.log_every_steps=1"}));
  TrainRequest request = Request("parts", "linear", {"train.steps=6", "train.log_every_steps=1"});
  request.runtime.set_micro_batch_examples(3);
  const auto parts = TrainRun(request);
  ASSERT_TRUE(whole.ok() && parts.ok());
  ASSERT_EQ(whole->curve_size(), parts->curve_size());
  for (int i = 0; i < whole->curve_size(); ++i) {
    EXPECT_NEAR(whole->curve(i).train_loss(), parts->curve(i).train_loss(), 1e-4) << "point " << i;
  }
}

TEST_F(TrainerTest, ALossThatIsNotFiniteStopsTheRunAndLeavesNoRecord) {
  const TrainRequest request =
      Request("diverges", "linear",
              {"train.steps=200", "schedule.learning_rate=1000", "schedule.warmup_fraction=0",
               "schedule.kind=CONSTANT", "optimizer.clip_norm=0", "optimizer.weight_decay=10"});
  const absl::Status status = TrainRun(request).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("not finite at step"));
  EXPECT_EQ(ReadRunRecord(request.runtime.out_dir()).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace lra
