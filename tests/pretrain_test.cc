// Tests of pretraining as a stage of a run: it learns, saves, goes on, refuses, and reads both
// texts of pairs.
#include "train/pretrain.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <c10/core/GradMode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "eval/run_record.h"
#include "lra/files.h"
#include "lra/folder_test_util.h"
#include "run_folder/checkpoint.h"
#include "run_folder/curve.h"
#include "run_folder/divergence.h"
#include "run_folder/run_folder.h"
#include "run_folder/tensorboard.h"
#include "tests/objective_gradients.h"
#include "tests/random_task_request.h"
#include "tests/training_fixture.h"
#include "train/estimate.h"
#include "train/first_bad.h"
#include "train/label_objective.h"
#include "train/micro_batch.h"
#include "train/token_objective.h"
#include "train/trainer.h"

namespace lra {
namespace {

using testing::HasSubstr;

class PretrainTest : public TrainerTest {
 protected:
  // A run of ten steps that guess hidden tokens, and four with labels.
  static TrainRequest Masked(const std::string& name, std::vector<std::string> sets = {}) {
    std::vector<std::string> all = {"pretrain.objective=MASKED",   "pretrain.examples=80",
                                    "pretrain.learning_rate=5e-3", "pretrain.masked_fraction=0.2",
                                    "pretrain.until=NOTHING",      "train.steps=4"};
    all.insert(all.end(), sets.begin(), sets.end());
    return Request(name, "linear", all);
  }
};

std::string StageFolder(const TrainRequest& request) {
  return JoinPath(request.runtime.out_dir(), kPretrainFolder);
}

class PretrainObjectiveTest : public PretrainTest,
                              public testing::WithParamInterface<std::string> {};

TEST_P(PretrainObjectiveTest, LearnsTheInputsBeforeTheLabels) {
  const TrainRequest request =
      Masked("learns-" + GetParam(), {"pretrain.objective=" + GetParam(), "pretrain.examples=960"});
  const auto record = TrainRun(request);
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(record->pretrain().steps(), 120);
  EXPECT_EQ(record->pretrain().examples(), 960);
  EXPECT_GT(record->pretrain().tokens(), 120 * 8 * 4);
  EXPECT_LT(record->pretrain().last_loss(), 0.9 * record->pretrain().first_loss());
  EXPECT_GT(record->pretrain().seconds(), 0);
  EXPECT_GT(record->pretrain().cpu_seconds(), 0);
  // The run starts from what was learned: its end is further from a fresh model than four steps go.
  const auto fresh = OpenRun(Request("fresh-" + GetParam(), "linear", {"train.steps=4"}));
  ASSERT_TRUE(fresh.ok());
  const auto trained = OpenRun([&] {
    TrainRequest again = request;
    again.resume = true;
    return again;
  }());
  ASSERT_TRUE(trained.ok()) << trained.status();
  const auto& a = (*fresh)->model->parameters().parameters();
  const auto& b = (*trained)->model->parameters().parameters();
  ASSERT_EQ(a[0].name, "embedding.token.weight");
  EXPECT_GT(at::linalg_vector_norm(a[0].value - b[0].value).item<double>(), 0.5);
}

INSTANTIATE_TEST_SUITE_P(Objectives, PretrainObjectiveTest, testing::Values("MASKED", "CAUSAL"),
                         [](const auto& info) { return info.param; });

TEST_F(PretrainTest, HasACurveOfItsOwn) {
  const TrainRequest request =
      Masked("curve", {"train.log_every_steps=3", "train.eval_every_steps=5"});
  const auto record = TrainRun(request);
  ASSERT_TRUE(record.ok()) << record.status();
  const auto curve = ReadCurve(StageFolder(request));
  ASSERT_TRUE(curve.ok()) << curve.status();
  std::vector<int64_t> steps;
  int64_t tokens = 0;
  std::string events = TensorBoardHeader();
  for (const CurvePoint& point : *curve) {
    steps.push_back(point.step());
    tokens += point.tokens();
    events += TensorBoardRecord(point);
    EXPECT_GT(point.update_ratio(), 1e-6);
    EXPECT_GT(point.gradient_norm(), 0);
    EXPECT_EQ(point.has_validation_loss(), point.step() % 5 == 0) << point.step();
  }
  EXPECT_EQ(steps, (std::vector<int64_t>{3, 5, 6, 9, 10}));
  EXPECT_EQ(*ReadFile(JoinPath(StageFolder(request), kTensorBoardFile)), events);
  EXPECT_EQ(record->pretrain().tokens(), tokens);
  EXPECT_EQ(record->pretrain().first_loss(), curve->front().train_loss());
  EXPECT_EQ(record->pretrain().last_loss(), curve->back().train_loss());
  for (const CurvePoint& point : record->curve()) EXPECT_LE(point.step(), 4);
}

TEST_F(PretrainTest, SavesByMinutesAndKeepsTheNewest) {
  TrainRequest request = Masked("minutes", {"pretrain.examples=72", "train.eval_every_steps=4"});
  request.runtime.set_checkpoint_every_minutes(1e-9);
  request.runtime.set_keep_checkpoints(3);
  ASSERT_TRUE(TrainRun(request).ok());
  EXPECT_EQ(CheckpointSteps(StageFolder(request)), (std::vector<int64_t>{7, 8, 9}));
  request = Masked("evaluations", {"pretrain.examples=72", "train.eval_every_steps=4"});
  request.runtime.set_keep_checkpoints(100);
  ASSERT_TRUE(TrainRun(request).ok());
  EXPECT_EQ(CheckpointSteps(StageFolder(request)), (std::vector<int64_t>{4, 8, 9}));
}

// Makes the folder that a process leaves which was killed some time after `latest` named its
// checkpoint of `step`.
void LeaveKilled(const TrainRequest& undisturbed, int64_t step, const TrainRequest& killed) {
  std::filesystem::create_directories(killed.runtime.out_dir());
  std::filesystem::copy(StageFolder(undisturbed), StageFolder(killed),
                        std::filesystem::copy_options::recursive);
  OverwriteFile(StageFolder(killed) + "/checkpoint/latest", absl::StrCat("step-", step, "\n"));
  OverwriteFile(StageFolder(killed) + "/curve.jsonl.tmp-1234-0", "{");
  OverwriteFile(StageFolder(killed) + "/tensorboard/events.tmp-1234-0", "");
}

TEST_F(PretrainTest, AKilledStageEndsInTheSameBits) {
  const std::vector<std::string> sets = {"train.log_every_steps=2"};
  TrainRequest undisturbed = Masked("undisturbed", sets), killed = Masked("killed", sets);
  undisturbed.runtime.set_checkpoint_every_steps(3);
  undisturbed.runtime.set_keep_checkpoints(100);
  const auto expected = TrainRun(undisturbed);
  ASSERT_TRUE(expected.ok()) << expected.status();
  LeaveKilled(undisturbed, 3, killed);
  EXPECT_EQ(TrainRun(killed).status().code(), absl::StatusCode::kAlreadyExists);
  killed.resume = true;
  const auto actual = TrainRun(killed);
  ASSERT_TRUE(actual.ok()) << actual.status();
  EXPECT_TRUE(EqualExceptVolatile(*expected, *actual));
  EXPECT_EQ(expected->weights_sha256(), actual->weights_sha256());
  for (const std::string file :
       {"/checkpoint/step-10/weights.safetensors", "/checkpoint/step-10/optimizer.safetensors",
        "/curve.jsonl", "/tensorboard/events.out.tfevents.0000000000.lra"}) {
    EXPECT_EQ(*ReadFile(StageFolder(undisturbed) + file), *ReadFile(StageFolder(killed) + file))
        << file;
  }
  EXPECT_FALSE(FileExists(StageFolder(killed) + "/curve.jsonl.tmp-1234-0"));
  EXPECT_FALSE(FileExists(StageFolder(killed) + "/tensorboard/events.tmp-1234-0"));
}

TEST_F(PretrainTest, GoingOnWithAnotherConfigurationNamesTheField) {
  const TrainRequest first = Masked("configured");
  ASSERT_TRUE(TrainRun(first).ok());
  TrainRequest other = Masked("reconfigured", {"pretrain.masked_fraction=0.3"});
  LeaveKilled(first, 10, other);
  other.resume = true;
  const absl::Status status = TrainRun(other).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              testing::AllOf(HasSubstr("cannot resume " + StageFolder(other)),
                             HasSubstr("pretrain.masked_fraction is 0.3")));
}

TEST_F(PretrainTest, ALossThatIsNotFiniteNamesStepExamplesAndTensor) {
  const TrainRequest request =
      Masked("diverges",
             {"pretrain.examples=1600", "pretrain.learning_rate=1000", "pretrain.warmup_fraction=0",
              "schedule.kind=CONSTANT", "optimizer.clip_norm=0", "optimizer.weight_decay=10"});
  const absl::Status status = TrainRun(request).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal) << status;
  EXPECT_TRUE(HasDiverged(status));
  const std::string message(status.message());
  EXPECT_THAT(message, testing::MatchesRegex(
                           "pretraining: (loss|gradient) is not finite at step [0-9]+ .*, train "
                           "examples ([0-9]+ ){7}[0-9]+\\); first tensor that went bad: "
                           "(parameter|activation|gradient of) \".*"));
  EXPECT_THAT(message, HasSubstr("A lower pretrain.learning_rate"));
  EXPECT_EQ(LatestCheckpoint(request.runtime.out_dir()).status().code(),
            absl::StatusCode::kNotFound)
      << "no step with labels";
  const auto record = ReadRunRecord(request.runtime.out_dir());
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(record->failure().cause(), message);
  const auto watched = ReadActivePart(request.runtime.out_dir());
  ASSERT_TRUE(watched.ok()) << watched.status();
  EXPECT_EQ(watched->part, "pretraining");
  EXPECT_EQ(watched->state, RunState::kDiverged);
  EXPECT_EQ(watched->failure, message);
}

TEST_F(PretrainTest, AnAverageOfWeightsBeginsWithWhatWasPretrained) {
  const auto run = OpenRun(Masked("averaged", {"optimizer.average_decay=0.9"}));
  ASSERT_TRUE(run.ok()) << run.status();
  ASSERT_EQ(Pretrain(run->get()), absl::OkStatus());
  const at::Tensor embedding = (*run)->model->parameters().parameters()[0].value;
  const at::Tensor pretrained = embedding.detach().clone();
  const WeightAverage::Scope judged = (*run)->optimizer->UseJudgedWeights();
  EXPECT_TRUE(at::equal(embedding, pretrained));
}

TEST_F(PretrainTest, ADropInStepsIsThatOfTrainingWithLabels) {
  const auto run = OpenRun(Masked("dropped", {"pretrain.warmup_fraction=0", "schedule.kind=STEP",
                                              "schedule.drop_step=2", "schedule.drop_factor=0.1"}));
  ASSERT_TRUE(run.ok()) << run.status();
  const auto objective = TokenObjective::Create(**run);
  ASSERT_TRUE(objective.ok()) << objective.status();
  for (const int64_t step : {1, 2, 9})
    EXPECT_NEAR((*objective)->MakeSchedule(step).At(step).learning_rate, 5e-3, 1e-9) << step;
}

// Pairs of short random texts, pretrained with CAUSAL, whose guesses need no random draws.
class PretrainPairsTest : public testing::Test {
 protected:
  void SetUp() override { WriteRandomTask("retrieval", folder_.File("data")); }

  TrainRequest Request(const std::string& name, std::vector<std::string> sets) const {
    std::vector<std::string> all = {"pretrain.objective=CAUSAL", "pretrain.examples=12",
                                    "pretrain.learning_rate=1e-3", "pretrain.until=NOTHING",
                                    "train.steps=1"};
    all.insert(all.end(), sets.begin(), sets.end());
    return RandomTaskRequest("retrieval", "fair", all, folder_, name);
  }

  const TestFolder folder_;
};

// Returns the batch with its second texts as the only ones.
HostBatch SecondsAlone(HostBatch batch) {
  batch.length = std::exchange(batch.length_b, 0);
  batch.tokens = std::exchange(batch.tokens_b, {});
  batch.lengths = std::exchange(batch.lengths_b, {});
  return batch;
}

HostBatch FirstsAlone(HostBatch batch) {
  batch.length_b = 0;
  batch.tokens_b.clear();
  batch.lengths_b.clear();
  return batch;
}

TEST_F(PretrainPairsTest, BothTextsAreGuessed) {
  const auto run = OpenRun(Request("both", {"model.dropout=0"}));
  ASSERT_TRUE(run.ok()) << run.status();
  const auto objective = TokenObjective::Create(**run);
  ASSERT_TRUE(objective.ok()) << objective.status();
  const HostBatch pairs = FirstExamples((*run)->train, 8);
  BatchResult both, first, second;
  const at::Tensor gradient = Gradients(**objective, pairs, 0, &both);
  const at::Tensor of_first = Gradients(**objective, FirstsAlone(pairs), 0, &first);
  const at::Tensor of_second = Gradients(**objective, SecondsAlone(pairs), 0, &second);
  EXPECT_EQ(both.tokens, CountTokens(pairs));
  EXPECT_EQ(both.guesses, CountTokens(pairs) - 2 * 8) << "all but the first token of each text";
  EXPECT_EQ(both.guesses, first.guesses + second.guesses);
  EXPECT_EQ(both.correct, first.correct + second.correct);
  EXPECT_NEAR(both.loss_sum, first.loss_sum + second.loss_sum, 1e-6 * both.loss_sum);
  // Gradients are means over the guesses, so the gradient of the pairs is the weighted mean of
  // both.
  const double weight = static_cast<double>(first.guesses) / static_cast<double>(both.guesses);
  const at::Tensor expected = of_first * weight + of_second * (1 - weight);
  EXPECT_LT(at::linalg_vector_norm(gradient - expected).item<double>(),
            1e-5 * at::linalg_vector_norm(expected).item<double>());
}

TEST_F(PretrainPairsTest, PartsAddUp) {
  for (const char* objective_name : {"CAUSAL", "MASKED"}) {
    SCOPED_TRACE(objective_name);
    const auto run =
        OpenRun(Request(objective_name, {"model.dropout=0.1", "pretrain.masked_fraction=0.2",
                                         absl::StrCat("pretrain.objective=", objective_name)}));
    ASSERT_TRUE(run.ok()) << run.status();
    const auto objective = TokenObjective::Create(**run);
    ASSERT_TRUE(objective.ok()) << objective.status();
    ExpectPartsAddUp(**objective, FirstExamples((*run)->train, 8));
  }
}

TEST_F(PretrainPairsTest, NamesTheSecondTextsTensorThatWentBad) {
  const auto run = OpenRun(Request("bad", {"model.dropout=0"}));
  ASSERT_TRUE(run.ok()) << run.status();
  const auto objective = TokenObjective::Create(**run);
  ASSERT_TRUE(objective.ok()) << objective.status();
  HostBatch pairs = FirstExamples((*run)->train, 4);
  for (int32_t& id : pairs.tokens) id = 1;
  pairs.tokens_b.assign(pairs.tokens_b.size(), 2);
  EXPECT_EQ(FirstBadTensor(**objective, pairs, 2, 0), "");
  const c10::NoGradGuard no_gradient;
  const at::Tensor table = (*objective)->parameters().parameters()[0].value;
  ASSERT_EQ((*objective)->parameters().parameters()[0].name, "embedding.token.weight");
  table.select(0, 2).fill_(3e38);  // finite, but not its square
  EXPECT_THAT(FirstBadTensor(**objective, pairs, 2, 0), HasSubstr("activation \"second text: "));
}

TEST_F(PretrainPairsTest, ARunCountsTheTokensOfBothTexts) {
  const auto record = TrainRun(Request("run", {"pretrain.examples=60", "train.batch_examples=4"}));
  ASSERT_TRUE(record.ok()) << record.status();
  const auto run = OpenRun(Request("again", {}));
  ASSERT_TRUE(run.ok()) << run.status();
  const int64_t examples = (*run)->train.size();
  ASSERT_EQ(examples, 60) << "15 batches of 4 are an epoch";
  EXPECT_EQ(record->pretrain().tokens(), CountTokens(FirstExamples((*run)->train, examples)));
}

// The bytes that a step of one example takes in each stage, measured with the stage's own model.
struct StepBytes {
  int64_t labels = 0, tokens = 0;
};

StepBytes MeasureSteps(Run* run) {
  const LabelObjective labels(*run);
  const auto tokens = TokenObjective::Create(*run);
  EXPECT_TRUE(tokens.ok()) << tokens.status();
  Optimizer optimizer(run->config().optimizer(), (*tokens)->parameters());
  CheckpointState state;
  return {ChooseMicroBatch(*run, LabelStage(labels, run))->step_bytes,
          ChooseMicroBatch(*run, {tokens->get(), "", &optimizer, &state})->step_bytes};
}

int32_t MicroBatchOf(const std::string& directory) {
  return LoadCheckpointState(*LatestCheckpoint(directory))->efficiency().micro_batch_examples();
}

// Every token is guessed among as many ids as there are bytes, which takes far more memory than two
// classes.
TEST_F(PretrainPairsTest, TheMicroBatchIsMeasuredOnTheModelThatGuessesTokens) {
  TrainRequest request = Request("one", {"train.batch_examples=1"});
  request.runtime.set_memory_budget_bytes(int64_t{1} << 40);
  const auto run = OpenRun(request);
  ASSERT_TRUE(run.ok()) << run.status();
  const StepBytes bytes = MeasureSteps(run->get());
  ASSERT_GT(bytes.tokens, 1.2 * bytes.labels);

  request = Request("some", {"train.batch_examples=8"});
  request.runtime.set_memory_budget_bytes(3 * bytes.tokens);
  ASSERT_TRUE(TrainToEnd(request).ok());
  const int32_t tokens = MicroBatchOf(StageFolder(request));
  EXPECT_GE(tokens, 2);
  EXPECT_LT(tokens, 8);
  EXPECT_GT(MicroBatchOf(request.runtime.out_dir()), tokens);

  request = Request("none", {"train.batch_examples=8"});
  request.runtime.set_memory_budget_bytes((bytes.labels + bytes.tokens) / 2);
  const absl::Status status = TrainToEnd(request).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              testing::MatchesRegex("--memory-budget: is .*, but a step .* in pretraining; .*"));
  EXPECT_FALSE(FileExists(StageFolder(request) + "/checkpoint"));
}

}  // namespace
}  // namespace lra
