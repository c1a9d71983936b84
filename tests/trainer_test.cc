// Trains on small ListOps data in one process: learns, records, refuses, selects, saves. (Killed
// and resumed runs are in tests/kill_resume_test.sh.)
#include "train/trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "eval/run_record.h"
#include "inspect/evaluate.h"
#include "lra/config.h"
#include "lra/fingerprint.h"
#include "lra/textproto.h"
#include "models/base/safetensors.h"
#include "run_folder/checkpoint.h"
#include "run_folder/checkpoint_metadata.h"
#include "tests/training_fixture.h"
#include "train/run.h"

namespace lra {
namespace {

using testing::HasSubstr;

class LearnsTest : public TrainerTest, public testing::WithParamInterface<std::string> {};

// 48 short examples can be learned by heart, but not with a broken layer, gradient or optimiser.
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
  EXPECT_GT(record->curve(11).train().at("accuracy"), 0.9);
  EXPECT_GT(record->curve(0).update_ratio(), 1e-5);
  EXPECT_GT(record->curve(0).embedding_update_ratio(), 1e-5);
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
  // What preset smoke changes of protocol fair, read back from the record's file.
  ASSERT_GT(record->changed_rule_size(), 0);
  const auto steps = std::find_if(record->changed_rule().begin(), record->changed_rule().end(),
                                  [](const auto& rule) { return rule.path() == "train.steps"; });
  ASSERT_NE(steps, record->changed_rule().end());
  EXPECT_EQ(steps->protocol_value(), "30000");
  EXPECT_EQ(steps->value(), "20");
  EXPECT_EQ(steps->origin(), "preset smoke");
  EXPECT_THAT(
      record->warning(),
      testing::ElementsAre(
          HasSubstr("20 steps of 8 examples"),
          HasSubstr("4 of the 40 examples of validation have a class that train lacks, class 7"),
          HasSubstr("3 of the 40 examples of test have a class that train lacks, class 7")));
  // Scoring the stored checkpoint again gives the same result.
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

// Other examples give another score, so they are never taken silently, and the score that stands is
// not overwritten.
TEST_F(TrainerTest, ARunIsScoredOnItsOwnData) {
  const TrainRequest request = Request("own-data", "linear", {"train.steps=2"});
  const auto record = TrainRun(request);
  ASSERT_TRUE(record.ok()) << record.status();
  EvaluateRequest evaluate;
  evaluate.checkpoint = request.runtime.out_dir();
  evaluate.quiet = true;
  const auto own = EvaluateCheckpoint(evaluate);  // without data_dir
  ASSERT_TRUE(own.ok()) << own.status();
  EXPECT_EQ(Fingerprint(own->record.data()), Fingerprint(record->data()));

  PrepareOptions other;
  other.task = "listops";
  other.out = evaluate.data_dir = *folder_ + "/other-data";
  other.quiet = true;
  other.set = {"min_length_tokens=4", "max_length_tokens=40",   "max_depth=3",
               "train_examples=48",   "validation_examples=40", "test_examples=40"};
  ASSERT_TRUE(Prepare(other).ok());
  const auto refused = EvaluateCheckpoint(evaluate);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(
      std::string(refused.status().message()),
      testing::AllOf(testing::HasSubstr("other-data: split \"validation\""),
                     testing::HasSubstr("the run's own has"), testing::HasSubstr("--other-data")));

  evaluate.allows_other_data = true;
  const auto allowed = EvaluateCheckpoint(evaluate);
  ASSERT_TRUE(allowed.ok()) << allowed.status();
  EXPECT_NE(allowed->out_dir, own->out_dir);
  EXPECT_EQ(ReadRunRecord(own->out_dir)->results(0).predictions_sha256(),
            own->record.results(0).predictions_sha256());
  evaluate.out_dir = own->out_dir;
  EXPECT_EQ(EvaluateCheckpoint(evaluate).status().code(), absl::StatusCode::kAlreadyExists);
}

// The weights file alone is moved to another place.
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
  const auto evaluation = EvaluateCheckpoint(evaluate);
  ASSERT_TRUE(evaluation.ok()) << evaluation.status();
  const RunRecord& scored = evaluation->record;
  EXPECT_EQ(scored.results(0).predictions_sha256(), test.predictions_sha256());
  EXPECT_EQ(scored.config_fingerprint(), record->config_fingerprint());
  EXPECT_EQ(scored.weights_sha256(), record->weights_sha256());
  EXPECT_EQ(scored.results(0).checkpoint(), kSelectedCheckpoint);
  EXPECT_TRUE(ReadRunRecord(lone + "/evaluations/mine-test-step-3").ok());
  // Evaluating into the same folder again is allowed, but not into a folder with something else.
  EXPECT_TRUE(EvaluateCheckpoint(evaluate).ok());
  for (const char* split : {"test", "validation"}) {
    evaluate.split = split;
    evaluate.out_dir = request.runtime.out_dir();
    EXPECT_EQ(EvaluateCheckpoint(evaluate).status().code(), absl::StatusCode::kAlreadyExists);
  }
  evaluate.out_dir = lone + "/evaluations/mine-test-step-3";
  EXPECT_EQ(EvaluateCheckpoint(evaluate).status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(ReadRunRecord(request.runtime.out_dir())->results_size(), record->results_size());
  EXPECT_EQ(scored.test_looks_size(), 1);
  // In the run that the file was copied from, no look was logged.
  EXPECT_EQ(ReadRunRecord(request.runtime.out_dir())->test_looks_size(), record->test_looks_size());
  // A flipped bit in a file of a checkpoint folder is found by its digest, even if the path names
  // the file.
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

// The newest checkpoint's state, changed and sealed again.
template <class Change>
std::string ChangeState(const std::string& run, Change change) {
  const std::string checkpoint = *LatestCheckpoint(run);
  CheckpointState state = *LoadCheckpointState(checkpoint);
  change(&state);
  EXPECT_TRUE(WriteSealedTextProto(checkpoint + "/state.textproto", state).ok());
  return checkpoint;
}

TEST_F(TrainerTest, AStateWithoutItsSpecificationIsNotResumed) {
  TrainRequest request = Request("no-spec", "linear", {"train.steps=3"});
  const std::string run = request.runtime.out_dir();
  ASSERT_TRUE(TrainRun(request).ok());
  std::filesystem::remove(run + "/record.textproto");
  ChangeState(run, [](CheckpointState* state) { state->clear_spec(); });
  request.resume = true;
  const absl::Status status = TrainRun(request).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("its task specification differs: name is listops, the checkpoint has"));
}

TEST_F(TrainerTest, AConfigurationOfACheckpointIsCheckedLikeAUsers) {
  const TrainRequest request = Request("no-train", "linear", {"train.steps=3"});
  ASSERT_TRUE(TrainRun(request).ok());
  EvaluateRequest evaluate;
  evaluate.checkpoint = ChangeState(request.runtime.out_dir(), [](CheckpointState* state) {
    state->mutable_config()->clear_train();
  });
  evaluate.data_dir = request.runtime.data_dir();
  evaluate.quiet = true;
  const absl::Status status = EvaluateCheckpoint(evaluate).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("step-3: its configuration: unset: train.steps, train.batch_examples"));
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

// At rate 0, no evaluation is ever better than the first.
TEST_F(TrainerTest, StopsEarlyAndAKilledEndIsFinishedLater) {
  TrainRequest request = Request("early", "linear",
                                 {"train.steps=50", "train.eval_every_steps=2",
                                  "train.early_stop_evaluations=3", "schedule.learning_rate=0"});
  const auto record = TrainRun(request);
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(record->stopped_at_step(), 8);
  EXPECT_EQ(record->curve(record->curve_size() - 1).step(), 8);
  EXPECT_EQ(record->curve(0).update_ratio(), 0);
  EXPECT_EQ(record->selected_step(), 2);
  std::filesystem::remove(request.runtime.out_dir() + "/record.textproto");
  request.resume = true;
  const auto again = TrainRun(request);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE(EqualExceptVolatile(*record, *again));
}

// Two passes fewer over the splits, and one look at the test split fewer.
TEST_F(TrainerTest, TheLastCheckpointNeedNotBeScored) {
  const std::vector<std::string> sets = {"train.steps=4", "train.eval_every_steps=2",
                                         "schedule.learning_rate=0"};  // the first is the best
  const auto checkpoints = [](const RunRecord& record) {
    std::vector<std::string> names;
    for (const SplitResult& result : record.results())
      names.push_back(result.split() + " " + result.checkpoint());
    return names;
  };
  const auto both = TrainRun(Request("both", "linear", sets));
  ASSERT_TRUE(both.ok()) << both.status();
  EXPECT_THAT(checkpoints(*both), testing::ElementsAre("test selected", "validation selected",
                                                       "test last", "validation last"));
  TrainRequest request = Request("no-last", "linear", sets);
  request.skips_last_checkpoint = true;
  const auto selected = TrainRun(request);
  ASSERT_TRUE(selected.ok()) << selected.status();
  EXPECT_THAT(checkpoints(*selected), testing::ElementsAre("test selected", "validation selected"));
  EXPECT_EQ(selected->test_looks_size(), 1);
  EXPECT_EQ(selected->config_fingerprint(), both->config_fingerprint());
}

TEST_F(TrainerTest, TestsTheFixedStepThatTheProtocolNames) {
  const std::vector<std::string> sets = {"evaluation.selection=FIXED_STEP", "evaluation.step=7",
                                         "train.early_stop_evaluations=1",
                                         "train.eval_every_steps=2"};
  const TrainRequest request = Request("fixed", "linear", sets);
  const auto record = TrainRun(request);
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(record->selected_step(), 7);
  EXPECT_EQ(FindResult(*record, "test")->step(), 7);
  EXPECT_GE(record->curve(record->curve_size() - 1).step(), 7) << "stopped before its own step";
}

// The first evaluation is the best. With a patience of 1, every second evaluation after it lowers
// the rate from the next step on.
TEST_F(TrainerTest, APlateauTakesTheRateDown) {
  const auto record = TrainRun(
      Request("plateau", "linear",
              {"train.steps=7", "train.eval_every_steps=1", "schedule.kind=PLATEAU",
               "schedule.warmup_fraction=0", "schedule.plateau_factor=0.5",
               "schedule.plateau_patience_evaluations=1", "schedule.learning_rate=1e-12"}));
  ASSERT_TRUE(record.ok()) << record.status();
  ASSERT_EQ(record->selected_step(), 1);
  std::vector<double> factors;
  for (const CurvePoint& point : record->curve()) factors.push_back(point.learning_rate() / 1e-12);
  EXPECT_THAT(factors,
              testing::Pointwise(testing::DoubleNear(1e-6), {1.0, 1.0, 1.0, 0.5, 0.5, 0.25, 0.25}));
}

TEST_F(TrainerTest, ADeviceThatIsNotThereIsRefusedBeforeAnythingStarts) {
  for (const char* device : {"cuda:99", "gpu", "cuda:x", "cuda:-1"}) {
    TrainRequest request = Request("device", "linear", {});
    request.runtime.set_device(device);
    const absl::Status status = TrainRun(request).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(device));
    EXPECT_FALSE(std::filesystem::exists(request.runtime.out_dir()));
  }
}

}  // namespace
}  // namespace lra
