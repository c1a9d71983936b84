// Training on small ListOps data, in one process: learns, records, refuses, accumulates. (Kills and
// resumes: tests/kill_resume_test.sh.)
#include "train/trainer.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <c10/core/GradMode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "datasets/loader.h"
#include "eval/run_record.h"
#include "lra/config.h"
#include "models/safetensors.h"
#include "tests/training_fixture.h"
#include "train/batch_gradient.h"
#include "train/checkpoint.h"
#include "train/checkpoint_metadata.h"
#include "train/estimate.h"
#include "train/evaluate.h"
#include "train/first_bad.h"
#include "train/run.h"

namespace lra {
namespace {

using testing::HasSubstr;

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
  EXPECT_THAT(std::string(status.message()), HasSubstr("first tensor that went bad: "));
  EXPECT_EQ(ReadRunRecord(request.runtime.out_dir()).status().code(), absl::StatusCode::kNotFound);
}

// All gradients of a model, one after the other, by AddBatchGradient().
at::Tensor Gradients(Run* run, const HostBatch& batch, int64_t micro_batch_examples,
                     double* loss_sum) {
  run->optimizer->ZeroGradients();
  const auto result =
      AddBatchGradient(*run->model, batch, micro_batch_examples, {.training = true, .step = 3});
  EXPECT_TRUE(result.ok()) << result.status();
  *loss_sum = result->loss_sum;
  std::vector<at::Tensor> all;
  for (const Parameter& parameter : run->model->parameters().parameters()) {
    all.push_back(parameter.value.grad().flatten());
  }
  return at::cat(all);
}

// Examples 0 .. count - 1 of the training split.
HostBatch FirstExamples(const Run& run, int64_t count) {
  std::vector<int64_t> ids(count);
  std::iota(ids.begin(), ids.end(), int64_t{0});
  return MakeBatch(run.train, ids);
}

// With dropout on: its masks are keyed by example.
TEST_F(TrainerTest, AccumulatedGradientsEqualThoseOfOneBatch) {
  for (const char* attention : {"transformer", "cosformer"}) {
    const auto run = OpenRun(Request(std::string("gradients-") + attention, attention, {}));
    ASSERT_TRUE(run.ok()) << run.status();
    const HostBatch batch = FirstExamples(**run, 32);
    double whole_loss = 0, parts_loss = 0;
    const at::Tensor whole = Gradients(run->get(), batch, 0, &whole_loss);
    const double norm = at::linalg_vector_norm(whole).item<double>();
    ASSERT_GT(norm, 0.01);
    for (const int64_t examples : {1, 5, 16}) {
      const at::Tensor parts = Gradients(run->get(), batch, examples, &parts_loss);
      EXPECT_LT(at::linalg_vector_norm(parts - whole).item<double>(), 1e-5 * norm)
          << attention << " in parts of " << examples;
      EXPECT_NEAR(parts_loss, whole_loss, 1e-6 * whole_loss);
    }
  }
}

// At rate 0 nothing ever gets better than at the first evaluation.
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
  TrainRequest late = Request("fixed-late", "linear", sets);
  late.resolved.config.mutable_evaluation()->set_step(21);
  const absl::Status status = TrainRun(late).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("evaluation.step: is 21"));
  EXPECT_FALSE(std::filesystem::exists(late.runtime.out_dir()));
}

// The first evaluation is the best; with a patience of 1 every second one after it takes the rate
// down, from the next step on.
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

TEST_F(TrainerTest, SavesByMinutesAndKeepsTheNewest) {
  TrainRequest request =
      Request("minutes", "linear",
              {"train.steps=9", "train.eval_every_steps=4", "schedule.learning_rate=0"});
  request.runtime.set_checkpoint_every_minutes(1e-9);
  request.runtime.set_keep_checkpoints(3);
  ASSERT_TRUE(TrainRun(request).ok());
  EXPECT_EQ(CheckpointSteps(request.runtime.out_dir()), (std::vector<int64_t>{4, 7, 8, 9}));
}

TEST_F(TrainerTest, TheMicroBatchIsTheLargestThatFitsTheBudget) {
  TrainRequest request = Request("budget", "transformer", {"train.batch_examples=32"});
  request.runtime.set_memory_budget_bytes(int64_t{1} << 40);
  const auto run = OpenRun(request);
  ASSERT_TRUE(run.ok()) << run.status();
  RuntimeConfig& runtime = (*run)->request.runtime;
  const MicroBatch whole = *ChooseMicroBatch(**run);
  EXPECT_EQ(whole.examples, 32);
  runtime.set_memory_budget_bytes(1000);
  const absl::Status tiny = ChooseMicroBatch(**run).status();
  EXPECT_EQ(tiny.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(tiny.message()), HasSubstr("--memory-budget: is 1.0 kB"));
  const int64_t budget_bytes = whole.step_bytes * 6 / 10;
  runtime.set_memory_budget_bytes(budget_bytes);
  const MicroBatch some = *ChooseMicroBatch(**run);
  EXPECT_GT(some.examples, 1);
  EXPECT_LT(some.examples, 32);
  EXPECT_LE(some.step_bytes, budget_bytes);
  runtime.set_memory_budget_bytes(some.step_bytes);
  EXPECT_EQ(ChooseMicroBatch(**run)->examples, some.examples);
  runtime.set_memory_budget_bytes(some.step_bytes - 1);
  EXPECT_LT(ChooseMicroBatch(**run)->examples, some.examples);
  // What was used is on record, and a resumed run keeps it.
  (*run)->state.mutable_efficiency()->set_micro_batch_examples(7);
  runtime.set_memory_budget_bytes(0);
  EXPECT_EQ(ChooseMicroBatch(**run)->examples, 7);
}

TEST_F(TrainerTest, BatchNormIsNotCutIntoParts) {
  const auto run = OpenRun(Request("norm", "linear", {}));
  ASSERT_TRUE(run.ok()) << run.status();
  (*run)->request.resolved.config.mutable_model()->set_norm(ModelConfig::BATCH);
  EXPECT_TRUE(ChooseMicroBatch(**run).ok());
  (*run)->request.runtime.set_micro_batch_examples(3);
  const absl::Status status = ChooseMicroBatch(**run).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("model.norm=BATCH"));
}

TEST_F(TrainerTest, NamesTheFirstTensorThatWentBad) {
  const auto opened = OpenRun(Request("bad", "transformer", {"model.layers=2"}));
  ASSERT_TRUE(opened.ok()) << opened.status();
  lra::Run& run = **opened;
  const HostBatch batch = FirstExamples(run, 8);
  const auto parameter = [&](absl::string_view name) {
    for (const Parameter& p : run.model->parameters().parameters()) {
      if (p.name == name) return p.value;
    }
    ADD_FAILURE() << "no parameter " << name;
    return at::Tensor();
  };
  // Changes a weight, asks, and changes it back.
  const auto with = [&](absl::string_view name, double value, int64_t examples) {
    const c10::NoGradGuard no_gradient;
    const at::Tensor weight = parameter(name), before = weight.clone();
    weight.fill_(value);
    const std::string found = FirstBadTensor(*run.model, batch, examples, 0);
    weight.copy_(before);
    return found;
  };
  EXPECT_EQ(FirstBadTensor(*run.model, batch, 0, 0), "");
  EXPECT_EQ(with("encoder.layer1.mlp.hidden.bias", std::nan(""), 0),
            "parameter \"encoder.layer1.mlp.hidden.bias\" (64 of 64 values, the first at 0)");
  // Finite weights whose products overflow.
  EXPECT_THAT(with("encoder.layer0.attention.value.weight", 3e38, 0),
              HasSubstr("activation \"layer 0 attention\""));
  EXPECT_THAT(with("encoder.layer1.mlp.projection.weight", 3e38, 4),
              HasSubstr("activation \"layer 1\""));
  EXPECT_THAT(with("head.logits.weight", 3e38, 3), HasSubstr("activation \"logits\""));
  at::Tensor(parameter("head.hidden.bias")).mutable_grad() =
      at::full(parameter("head.hidden.bias").sizes(), INFINITY);
  EXPECT_THAT(FirstBadTensor(*run.model, batch, 0, 0),
              HasSubstr("gradient of \"head.hidden.bias\""));
}

// Eight bits of mantissa in the matrix products: near, but not equal.
TEST_F(TrainerTest, Bf16TrainsNearFloat32) {
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

// kill -9 between a checkpoint's rename and the pointer to it leaves a later step behind.
TEST_F(TrainerTest, ALaterCheckpointOfAKilledProcessDisplacesNone) {
  TrainRequest request =
      Request("later", "linear",
              {"train.steps=14", "train.eval_every_steps=10", "evaluation.selection=LAST"});
  const std::string out = request.runtime.out_dir();
  std::filesystem::create_directories(out + "/checkpoint/step-20");
  request.runtime.set_keep_checkpoints(1);
  request.runtime.set_checkpoint_every_steps(3);
  request.resume = true;
  ASSERT_TRUE(TrainToEnd(request).ok());
  EXPECT_EQ(*LatestCheckpoint(out), CheckpointPath(out, 14));
  EXPECT_TRUE(FileExists(CheckpointPath(out, 14)));
  EXPECT_FALSE(FileExists(CheckpointPath(out, 20)));
  EXPECT_TRUE(TrainRun(request).ok());
}

}  // namespace
}  // namespace lra
