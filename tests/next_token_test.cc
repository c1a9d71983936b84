// Runs whose tokens are guessed (view.target=NEXT), from data to record.
#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "datasets/data_test_util.h"
#include "datasets/loader.h"
#include "eval/evaluator.h"
#include "eval/example_scores.h"
#include "eval/run_record.h"
#include "eval/sequences.h"
#include "lra/files.h"
#include "tests/training_fixture.h"
#include "train/label_objective.h"
#include "train/trainer.h"

namespace lra {
namespace {

using testing::HasSubstr;

class NextTokenTest : public TrainerTest {
 protected:
  static TrainRequest NextRequest(const std::string& name, const std::string& attention,
                                  std::vector<std::string> sets = {}) {
    sets.insert(sets.end(), {"view.target=NEXT", "attention.causal=true", "model.dropout=0"});
    return Request(name, attention, sets);
  }

  // Data of the task copy of two kinds in turn, with one symbol given: the separator is to be
  // guessed, or the separator and a symbol, one of 1 to 5 in training and of 6 to 10 elsewhere.
  static TrainRequest AnswersRequest(const std::string& name,
                                     const std::vector<std::string>& sets) {
    ConfigBuilder builder("copy");
    EXPECT_TRUE(builder.AddProtocol("fair").ok());
    EXPECT_TRUE(builder.AddPreset("smoke").ok());
    EXPECT_TRUE(builder.AddAttention("linear").ok());
    for (const std::string& set : sets) EXPECT_TRUE(builder.Set(set).ok()) << set;
    TrainRequest request;
    request.resolved = builder.Build().value();
    request.runtime.set_quiet(true);
    request.runtime.set_data_dir(*folder_ + "/answers-" + name);
    request.runtime.set_out_dir(*folder_ + "/" + name);
    TaskSpec spec;
    spec.set_name("copy");
    spec.set_version(1);
    spec.set_vocabulary_size(12);
    spec.set_max_length_tokens(3);
    spec.set_classes(1);
    spec.set_metric_name(kNats);
    WriteTestData(request.runtime.data_dir(), spec,
                  {{"train", Answers(0)}, {"validation", Answers(5)}, {"test", Answers(5)}},
                  1 << 20, {PromptColumn()});
    return request;
  }

 private:
  static std::vector<EncodedExample> Answers(int shift) {
    std::vector<EncodedExample> examples(40);
    for (int i = 0; i < 40; ++i) {
      const int symbol = i / 2 % 10;
      examples[i].tokens = {static_cast<uint16_t>(1 + symbol), 11};
      if (i % 2 == 1) examples[i].tokens.push_back(static_cast<uint16_t>(1 + symbol % 5 + shift));
      examples[i].extra = {1};
    }
    return examples;
  }
};

// -log softmax(logits)[target], by its definition.
double Nats(const float* logits, int64_t classes, int32_t target) {
  double sum = 0;
  for (int64_t c = 0; c < classes; ++c) sum += std::exp(static_cast<double>(logits[c]));
  return std::log(sum) - logits[target];
}

// What is recorded of an example is what the model says of it alone.
TEST_F(NextTokenTest, ScoresAreThoseOfEachExampleAlone) {
  const auto run = OpenRun(NextRequest("scores", "linear"));
  ASSERT_TRUE(run.ok()) << run.status();
  const SplitView& split = (*run)->validation;
  const int64_t classes = split.spec().classes();
  EXPECT_EQ(classes, split.spec().vocabulary_size());
  const auto scored =
      ScoreSplit(*(*run)->model, split, classes, *(*run)->metric, {.batch_examples = 7});
  ASSERT_TRUE(scored.ok()) << scored.status();
  const c10::NoGradGuard no_gradient;
  for (int64_t i = 0; i < split.size(); ++i) {
    const HostBatch one = MakeBatch(split, {i});
    EXPECT_EQ(one.labels, one.tokens);
    const at::Tensor logits = (*run)->model->Forward(one, {}).contiguous();
    double nats = 0;
    for (size_t t = 0; t < one.labels.size(); ++t)
      nats += Nats(logits.const_data_ptr<float>() + t * classes, classes, one.labels[t]);
    EXPECT_NEAR(scored->sums.totals.at(kNats)[i], nats, 1e-4 * nats) << i;
    EXPECT_EQ(scored->sums.counts.at(kTokens)[i], split.length_tokens(i)) << i;
    EXPECT_EQ(scored->sums.counts.at(kTargets)[i], split.length_tokens(i)) << i;
  }
  EXPECT_FALSE(HasSequences(scored->sums.Total())) << "no token is given";
}

// Several processes score a part each.
TEST_F(NextTokenTest, PartsScoreBatchesOfTheirOwn) {
  const auto run = OpenRun(NextRequest("parts", "linear"));
  ASSERT_TRUE(run.ok()) << run.status();
  const SplitView& split = (*run)->validation;
  const auto score = [&](const EvaluatorOptions& options) {
    return ScoreSplit(*(*run)->model, split, split.spec().classes(), *(*run)->metric, options);
  };
  const auto whole = score({.batch_examples = 7});
  ASSERT_TRUE(whole.ok()) << whole.status();
  ExampleSums joined;
  int64_t scored = 0;
  EvaluatorOptions options = {.batch_examples = 7};
  options.join_sums = [&](const absl::Status& mine, int64_t examples, ExampleSums* sums) {
    EXPECT_EQ(examples, split.size());
    const std::vector<int64_t>& targets = sums->counts.at(kTargets);
    const auto here = targets.size() - std::count(targets.begin(), targets.end(), 0);
    EXPECT_GT(here, 0u);
    EXPECT_LT(here, targets.size());
    scored += static_cast<int64_t>(here);
    joined.Add(*sums);
    return mine;
  };
  for (int index : {0, 1}) {
    options.part = {index, 2};
    ASSERT_TRUE(score(options).ok());
  }
  EXPECT_EQ(scored, split.size());
  EXPECT_EQ(joined.totals.at(kNats), whole->sums.totals.at(kNats));
  options.join_sums = [](const absl::Status&, int64_t, ExampleSums*) {
    return absl::CancelledError("another rank");
  };
  EXPECT_TRUE(absl::IsCancelled(score(options).status()));
}

// The separator is learned at once, and no symbol is guessed that never stood behind it.
TEST_F(NextTokenTest, AnswersAreRecordedAsRightOrWrongAsAWhole) {
  const TrainRequest request =
      AnswersRequest("answers", {"train.steps=200", "train.batch_examples=16", "model.dropout=0",
                                 "schedule.learning_rate=5e-3", "train.eval_every_steps=200"});
  const auto record = TrainRun(request);
  ASSERT_TRUE(record.ok()) << record.status();
  const SplitResult* test = FindResult(*record, "test");
  ASSERT_NE(test, nullptr);
  EXPECT_EQ(CountOf(test->sums(), kTokens), 60);
  EXPECT_EQ(CountOf(test->sums(), kSequences), 40);
  EXPECT_EQ(CountOf(test->sums(), kExactSequences), 20);
  const auto values =
      ReadExampleScores(request.runtime.out_dir(), *test, **FindMetric(kSequenceAccuracy));
  ASSERT_TRUE(values.ok()) << values.status();
  ASSERT_TRUE(values->has_value());
  for (size_t i = 0; i < 40; ++i) EXPECT_EQ((**values)[i], i % 2 == 0 ? 1 : 0) << i;
}

TEST_F(NextTokenTest, HiddenTokensAnswerNothing) {
  const auto run = OpenRun(AnswersRequest(
      "hidden", {"view.target=MASKED", "attention.causal=false", "model.dropout=0"}));
  ASSERT_TRUE(run.ok()) << run.status();
  const SplitView& split = (*run)->validation;
  const auto scored = ScoreSplit(*(*run)->model, split, split.spec().classes(), *(*run)->metric,
                                 {.batch_examples = 7});
  ASSERT_TRUE(scored.ok()) << scored.status();
  EXPECT_FALSE(HasSequences(scored->sums.Total()));
}

TEST_F(NextTokenTest, PartsOfABatchAddUpToItsGradient) {
  const auto run = OpenRun(NextRequest("parts", "cosformer"));
  ASSERT_TRUE(run.ok()) << run.status();
  const LabelObjective objective(**run);
  const HostBatch batch = MakeBatch((*run)->train, {0, 5, 9, 20, 33});
  std::vector<std::vector<at::Tensor>> gradients;
  double loss = 0;
  for (const int64_t part : {0, 2}) {
    const auto result = objective.AddGradient(batch, part, {.training = true});
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->guesses, static_cast<int64_t>(batch.labels.size()));
    if (part > 0) {
      EXPECT_NEAR(result->loss_sum, loss, 1e-4 * loss);
    }
    loss = result->loss_sum;
    gradients.emplace_back();
    for (const Parameter& parameter : objective.parameters().parameters()) {
      at::Tensor value = parameter.value;
      gradients.back().push_back(value.grad().defined() ? value.grad().clone() : at::Tensor());
      value.mutable_grad() = at::Tensor();
    }
  }
  for (size_t p = 0; p < gradients[0].size(); ++p) {
    ASSERT_EQ(gradients[0][p].defined(), gradients[1][p].defined());
    if (!gradients[0][p].defined()) continue;
    EXPECT_LE((gradients[0][p] - gradients[1][p]).abs().max().item<double>(), 1e-5) << p;
  }
}

// Most tokens of ListOps are random digits, of which a few examples are learned by heart. The
// record holds bits a token with the score of each example, without logits.
TEST_F(NextTokenTest, LearnsAndRecordsBitsAToken) {
  const TrainRequest request =
      NextRequest("learns", "linear",
                  {"train.steps=150", "train.batch_examples=16", "schedule.learning_rate=5e-3",
                   "train.eval_every_steps=150", "train.log_every_steps=50"});
  const auto record = TrainRun(request);
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_GT(record->curve(0).train().at("bits_per_token"), 3.6);
  EXPECT_LT(record->curve(2).train().at("bits_per_token"), 3.3);
  const SplitResult* test = FindResult(*record, "test");
  ASSERT_NE(test, nullptr);
  EXPECT_EQ(test->examples(), 40);
  EXPECT_EQ(test->predictions_file(), "");
  EXPECT_FALSE(FileExists(request.runtime.out_dir() + "/predictions.npy"));
  ASSERT_EQ(test->example_scores_size(), 1);
  EXPECT_EQ(test->example_scores(0).file(), "bits_per_token.npy");
  const Metric& bits = **FindMetric(kBitsPerToken);
  const auto values = ReadExampleScores(request.runtime.out_dir(), *test, bits);
  ASSERT_TRUE(values.ok()) << values.status();
  ASSERT_TRUE(values->has_value());
  EXPECT_EQ((*values)->size(), 40u);
  // If all ids were alike, a token would take log2(19) = 4.25 bits.
  EXPECT_LT(bits.Value(test->sums()), 4.2);
}

TEST_F(NextTokenTest, RefusesBeforeTheFirstStep) {
  const auto refusal = [](const TrainRequest& request) {
    return std::string(TrainRun(request).status().message());
  };
  EXPECT_THAT(refusal(Request("sees", "linear", {"view.target=NEXT"})),
              HasSubstr("attention.causal is false"));
  EXPECT_THAT(refusal(NextRequest("pretrains", "linear",
                                  {"pretrain.examples=8", "pretrain.objective=MASKED",
                                   "pretrain.learning_rate=1e-3", "pretrain.masked_fraction=0.5"})),
              HasSubstr("guesses tokens already"));
}

}  // namespace
}  // namespace lra
