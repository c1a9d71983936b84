// Pretraining looks at the validation split's own texts, in bits per token, and changes nothing by
// it.
#include <ATen/ops/log_softmax.h>
#include <c10/core/GradMode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "datasets/loader.h"
#include "eval/metric.h"
#include "lra/files.h"
#include "lra/folder_test_util.h"
#include "models/base/safetensors.h"
#include "run_folder/checkpoint.h"
#include "run_folder/curve.h"
#include "run_folder/run_folder.h"
#include "tests/random_task_request.h"
#include "train/token_objective.h"
#include "train/token_targets.h"
#include "train/trainer.h"

namespace lra {
namespace {

// Pairs of short random texts: ten of them in the validation split.
class PretrainValidationTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { WriteRandomTask("retrieval", folder_.File("data")); }

  TrainRequest Request(const std::string& name, std::vector<std::string> sets) const {
    std::vector<std::string> all = {absl::StrCat("pretrain.objective=", GetParam()),
                                    "pretrain.examples=24",
                                    "pretrain.until=NOTHING",
                                    "pretrain.learning_rate=1e-3",
                                    "train.steps=1",
                                    "model.dropout=0.1",
                                    "pretrain.masked_fraction=0.3"};
    all.insert(all.end(), sets.begin(), sets.end());
    return RandomTaskRequest("retrieval", "fair", all, folder_, name);
  }

  const TestFolder folder_;
};

// The bits of a fresh model, from LibTorch's softmax of each text alone.
double ExpectedBits(const Run& run) {
  const c10::NoGradGuard no_grad;
  const auto model = TokenModel::Create(run.config(), run.train.spec()).value();
  double nats = 0;
  int64_t tokens = 0;
  for (int64_t i = 0; i < run.validation.size(); ++i) {
    const HostBatch alone = MakeBatch(run.validation, {i});
    for (int column = 0; column < 2; ++column) {
      const TokenTargets targets =
          MakeTokenTargets(alone, column, run.config().pretrain(), run.config().seed(),
                           std::numeric_limits<uint32_t>::max());
      if (targets.ids.empty()) continue;
      const at::Tensor guesses =
          at::log_softmax(model->Forward(alone, targets.places, {}).to(at::kDouble), 1);
      for (size_t t = 0; t < targets.ids.size(); ++t)
        nats -= guesses[static_cast<int64_t>(t)][targets.ids[t]].item<double>();
      tokens += static_cast<int64_t>(targets.ids.size());
    }
  }
  return nats / std::numbers::ln2 / static_cast<double>(tokens);
}

CurvePoint Validated(const Run& run, int64_t micro_batch_examples) {
  const auto objective = TokenObjective::Create(run).value();
  CheckpointState state;
  CurvePoint point;
  EXPECT_TRUE(objective->Validate(micro_batch_examples, &state, &point).ok());
  EXPECT_EQ(state.best_step(), 0) << "nothing is chosen";
  return point;
}

TEST_P(PretrainValidationTest, IsTheMeanOfAllTextsHoweverTheyAreBatched) {
  const auto run = OpenRun(Request("open", {}));
  ASSERT_TRUE(run.ok()) << run.status();
  const double expected = ExpectedBits(**run);
  for (const int64_t micro : {0, 1, 3}) {
    const CurvePoint point = Validated(**run, micro);
    EXPECT_NEAR(point.validation().at(kBitsPerToken), expected, 1e-5) << micro;
    EXPECT_NEAR(point.validation_loss(), expected * std::numbers::ln2, 1e-5) << micro;
  }
  (*run)->claim.reset();
  const auto other = OpenRun(Request("other", {"train.batch_examples=7"}));
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_NEAR(Validated(**other, 0).validation().at(kBitsPerToken), expected, 1e-5);
}

// Six looks or one: the same weights, and the same guesses at the same hidden tokens.
TEST_P(PretrainValidationTest, ChangesNoWeight) {
  const TrainRequest once = Request("once", {"train.eval_every_steps=100"});
  const TrainRequest often = Request("often", {"train.eval_every_steps=1"});
  const auto rare = TrainRun(once), frequent = TrainRun(often);
  ASSERT_TRUE(rare.ok()) << rare.status();
  ASSERT_TRUE(frequent.ok()) << frequent.status();
  const auto weights = [](const TrainRequest& request) {
    const std::string stage = JoinPath(request.runtime.out_dir(), kPretrainFolder);
    return ReadSafetensors(JoinPath(CheckpointPath(stage, 6), "weights.safetensors")).value();
  };
  const SafetensorsFile a = weights(once), b = weights(often);
  ASSERT_EQ(a.tensors.size(), b.tensors.size());
  for (size_t i = 0; i < a.tensors.size(); ++i)
    EXPECT_TRUE(a.tensors[i].second.equal(b.tensors[i].second)) << a.tensors[i].first;
  EXPECT_EQ(rare->pretrain().validation().at(kBitsPerToken),
            frequent->pretrain().validation().at(kBitsPerToken));
}

TEST_P(PretrainValidationTest, StandsInCurveRecordAndWatch) {
  const TrainRequest request = Request("shown", {"train.eval_every_steps=2"});
  const auto record = TrainRun(request);
  ASSERT_TRUE(record.ok()) << record.status();
  const std::string stage = JoinPath(request.runtime.out_dir(), kPretrainFolder);
  const auto curve = ReadCurve(stage);
  ASSERT_TRUE(curve.ok()) << curve.status();
  std::vector<int64_t> looked;
  for (const CurvePoint& point : *curve) {
    EXPECT_NEAR(point.train().at(kBitsPerToken), point.train_loss() / std::numbers::ln2, 1e-12);
    if (point.validation().contains(kBitsPerToken)) looked.push_back(point.step());
  }
  EXPECT_EQ(looked, (std::vector<int64_t>{2, 4, 6}));
  EXPECT_EQ(record->pretrain().validation().at(kBitsPerToken),
            curve->back().validation().at(kBitsPerToken));
  for (const char* file : {"/record.textproto", "/curve.jsonl"})
    ASSERT_TRUE(RemoveAll(request.runtime.out_dir() + file).ok());
  const auto part = ReadActivePart(request.runtime.out_dir());
  ASSERT_TRUE(part.ok()) << part.status();
  EXPECT_EQ((*part->metric())->name(), kBitsPerToken);
  const auto state = LoadCheckpointState(CheckpointPath(stage, 6));
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_EQ(state->best_step(), -1) << "the last step is kept, whatever validation says";
}

INSTANTIATE_TEST_SUITE_P(Objectives, PretrainValidationTest, testing::Values("MASKED", "CAUSAL"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace lra
