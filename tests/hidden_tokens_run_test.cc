// Runs that guess hidden tokens from all others (view.target=MASKED): trained, resumed, recorded,
// scored again, tabled, verified and diagnosed.
#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <numbers>
#include <string>
#include <vector>

#include "datasets/data_test_util.h"
#include "datasets/loader.h"
#include "eval/doctor.h"
#include "eval/example_scores.h"
#include "eval/leaderboard.h"
#include "eval/run_record.h"
#include "google/protobuf/util/message_differencer.h"
#include "inspect/doctor_case.h"
#include "inspect/evaluate.h"
#include "inspect/open_checkpoint.h"
#include "inspect/sample_token.h"
#include "inspect/verify_run.h"
#include "lra/files.h"
#include "run_folder/checkpoint.h"
#include "tasks/task_facts.h"
#include "tests/objective_gradients.h"
#include "tests/training_fixture.h"
#include "train/label_objective.h"
#include "train/trainer.h"

namespace lra {
namespace {

using google::protobuf::util::MessageDifferencer;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

class HiddenTokensRunTest : public TrainerTest {
 protected:
  static TrainRequest MaskedRequest(const std::string& name, std::vector<std::string> sets = {}) {
    sets.push_back("view.target=MASKED");
    return Request(name, "linear", sets);
  }
};

// A test split, how many of its tokens are hidden, and -log p of these.
struct Guessed {
  int64_t tokens = 0, targets = 0;
  double nats = 0;
};

// What the selected checkpoint says of each example alone, by the definition.
Guessed GuessedOfEach(const TrainRequest& request) {
  const auto opened = OpenCheckpoint({.checkpoint = *FindCheckpoint(request.runtime.out_dir()),
                                      .data_dir = request.runtime.data_dir(),
                                      .split = "test"});
  EXPECT_TRUE(opened.ok()) << opened.status();
  const c10::NoGradGuard no_gradient;
  Guessed guessed;
  for (int64_t i = 0; i < opened->split.size(); ++i) {
    const HostBatch one = MakeBatch(opened->split, {i});
    const at::Tensor logits = opened->model->Forward(one, {}).contiguous();
    const auto classes = static_cast<size_t>(logits.size(1));
    for (size_t t = 0; t < one.labels.size(); ++t)
      guessed.nats +=
          NatsOf({logits.const_data_ptr<float>() + t * classes, classes}, one.labels[t]);
    guessed.tokens += one.lengths[0];
    guessed.targets += static_cast<int64_t>(one.labels.size());
  }
  return guessed;
}

// Brackets, operators and digits tell each other apart; which digit it was is chance.
TEST_F(HiddenTokensRunTest, LearnsAndRecordsBitsAHiddenToken) {
  const TrainRequest request = MaskedRequest(
      "learns", {"train.steps=120", "train.batch_examples=16", "schedule.learning_rate=5e-3",
                 "model.dropout=0", "train.eval_every_steps=120", "train.log_every_steps=10"});
  const auto record = TrainRun(request);
  ASSERT_TRUE(record.ok()) << record.status();
  ASSERT_EQ(record->curve_size(), 12);
  const auto bits_at = [&](int i) { return record->curve(i).train().at("bits_per_token"); };
  EXPECT_LT(bits_at(11), 0.9 * bits_at(0));

  const SplitResult* test = FindResult(*record, "test");
  ASSERT_NE(test, nullptr);
  EXPECT_EQ(test->examples(), 40);
  EXPECT_EQ(test->predictions_file(), "");
  const Guessed guessed = GuessedOfEach(request);
  const auto targets = static_cast<double>(guessed.targets);
  EXPECT_NEAR(targets / static_cast<double>(guessed.tokens), 0.15, 0.05);
  EXPECT_EQ(CountOf(test->sums(), kTargets), guessed.targets);
  EXPECT_EQ(CountOf(test->sums(), kTokens), guessed.targets);
  EXPECT_NEAR(TotalOf(test->sums(), kNats), guessed.nats, 1e-4 * guessed.nats);
  const Metric& bits = **FindMetric(kBitsPerToken);
  EXPECT_NEAR(bits.Value(test->sums()), guessed.nats / targets / std::numbers::ln2, 1e-3);
  const auto values = ReadExampleScores(request.runtime.out_dir(), *test, bits);
  ASSERT_TRUE(values.ok()) << values.status();
  ASSERT_TRUE(values->has_value());
  EXPECT_EQ((*values)->size(), 40u);
}

// Which tokens are hidden depends on the epoch, in the midst of which a killed run goes on.
TEST_F(HiddenTokensRunTest, AKilledRunEndsInTheSameBits) {
  TrainRequest undisturbed = MaskedRequest("undisturbed"), killed = MaskedRequest("killed");
  undisturbed.runtime.set_checkpoint_every_steps(9);
  undisturbed.runtime.set_keep_checkpoints(100);
  const auto expected = TrainRun(undisturbed);
  ASSERT_TRUE(expected.ok()) << expected.status();
  const std::string &whole = undisturbed.runtime.out_dir(), &part = killed.runtime.out_dir();
  std::filesystem::create_directories(part + "/checkpoint");
  std::filesystem::copy(CheckpointPath(whole, 9), CheckpointPath(part, 9),
                        std::filesystem::copy_options::recursive);
  OverwriteFile(part + "/checkpoint/latest", "step-9\n");
  killed.resume = true;
  const auto actual = TrainRun(killed);
  ASSERT_TRUE(actual.ok()) << actual.status();
  EXPECT_EQ(actual->efficiency().resumes(), 1);
  EXPECT_TRUE(EqualExceptVolatile(*expected, *actual));
  for (const char* file : {"/weights.safetensors", "/optimizer.safetensors"})
    EXPECT_EQ(*ReadFile(CheckpointPath(whole, 20) + file),
              *ReadFile(CheckpointPath(part, 20) + file))
        << file;
}

TEST_F(HiddenTokensRunTest, PartsOfABatchAddUpToItsGradient) {
  const auto run = OpenRun(MaskedRequest("parts", {"model.dropout=0.1"}));
  ASSERT_TRUE(run.ok()) << run.status();
  ExpectPartsAddUp(LabelObjective(**run), FirstExamples((*run)->train, 8));
}

TEST_F(HiddenTokensRunTest, EveryReaderSaysWhatTheRecordSays) {
  const TrainRequest request = MaskedRequest("read");
  const auto record = TrainRun(request);
  ASSERT_TRUE(record.ok()) << record.status();
  const SplitResult* test = FindResult(*record, "test");
  ASSERT_NE(test, nullptr);
  const std::string& run = request.runtime.out_dir();

  EvaluateRequest evaluate;
  evaluate.checkpoint = run;
  evaluate.data_dir = request.runtime.data_dir();
  evaluate.split = "test";
  evaluate.quiet = true;
  const auto again = EvaluateCheckpoint(evaluate);
  ASSERT_TRUE(again.ok()) << again.status();
  const SplitResult& rescored = again->record.results(0);
  EXPECT_TRUE(MessageDifferencer::Equals(rescored.sums(), test->sums()));
  ASSERT_EQ(test->example_scores_size(), 1);
  EXPECT_EQ(rescored.example_scores(0).sha256(), test->example_scores(0).sha256());

  const auto board = BuildLeaderboard(*FindRunRecords({run}), {}, {});
  ASSERT_TRUE(board.ok()) << board.status();
  ASSERT_EQ(board->tables.size(), 1u);
  const LeaderboardTable& table = board->tables[0];
  EXPECT_EQ(table.metric->name(), kBitsPerToken);
  ASSERT_EQ(table.rows.size(), 1u);
  ASSERT_TRUE(table.rows[0].cells[0].has_value());
  EXPECT_NEAR(table.rows[0].cells[0]->value, table.metric->Value(test->sums()), 1e-9);

  const Verification sound = VerifyRun(run, {.threads = 1, .quiet = true});
  EXPECT_THAT(sound.changes, IsEmpty());
  EXPECT_THAT(sound.missing_files, IsEmpty());
  EXPECT_THAT(sound.not_remade, IsEmpty());
  EXPECT_GT(sound.scores.total(), 0);
  EXPECT_EQ(sound.scores.moved, 0);
  FlipByte(run + "/" + test->example_scores(0).file(), 200);
  EXPECT_THAT(VerifyRun(run, {.threads = 1, .quiet = true}).changes,
              Contains(HasSubstr("bits_per_token.npy")));
}

// Hidden tokens and next ones are other questions, whatever else the runs have in common.
TEST_F(HiddenTokensRunTest, SharesNoColumnWithTheNextToken) {
  for (const std::string target : {"NEXT", "MASKED"}) {
    const auto record =
        TrainRun(Request("targets/" + target, "linear",
                         {"view.target=" + target, "attention.causal=true", "train.steps=2"}));
    ASSERT_TRUE(record.ok()) << record.status();
  }
  const auto found = FindRunRecords({*folder_ + "/targets"});
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_EQ(found->runs.size(), 2u);
  const auto board = BuildLeaderboard(*found, {}, {});
  ASSERT_TRUE(board.ok()) << board.status();
  EXPECT_THAT(board->left_out, IsEmpty());
  int cells = 0;
  for (const LeaderboardTable& table : board->tables) {
    for (const LeaderboardRow& row : table.rows) {
      for (const auto& cell : row.cells) {
        if (!cell) continue;
        EXPECT_EQ(cell->runs(), 1);
        ++cells;
      }
    }
  }
  EXPECT_EQ(cells, 2);
}

TEST_F(HiddenTokensRunTest, TheDoctorFindsNothingInASoundRun) {
  const TrainRequest request = MaskedRequest("sound");
  const auto record = TrainRun(request);
  ASSERT_TRUE(record.ok()) << record.status();
  const auto gathered = GatherCase({.run = request.runtime.out_dir(),
                                    .data_dir = request.runtime.data_dir(),
                                    .knowledge_of = KnowledgeOfTask,
                                    .threads = 1});
  ASSERT_TRUE(gathered.ok()) << gathered.status();
  EXPECT_THAT(gathered->notes, IsEmpty());
  ASSERT_TRUE(gathered->facts.model && gathered->facts.model->batch_effect);
  EXPECT_LT(*gathered->facts.model->batch_effect, 1e-3);
  EXPECT_FALSE(gathered->facts.model->ahead_effect.has_value())
      << "later tokens are meant to be seen";
  const auto diagnosis = Diagnose(gathered->facts);
  ASSERT_TRUE(diagnosis.ok()) << diagnosis.status();
  for (const Finding& finding : diagnosis->findings)
    ADD_FAILURE() << finding.cause << ": " << finding.observed;
}

}  // namespace
}  // namespace lra
