// Tests the parts of a run: how the trials of a search and pretraining are watched, what resuming
// them counts, and splits that are scored in part.
#include <ATen/ops/equal.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "datasets/manifest.h"
#include "eval/evaluator.h"
#include "eval/machine.h"
#include "eval/run_record.h"
#include "lra/experiment.h"
#include "lra/files.h"
#include "run_folder/checkpoint.h"
#include "run_folder/find_checkpoint.h"
#include "run_folder/run_claim.h"
#include "run_folder/run_folder.h"
#include "tasks/task_facts.h"
#include "tests/training_fixture.h"
#include "train/run.h"
#include "train/trainable.h"
#include "train/trainer.h"

namespace lra {
namespace {

using testing::HasSubstr;

class RunPartsTest : public TrainerTest {};

// A search with two trials of four steps.
TrainRequest SearchRequest(TrainRequest request) {
  EXPECT_TRUE(SetField(&request.resolved.config, "search.learning_rate=1e-3,1e-4").ok());
  request.resolved.config.mutable_search()->set_select(SearchConfig::VALIDATION);
  request.resolved.config.mutable_search()->set_budget_trials(2);
  return request;
}

TEST_F(RunPartsTest, ASearchThatNobodyResumedCountsNoResume) {
  TrainRequest request =
      SearchRequest(Request("search", "linear", {"train.steps=4", "train.eval_every_steps=2"}));
  const auto record = TrainRun(request);
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(record->efficiency().resumes(), 0);
  // The process was killed while it scored the test split.
  std::filesystem::remove(request.runtime.out_dir() + "/record.textproto");
  request.resume = true;
  const auto resumed = TrainRun(request);
  ASSERT_TRUE(resumed.ok()) << resumed.status();
  EXPECT_EQ(resumed->efficiency().resumes(), 1);
  EXPECT_TRUE(EqualExceptVolatile(*record, *resumed));
}

// Its trials take most of the room and nothing needs them any more.
TEST_F(RunPartsTest, AFinishedSearchIsLeftAloneWithoutItsTrials) {
  TrainRequest request =
      SearchRequest(Request("searched", "linear", {"train.steps=4", "train.eval_every_steps=2"}));
  const auto record = TrainRun(request);
  ASSERT_TRUE(record.ok()) << record.status();
  const std::string trials = JoinPath(request.runtime.out_dir(), kTrialsFolder);
  ASSERT_TRUE(RemoveAll(trials).ok());
  request.resume = true;
  const auto again = TrainRun(request);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE(EqualExceptVolatile(*record, *again));
  EXPECT_FALSE(FileExists(trials));
}

TEST_F(RunPartsTest, OtherSumsOfGradientsThanBeforeAreNoted) {
  TrainRequest request = Request("sums", "linear", {"train.steps=4", "train.eval_every_steps=2"});
  request.runtime.set_keep_checkpoints(9);
  request.runtime.set_checkpoint_every_steps(2);
  ASSERT_TRUE(TrainRun(request).ok());
  const std::string run = request.runtime.out_dir();
  // Killed behind step 2.
  std::filesystem::remove(run + "/record.textproto");
  ASSERT_TRUE(WriteFileAtomically(run + "/checkpoint/latest", "step-2\n").ok());
  request.resume = request.exact_reduction = true;
  testing::internal::CaptureStderr();
  const auto record = TrainRun(request);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("was trained without --exact-reduction, now with it"));
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_FALSE(record->efficiency().exact_reduction());
}

// Killed while it scored the test split, and scored by another build.
TEST_F(RunPartsTest, ARunThatAnotherBuildScoredNamesWhoTrainedIt) {
  TrainRequest request = Request("builds", "linear", {"train.steps=4"});
  const auto record = TrainRun(request);
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_TRUE(record->stretch().empty());
  std::filesystem::remove(request.runtime.out_dir() + "/record.textproto");
  request.resume = true;
  const std::string commit = std::exchange(ProgramCommit(), "another");
  const auto resumed = TrainRun(request);
  ProgramCommit() = commit;
  ASSERT_TRUE(resumed.ok()) << resumed.status();
  EXPECT_EQ(resumed->versions().commit(), "another");
  ASSERT_EQ(resumed->stretch_size(), 1);
  EXPECT_EQ(resumed->stretch(0).after_step(), 0);
  EXPECT_EQ(resumed->stretch(0).versions().commit(), commit);
  EXPECT_TRUE(EqualExceptVolatile(*record, *resumed));
}

// Where the checkpoints were removed, the record says which run it was.
TEST_F(RunPartsTest, TheRecordOfAnotherRunIsNotReturned) {
  TrainRequest request = Request("recorded", "linear", {"train.steps=3"});
  const auto record = TrainRun(request);
  ASSERT_TRUE(record.ok()) << record.status();
  ASSERT_TRUE(RemoveAll(request.runtime.out_dir() + "/checkpoint").ok());
  request.resume = true;
  const auto again = TrainRun(request);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE(EqualExceptVolatile(*record, *again));
  const auto refusal = [](const TrainRequest& other) {
    const absl::Status status = TrainRun(other).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    return std::string(status.message());
  };
  TrainRequest other = request;
  other.resolved.config.mutable_train()->set_steps(4);
  EXPECT_THAT(refusal(other), HasSubstr("cannot resume " + request.runtime.out_dir() +
                                        ": its configuration differs: train.steps is 4, its "
                                        "record has 3"));
  other = request;
  other.resolved.config.set_seed(1);
  EXPECT_THAT(refusal(other), HasSubstr("seed is 1, its record has 0"));
  other = request;
  other.runtime.set_data_dir(*folder_ + "/other-data");
  ASSERT_TRUE(PrepareListOps(other.runtime.data_dir(), 47).ok());
  EXPECT_THAT(refusal(other), HasSubstr("its data differs: "));
}

// A fork begins with the weights of another run and nothing else of it, and is another experiment.
TEST_F(RunPartsTest, ARunStartsFromTheWeightsOfAnother) {
  const TrainRequest first = Request("origin", "linear", {});
  ASSERT_TRUE(TrainRun(first).ok());
  const auto checkpoint = FindCheckpoint(first.runtime.out_dir());
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  const auto state = LoadCheckpointState(*checkpoint);
  ASSERT_TRUE(state.ok()) << state.status();
  const auto forked = [&](const std::string& name, const std::vector<std::string>& sets) {
    TrainRequest request = Request(name, "linear", sets);
    request.start_checkpoint = *checkpoint;
    request.resolved.config.set_start_weights_sha256(state->weights_sha256());
    return request;
  };
  const TrainRequest fork = forked("fork", {"train.steps=7"});
  EXPECT_NE(ExperimentName(fork.resolved.config), ExperimentName(first.resolved.config));
  const auto origin = OpenRun(Request("unforked", "linear", {}));
  ASSERT_TRUE(origin.ok()) << origin.status();
  ASSERT_TRUE(LoadWeights(*checkpoint, *state, (*origin)->model->parameters()).ok());
  {
    const auto opened = OpenRun(fork);
    ASSERT_TRUE(opened.ok()) << opened.status();
    EXPECT_EQ((*opened)->state.step(), 0);
    const auto& there = (*origin)->model->parameters().parameters();
    const auto& here = (*opened)->model->parameters().parameters();
    ASSERT_EQ(there.size(), here.size());
    for (size_t i = 0; i < here.size(); ++i)
      EXPECT_TRUE(at::equal(there[i].value, here[i].value)) << here[i].name;
  }
  {  // an average of weights begins with them, too
    const auto averaged = OpenRun(forked("averaged", {"optimizer.average_decay=0.9"}));
    ASSERT_TRUE(averaged.ok()) << averaged.status();
    const WeightAverage::Scope judged = (*averaged)->optimizer->UseJudgedWeights();
    const auto& there = (*origin)->model->parameters().parameters();
    const auto& here = (*averaged)->model->parameters().parameters();
    for (size_t i = 0; i < here.size(); ++i)
      EXPECT_TRUE(at::equal(there[i].value, here[i].value)) << here[i].name;
  }
  ASSERT_TRUE(TrainRun(fork).ok());
  const auto record = ReadRunRecord(fork.runtime.out_dir());
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(record->config().start_weights_sha256(), state->weights_sha256());

  const auto refusal = [](const TrainRequest& request) {
    const absl::Status status = OpenRun(request).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    return std::string(status.message());
  };
  // The ids of the data are told by the shape of their table alone.
  EXPECT_THAT(refusal(forked("marked", {"view.end_mark=true"})),
              HasSubstr("missing or has another shape than the model"));
  TrainRequest nameless = forked("nameless", {});
  nameless.start_checkpoint.clear();
  EXPECT_THAT(refusal(nameless), HasSubstr("name their checkpoint with --from"));
  TrainRequest other = forked("other", {});
  other.resolved.config.set_start_weights_sha256("0123");
  EXPECT_THAT(refusal(other), HasSubstr("start_weights_sha256 is 0123"));
}

// Weights of equal shapes are another model's where it computes something else of them.
TEST_F(RunPartsTest, AnotherModelDoesNotStartFromWeights) {
  const TrainRequest first = Request("model", "rfa", {"train.steps=1"});
  ASSERT_TRUE(TrainRun(first).ok());
  const auto checkpoint = FindCheckpoint(first.runtime.out_dir());
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  const auto manifest = ReadManifest(*folder_ + "/data");
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  const auto opened = [&](const std::string& attention, const std::vector<std::string>& sets) {
    TrainRequest request = Request(absl::StrCat("model-", attention, sets.size()), attention, sets);
    request.start_checkpoint = *checkpoint;
    request.resolved.config.set_start_weights_sha256(
        LoadCheckpointState(*checkpoint)->weights_sha256());
    absl::Status status = OpenRun(request).status();
    // `lra config` says the same.
    EXPECT_EQ(CheckTrainable(request, *manifest), status);
    return status;
  };
  const struct {
    std::string attention;
    std::vector<std::string> sets;
    std::string says;
  } refused[] = {
      {"relu", {}, "attention.name is relu, that run has rfa"},
      {"rfa",
       {"attention.options.kernel=ARC_COSINE"},
       "attention.options.kernel is ARC_COSINE, that run has GAUSSIAN"},
      {"rfa", {"model.activation=RELU_MLP"}, "model.activation is RELU_MLP, that run has GELU_ERF"},
      {"rfa", {"model.pooling=MAX"}, "model.pooling is MAX, that run has MEAN"},
      {"rfa", {"model.norm_epsilon=1e-3"}, "model.norm_epsilon is 0.001, that run has 1e-05"}};
  for (const auto& [attention, sets, says] : refused) {
    const absl::Status status = opened(attention, sets);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_THAT(std::string(status.message()),
                testing::AllOf(HasSubstr("--from " + *checkpoint), HasSubstr(says)));
  }
  EXPECT_EQ(opened("rfa", {"model.dropout=0.3", "model.embedding_stddev=0.5",
                           "schedule.learning_rate=1e-4"}),
            absl::OkStatus());
}

// What `lra config` asks, without data, and what training says on data.
TEST_F(RunPartsTest, WhatTrainingRefusesIsRefusedBeforehand) {
  const std::vector<std::string> pretrained = {"pretrain.objective=CAUSAL", "pretrain.examples=8",
                                               "pretrain.learning_rate=1e-3"};
  const struct {
    std::string attention;
    std::vector<std::string> sets;
  } refused[] = {{"linear", {"view.pixels=IDS"}},
                 {"local", {"attention.options.block_tokens=5000"}},
                 {"linformer", pretrained}};
  const auto manifest = ManifestWithoutData("listops");
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  for (const auto& [attention, sets] : refused) {
    TrainRequest request = Request("refused-" + attention, attention, sets);
    for (const std::string& set : sets)
      request.resolved.provenance[set.substr(0, set.find('='))] = "--set";
    const absl::Status beforehand = CheckTrainable(request, *manifest);
    EXPECT_FALSE(beforehand.ok()) << attention;
    EXPECT_EQ(TrainRun(request).status(), beforehand) << attention;
  }
  EXPECT_EQ(CheckTrainable(Request("taken", "linear", pretrained), *manifest), absl::OkStatus());
}

TEST_F(RunPartsTest, AResumeRemovesWhatAKilledProcessWasWriting) {
  TrainRequest request = Request("leftovers", "linear", {"train.steps=2"});
  const std::string run = request.runtime.out_dir();
  std::vector<std::string> leftovers;
  for (const char* folder : {"", "/tensorboard", "/pretrain", "/pretrain/tensorboard"}) {
    ASSERT_TRUE(MakeDirectories(run + folder).ok());
    leftovers.push_back(run + folder + "/some.tmp-1-1");
    ASSERT_TRUE(WriteFileAtomically(leftovers.back(), "half").ok());
  }
  request.resume = true;
  ASSERT_TRUE(TrainRun(request).ok());
  for (const std::string& file : leftovers) EXPECT_FALSE(FileExists(file)) << file;
}

// A process killed before the run's own first step leaves this behind.
void RemoveOwnFiles(const std::string& run) {
  for (const char* name : {"record.textproto", "record.json", "curve.jsonl", "checkpoint"})
    std::filesystem::remove_all(run + "/" + name);
}

TEST_F(RunPartsTest, TheTrialThatIsTrainedIsWatched) {
  const TrainRequest request =
      SearchRequest(Request("watched", "linear", {"train.steps=4", "train.eval_every_steps=2"}));
  const std::string run = request.runtime.out_dir();
  ASSERT_TRUE(TrainRun(request).ok());
  EXPECT_EQ(ReadActivePart(run)->state, RunState::kFinished);
  EXPECT_EQ(ReadActivePart(run)->part, "");
  RemoveOwnFiles(run);
  auto part = ReadActivePart(run);
  ASSERT_TRUE(part.ok()) << part.status();
  EXPECT_EQ(part->part, "trial 2 of 2, learning rate 0.0001");
  EXPECT_EQ(part->state, RunState::kStopped);
  EXPECT_EQ(part->step(), 4);
  EXPECT_EQ(part->total_steps(), 4);
  // The first trial is resumed; its lock tells that it is running.
  const auto search = RunClaim::Take(run), first = RunClaim::Take(run + "/trials/lr-0.001");
  ASSERT_TRUE(search.ok() && first.ok());
  part = ReadActivePart(run);
  ASSERT_TRUE(part.ok()) << part.status();
  EXPECT_EQ(part->part, "trial 1 of 2, learning rate 0.001");
  EXPECT_EQ(part->state, RunState::kRunning);
  // The state before its first point.
  std::filesystem::remove_all(run + "/trials/lr-0.0001");
  RemoveOwnFiles(run + "/trials/lr-0.001");
  part = ReadActivePart(run);
  ASSERT_TRUE(part.ok()) << part.status();
  EXPECT_EQ(part->part, "trial 1, learning rate 0.001");
  EXPECT_EQ(part->step(), 0);
}

TEST_F(RunPartsTest, PretrainingIsWatched) {
  const TrainRequest request =
      Request("watched-pretraining", "linear",
              {"pretrain.objective=MASKED", "pretrain.examples=48", "pretrain.until=NOTHING",
               "pretrain.learning_rate=5e-3", "pretrain.masked_fraction=0.2", "train.steps=4"});
  const std::string run = request.runtime.out_dir();
  ASSERT_TRUE(TrainRun(request).ok());
  EXPECT_EQ(ReadActivePart(run)->part, "");
  RemoveOwnFiles(run);
  const auto part = ReadActivePart(run);
  ASSERT_TRUE(part.ok()) << part.status();
  EXPECT_EQ(part->part, "pretraining");
  EXPECT_EQ(part->step(), 6);
  EXPECT_EQ(part->total_steps(), 6);
  EXPECT_EQ(part->state, RunState::kStopped);
  EXPECT_GT(part->record.curve(0).train_loss(), 0);
}

TEST_F(RunPartsTest, ScoringStopsWhenItShould) {
  const auto run = OpenRun(Request("stopped", "linear", {}));
  ASSERT_TRUE(run.ok()) << run.status();
  int batches = 0;
  const auto scored =
      ScoreSplit(*(*run)->model, (*run)->validation, 10, *(*run)->metric,
                 {.batch_examples = 8, .should_stop = [&] { return ++batches == 3; }});
  EXPECT_EQ(scored.status(), absl::CancelledError("stopped after 16 of 40 validation examples"));
}

// A smoke run takes less than a minute and says that its score does not cover the whole split.
TEST_F(RunPartsTest, APartOfASplitIsScoredAndRecordedAsSuch) {
  const TrainRequest request =
      Request("part", "linear", {"train.steps=2", "evaluation.scored_examples=24"});
  const auto record = TrainRun(request);
  ASSERT_TRUE(record.ok()) << record.status();
  for (const char* split : {"test", "validation"}) {
    EXPECT_EQ(FindResult(*record, split)->examples(), 24) << split;
    EXPECT_EQ(FindResult(*record, split)->split_examples(), 40) << split;
  }
  EXPECT_TRUE(CheckPredictions(request.runtime.out_dir(), *record).ok());
  // Nothing is left out of a split that is not larger.
  const auto whole =
      TrainRun(Request("no-part", "linear", {"train.steps=2", "evaluation.scored_examples=40"}));
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_EQ(FindResult(*whole, "test")->examples(), 40);
  EXPECT_EQ(FindResult(*whole, "test")->split_examples(), 0);
}

}  // namespace
}  // namespace lra
