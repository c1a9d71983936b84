// Tests one step of training on small ListOps data: parts of a batch, memory, precision, numbers
// that are not finite.
#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <c10/core/GradMode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "eval/run_record.h"
#include "lra/files.h"
#include "lra/fingerprint.h"
#include "models/classifier.h"
#include "run_folder/checkpoint.h"
#include "run_folder/divergence.h"
#include "run_folder/run_folder.h"
#include "run_folder/stopped_runs.h"
#include "tests/objective_gradients.h"
#include "tests/training_fixture.h"
#include "tests/wrapped_classifier.h"
#include "train/estimate.h"
#include "train/first_bad.h"
#include "train/label_objective.h"
#include "train/trainer.h"

namespace lra {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class TrainingStepTest : public TrainerTest {};

TEST_F(TrainingStepTest, AccumulationChangesRoundingOnly) {
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

TEST_F(TrainingStepTest, ALossThatIsNotFiniteStopsTheRunAndIsOnRecord) {
  const TrainRequest request =
      Request("diverges", "linear",
              {"train.steps=200", "schedule.learning_rate=1000", "schedule.warmup_fraction=0",
               "schedule.kind=CONSTANT", "optimizer.clip_norm=0", "optimizer.weight_decay=10"});
  const absl::Status status = TrainRun(request).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("not finite at step"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("first tensor that went bad: "));
  const auto record = ReadRunRecord(request.runtime.out_dir());
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(record->method(), "linear");
  EXPECT_EQ(record->results_size(), 0);
  const RunFailure& failure = record->failure();
  EXPECT_EQ(failure.kind(), RunFailure::DIVERGED);
  EXPECT_EQ(failure.cause(), status.message());
  EXPECT_THAT(failure.cause(), HasSubstr(absl::StrCat("not finite at step ", failure.step(), " ")));
  EXPECT_EQ(failure.last_loss_size(), std::min<int64_t>(8, failure.step()));
  for (const double loss : failure.last_loss()) EXPECT_TRUE(std::isfinite(loss));
  EXPECT_GT(failure.last_loss(failure.last_loss_size() - 1), failure.last_loss(0));
  // What is needed to find the cause is left: configuration, weights, the curve until then.
  const auto left = ReadRunFolder(request.runtime.out_dir());
  ASSERT_TRUE(left.ok()) << left.status();
  EXPECT_EQ(left->state, RunState::kDiverged);
  EXPECT_EQ(left->failure, status.message());
  EXPECT_EQ(left->step(), failure.step());
  EXPECT_EQ(left->record.method(), "linear");
  EXPECT_TRUE(LatestCheckpoint(request.runtime.out_dir()).ok());
  EXPECT_EQ(FindRunRecords({request.runtime.out_dir()})->runs.size(), 1u);
  TrainRequest again = request;
  again.resume = true;
  EXPECT_EQ(TrainRun(again).status(), status);
  // Trained again from the checkpoint before the failure, it fails bit for bit in the same way.
  ASSERT_TRUE(RemoveAll(JoinPath(request.runtime.out_dir(), kRecordFile)).ok());
  EXPECT_EQ(TrainRun(again).status(), status);
  EXPECT_TRUE(EqualExceptVolatile(*ReadRunRecord(request.runtime.out_dir()), *record));
}

// A model that overflows in evaluation only, after so many passes.
class OverflowingClassifier : public WrappedClassifier {
 public:
  using WrappedClassifier::WrappedClassifier;
  static inline int good_passes = 0;

  at::Tensor Forward(const HostBatch& batch, const ForwardContext& context) const override {
    const at::Tensor logits = WrappedClassifier::Forward(batch, context);
    return context.training || good_passes-- > 0 ? logits : logits * INFINITY;
  }
};

// Validation and test are one batch each.
TEST_F(TrainingStepTest, AnOutputThatIsNotFiniteInValidationIsADivergence) {
  TrainRequest request =
      Request("diverges-in-validation", "linear",
              {"train.steps=6", "train.eval_every_steps=2", "train.batch_examples=40"});
  request.make_classifier = MakeWrapped<OverflowingClassifier>;
  OverflowingClassifier::good_passes = 1;
  const absl::Status status = TrainRun(request).status();
  EXPECT_TRUE(HasDiverged(status)) << status;
  EXPECT_THAT(
      std::string(status.message()),
      testing::AllOf(
          testing::StartsWith("training: an output is not finite at step 4 (validation at "
                              "step 4: example 0: the logit of class 0 is "),
          HasSubstr("first tensor that went bad: an activation, all parameters are finite"),
          HasSubstr(". A lower schedule.learning_rate,"), testing::Not(HasSubstr("--resume"))));
  const std::string& out = request.runtime.out_dir();
  const auto record = ReadRunRecord(out);
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(record->failure().cause(), status.message());
  EXPECT_EQ(record->failure().step(), 4);
  EXPECT_EQ(record->failure().last_loss_size(), 4);
  EXPECT_EQ(record->results_size(), 0);
  ASSERT_GT(record->curve_size(), 0);
  const CurvePoint& last = record->curve(record->curve_size() - 1);
  EXPECT_EQ(last.step(), 4);
  EXPECT_FALSE(last.has_validation_loss());
  EXPECT_EQ(ReadRunFolder(out)->state, RunState::kDiverged);
  TrainRequest again = request;
  again.resume = true;
  EXPECT_EQ(TrainRun(again).status(), status);
  // Killed before it had its record, the run validates that step again.
  ASSERT_TRUE(RemoveAll(JoinPath(out, kRecordFile)).ok());
  OverflowingClassifier::good_passes = 0;
  EXPECT_EQ(TrainRun(again).status(), status);
  EXPECT_TRUE(EqualExceptVolatile(*ReadRunRecord(out), *record));
}

TEST_F(TrainingStepTest, AnOutputThatIsNotFiniteAtTheEndIsADivergence) {
  TrainRequest request =
      Request("diverges-at-the-end", "linear",
              {"train.steps=2", "train.eval_every_steps=2", "train.batch_examples=40"});
  request.make_classifier = MakeWrapped<OverflowingClassifier>;
  OverflowingClassifier::good_passes = 1;
  const absl::Status status = TrainRun(request).status();
  EXPECT_TRUE(HasDiverged(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("not finite at step 2 (scoring test: example 0: the logit of class 0 is "));
  const auto record = ReadRunRecord(request.runtime.out_dir());
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(record->failure().step(), 2);
  EXPECT_EQ(record->results_size(), 0);
  EXPECT_EQ(record->test_looks_size(), 1);
  TrainRequest again = request;
  again.resume = true;
  EXPECT_EQ(TrainRun(again).status(), status);
}

// An older version left the message in a file, no record, and nothing in the checkpoint.
TEST_F(TrainingStepTest, AnOlderRunThatDivergedIsCounted) {
  const TrainRequest request = Request("older", "linear", {"train.steps=2", "seed=3"});
  ASSERT_TRUE(TrainRun(request).ok());
  const std::string& out = request.runtime.out_dir();
  ASSERT_TRUE(RemoveAll(JoinPath(out, kRecordFile)).ok());
  const auto count = [&] {
    FoundRuns found = *FindRunRecords({out});
    EXPECT_TRUE(AddStoppedRuns(&found).ok());
    return found;
  };
  FoundRuns found = count();
  EXPECT_TRUE(found.runs.empty());
  EXPECT_EQ(found.unfinished.size(), 1u);
  ASSERT_EQ(found.stopped.size(), 1u);
  EXPECT_EQ(found.stopped[0].record.seed(), 3u);
  ASSERT_TRUE(WriteFileAtomically(JoinPath(out, kOldFailureFile), "loss is not finite\n").ok());
  found = count();
  EXPECT_TRUE(found.unfinished.empty());
  ASSERT_EQ(found.runs.size(), 1u);
  const RunRecord& record = found.runs[0].record;
  EXPECT_EQ(record.method(), "linear");
  EXPECT_EQ(record.failure().kind(), RunFailure::DIVERGED);
  EXPECT_EQ(record.failure().step(), 2);
  EXPECT_EQ(record.failure().cause(), "loss is not finite");
  EXPECT_EQ(record.cell_fingerprint(), CellFingerprint(request.resolved.config));
}

TEST_F(TrainingStepTest, AccumulatedGradientsEqualThoseOfOneBatch) {
  for (const char* attention : {"transformer", "cosformer"}) {
    SCOPED_TRACE(attention);
    const auto run = OpenRun(Request(std::string("gradients-") + attention, attention, {}));
    ASSERT_TRUE(run.ok()) << run.status();
    ExpectPartsAddUp(LabelObjective(**run), FirstExamples((*run)->train, 32));
  }
}

TEST_F(TrainingStepTest, TheMicroBatchIsTheLargestThatFitsTheBudget) {
  TrainRequest request = Request("budget", "transformer", {"train.batch_examples=32"});
  request.runtime.set_memory_budget_bytes(int64_t{1} << 40);
  const auto run = OpenRun(request);
  ASSERT_TRUE(run.ok()) << run.status();
  RuntimeConfig& runtime = (*run)->request.runtime;
  const LabelObjective objective(**run);
  const Stage stage = LabelStage(objective, run->get());
  const MicroBatch whole = *ChooseMicroBatch(**run, stage);
  EXPECT_EQ(whole.examples, 32);
  runtime.set_memory_budget_bytes(1000);
  const absl::Status tiny = ChooseMicroBatch(**run, stage).status();
  EXPECT_EQ(tiny.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(tiny.message()), HasSubstr("--memory-budget: is 1.0 kB"));
  const int64_t budget_bytes = whole.step_bytes * 6 / 10;
  runtime.set_memory_budget_bytes(budget_bytes);
  const MicroBatch some = *ChooseMicroBatch(**run, stage);
  EXPECT_GT(some.examples, 1);
  EXPECT_LT(some.examples, 32);
  EXPECT_LE(some.step_bytes, budget_bytes);
  runtime.set_memory_budget_bytes(some.step_bytes);
  EXPECT_EQ(ChooseMicroBatch(**run, stage)->examples, some.examples);
  runtime.set_memory_budget_bytes(some.step_bytes - 1);
  EXPECT_LT(ChooseMicroBatch(**run, stage)->examples, some.examples);
  // The sizes that were used are on record, and a resumed run keeps them.
  (*run)->state.mutable_efficiency()->set_micro_batch_examples(7);
  runtime.set_memory_budget_bytes(0);
  EXPECT_EQ(ChooseMicroBatch(**run, stage)->examples, 7);
}

TEST_F(TrainingStepTest, NormsOverExamplesAreNotCutIntoParts) {
  const auto run = OpenRun(Request("norm", "linear", {"train.batch_examples=32"}));
  ASSERT_TRUE(run.ok()) << run.status();
  ModelConfig& model = *(*run)->request.resolved.config.mutable_model();
  model.set_norm(ModelConfig::BATCH);
  const LabelObjective objective(**run);
  const Stage stage = LabelStage(objective, run->get());
  EXPECT_TRUE(ChooseMicroBatch(**run, stage).ok());
  (*run)->request.runtime.set_micro_batch_examples(3);
  const absl::Status status = ChooseMicroBatch(**run, stage).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("model.norm=BATCH: statistics are of the whole batch of 32 examples"));
  model.set_norm(ModelConfig::LAYER);
  model.set_pooled_norm(ModelConfig::OVER_EXAMPLES);
  EXPECT_THAT(std::string(ChooseMicroBatch(**run, stage).status().message()),
              StartsWith("model.pooled_norm=OVER_EXAMPLES: statistics are of the whole batch"));
}

TEST_F(TrainingStepTest, NamesTheFirstTensorThatWentBad) {
  const auto opened = OpenRun(Request("bad", "transformer", {"model.layers=2"}));
  ASSERT_TRUE(opened.ok()) << opened.status();
  lra::Run& run = **opened;
  const LabelObjective objective(run);
  const HostBatch batch = FirstExamples(run.train, 8);
  const auto parameter = [&](absl::string_view name) {
    for (const Parameter& p : run.model->parameters().parameters()) {
      if (p.name == name) return p.value;
    }
    ADD_FAILURE() << "no parameter " << name;
    return at::Tensor();
  };
  // Changes a weight, asks for the loss, and changes the weight back.
  const auto with = [&](absl::string_view name, double value, int64_t examples) {
    const c10::NoGradGuard no_gradient;
    const at::Tensor weight = parameter(name), before = weight.clone();
    weight.fill_(value);
    const std::string found = FirstBadTensor(objective, batch, examples, 0);
    weight.copy_(before);
    return found;
  };
  EXPECT_EQ(FirstBadTensor(objective, batch, 0, 0), "");
  EXPECT_EQ(with("encoder.layer1.mlp.hidden.bias", std::nan(""), 0),
            "parameter \"encoder.layer1.mlp.hidden.bias\" (64 of 64 values, the first at 0)");
  // The weights are finite, but their products overflow.
  EXPECT_THAT(with("encoder.layer0.attention.value.weight", 3e38, 0),
              HasSubstr("activation \"layer 0 attention\""));
  EXPECT_THAT(with("encoder.layer1.mlp.projection.weight", 3e38, 4),
              HasSubstr("activation \"layer 1\""));
  EXPECT_THAT(with("head.logits.weight", 3e38, 3), HasSubstr("activation \"logits\""));
  at::Tensor(parameter("head.hidden.bias")).mutable_grad() =
      at::full(parameter("head.hidden.bias").sizes(), INFINITY);
  EXPECT_THAT(FirstBadTensor(objective, batch, 0, 0),
              HasSubstr("gradient of \"head.hidden.bias\""));
}

// Matrix products with an eight-bit mantissa: the result is near, but not equal.
TEST_F(TrainingStepTest, Bf16TrainsNearFloat32) {
  for (const char* attention : {"transformer", "cosformer", "fnet"}) {
    const std::vector<std::string> sets = {"train.steps=6", "train.log_every_steps=1"};
    const auto full = TrainRun(Request(std::string("fp32-") + attention, attention, sets));
    std::vector<std::string> with_bf16 = sets;
    with_bf16.push_back("numerics.precision=BF16");
    const auto half = TrainRun(Request(std::string("bf16-") + attention, attention, with_bf16));
    ASSERT_TRUE(full.ok() && half.ok()) << full.status() << half.status();
    double difference = 0;
    for (int i = 0; i < full->curve_size(); ++i) {
      const double expected = full->curve(i).train_loss(), actual = half->curve(i).train_loss();
      EXPECT_NEAR(actual, expected, 0.02 * expected) << attention << " point " << i;
      difference += std::abs(actual - expected);
    }
    EXPECT_GT(difference, 1e-6) << attention << ": BF16 changed nothing";
  }
}

}  // namespace
}  // namespace lra
