// Labels begin once pretraining beat the entropy that it was to beat, and pretraining can be gone
// on with; its batches and its warm-up are its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numbers>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "datasets/loader.h"
#include "datasets/token_entropy.h"
#include "eval/metric.h"
#include "eval/run_record.h"
#include "lra/files.h"
#include "run_folder/checkpoint.h"
#include "run_folder/curve.h"
#include "run_folder/run_folder.h"
#include "tests/objective_gradients.h"
#include "tests/training_fixture.h"
#include "train/label_objective.h"
#include "train/micro_batch.h"
#include "train/token_objective.h"
#include "train/trainer.h"

namespace lra {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class PretrainGoalTest : public TrainerTest {
 protected:
  // Batches of eight; without a goal given, the default one.
  static TrainRequest Pretrained(const std::string& name, const std::string& examples,
                                 const std::vector<std::string>& sets) {
    std::vector<std::string> all = {"pretrain.objective=CAUSAL", "pretrain.learning_rate=5e-3",
                                    "train.steps=4", "pretrain.examples=" + examples};
    all.insert(all.end(), sets.begin(), sets.end());
    return Request(name, "linear", all);
  }
};

std::string StageOf(const TrainRequest& request) {
  return JoinPath(request.runtime.out_dir(), kPretrainFolder);
}

TrainRequest Resumed(TrainRequest request, const TrainRequest& where) {
  request.runtime.set_out_dir(where.runtime.out_dir());
  request.resume = true;
  return request;
}

TEST_F(PretrainGoalTest, LabelsDoNotBeginAboveTheUnigram) {
  const TrainRequest request = Pretrained("above", "16", {});
  const absl::Status status = TrainRun(request).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  const CheckpointState state = *LoadCheckpointState(*LatestCheckpoint(StageOf(request)));
  const double loss = state.curve(state.curve_size() - 1).validation_loss();
  const double unigram = state.pretrain().unigram_nats();
  EXPECT_GT(loss, unigram);
  EXPECT_THAT(
      std::string(status.message()),
      AllOf(HasSubstr("pretrain.until=UNIGRAM"),
            HasSubstr(absl::StrFormat("validation %.3f bits (%.3f nats) a token",
                                      loss / std::numbers::ln2, loss)),
            HasSubstr(absl::StrFormat("unigram %.3f bits (%.3f nats) a token",
                                      unigram / std::numbers::ln2, unigram)),
            HasSubstr("--resume --out " + request.runtime.out_dir()),
            HasSubstr("--set pretrain.examples=32 --set pretrain.continued_from_examples=16"),
            HasSubstr("--set pretrain.until=NOTHING")));
  EXPECT_EQ(LatestCheckpoint(request.runtime.out_dir()).status().code(),
            absl::StatusCode::kNotFound)
      << "no step with labels";
  // What `lra watch` shows of it.
  const auto part = ReadActivePart(request.runtime.out_dir());
  ASSERT_TRUE(part.ok()) << part.status();
  EXPECT_EQ(part->record.pretrain().unigram_nats(), unigram);
  EXPECT_EQ(part->total_steps(), 2);
}

TEST_F(PretrainGoalTest, LabelsBeginWithoutAGoalAsIfThereHadBeenNone) {
  const TrainRequest stopped = Pretrained("stopped", "16", {});
  ASSERT_FALSE(TrainRun(stopped).ok());
  const TrainRequest free = Pretrained("free", "16", {"pretrain.until=NOTHING"});
  const auto expected = TrainRun(free), actual = TrainRun(Resumed(free, stopped));
  ASSERT_TRUE(expected.ok()) << expected.status();
  ASSERT_TRUE(actual.ok()) << actual.status();
  EXPECT_TRUE(EqualExceptVolatile(*expected, *actual));
  EXPECT_EQ(expected->weights_sha256(), actual->weights_sha256());
}

TEST_F(PretrainGoalTest, ALargerBudgetGoesOnAsIfItHadBeenPlanned) {
  const TrainRequest small = Pretrained("small", "16", {});
  ASSERT_FALSE(TrainRun(small).ok());
  const TrainRequest planned = Pretrained(
      "planned", "48", {"pretrain.until=NOTHING", "pretrain.continued_from_examples=16"});
  const auto expected = TrainRun(planned), actual = TrainRun(Resumed(planned, small));
  ASSERT_TRUE(expected.ok()) << expected.status();
  ASSERT_TRUE(actual.ok()) << actual.status();
  EXPECT_EQ(actual->pretrain().steps(), 6);
  EXPECT_TRUE(EqualExceptVolatile(*expected, *actual));
  EXPECT_EQ(expected->weights_sha256(), actual->weights_sha256());
  // Not what one budget of 48 gives, whose schedule is another.
  const auto at_once = TrainRun(Pretrained("at-once", "48", {"pretrain.until=NOTHING"}));
  ASSERT_TRUE(at_once.ok()) << at_once.status();
  EXPECT_NE(at_once->weights_sha256(), actual->weights_sha256());
  EXPECT_NE(at_once->cell_fingerprint(), actual->cell_fingerprint());
}

TEST_F(PretrainGoalTest, ALargerBudgetIsNamedAsOne) {
  const TrainRequest small = Pretrained("unnamed", "16", {});
  ASSERT_FALSE(TrainRun(small).ok());
  const absl::Status status = TrainRun(Resumed(Pretrained("", "48", {}), small)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("pretrain.examples is 48, the checkpoint has 16"));
}

// On more examples than the others have: those would be learned by heart first.
TEST_F(PretrainGoalTest, BelowTheUnigramLabelsBegin) {
  const std::string more = *folder_ + "/more";
  ASSERT_TRUE(PrepareListOps(more, 800).ok());
  TrainRequest request = Pretrained("below", "1600", {});
  request.runtime.set_data_dir(more);
  const auto record = TrainRun(request);
  ASSERT_TRUE(record.ok()) << record.status();
  const auto run = OpenRun(Resumed(request, request));
  ASSERT_TRUE(run.ok()) << run.status();
  const TokenEntropy entropy = MeasureTokenEntropy((*run)->train, 1);
  const PretrainResult& result = record->pretrain();
  EXPECT_EQ(result.unigram_nats(), entropy.unigram_nats);
  EXPECT_EQ(result.bigram_nats(), entropy.bigram_nats);
  EXPECT_EQ(result.entropy_examples(), 800);
  EXPECT_EQ(result.examples(), 1600);
  EXPECT_LT(result.validation_nats(), result.unigram_nats());
  EXPECT_NEAR(result.validation_nats(), result.validation().at(kBitsPerToken) * std::numbers::ln2,
              1e-12);
  EXPECT_LT(result.bigram_nats(), result.unigram_nats());
  EXPECT_EQ(record->curve_size(), 1) << "four steps with labels";
}

int64_t TokensOf(const SplitView& split, const std::vector<int64_t>& examples) {
  return CountTokens(MakeBatch(split, examples));
}

TEST_F(PretrainGoalTest, ItsBatchesAreNotThoseOfTheLabels) {
  const TrainRequest request =
      Pretrained("order", "48", {"pretrain.until=NOTHING", "train.log_every_steps=1"});
  const auto record = TrainRun(request);
  ASSERT_TRUE(record.ok()) << record.status();
  const auto run = OpenRun(Resumed(request, request));
  ASSERT_TRUE(run.ok()) << run.status();
  const TrainConfig& train = (*run)->config().train();
  const auto labels = PlanEpoch((*run)->train, MakeLoaderOptions(train, 0), 0);
  const auto own =
      PlanEpoch((*run)->train, MakeLoaderOptions(train, 0, RandomDomain::kPretrainOrder), 0);
  ASSERT_NE(own, labels);
  const std::vector<CurvePoint> curve = *ReadCurve(StageOf(request));
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(curve[i].tokens(), TokensOf((*run)->train, own[i])) << "batch " << i;
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(record->curve(i).tokens(), TokensOf((*run)->train, labels[i])) << "batch " << i;
}

TEST_F(PretrainGoalTest, AWarmupInStepsIsNotItsOwn) {
  const TrainRequest request = Pretrained(
      "warmup", "64",
      {"pretrain.until=NOTHING", "pretrain.warmup_fraction=0.5", "schedule.kind=CONSTANT",
       "schedule.warmup_steps=100", "schedule.learning_rate=1", "train.log_every_steps=1"});
  const auto record = TrainRun(request);
  ASSERT_TRUE(record.ok()) << record.status();
  const std::vector<CurvePoint> curve = *ReadCurve(StageOf(request));
  ASSERT_EQ(curve.size(), 8u);
  for (int i = 0; i < 8; ++i)
    EXPECT_NEAR(curve[i].learning_rate(), 5e-3 * std::min(1.0, i / 4.0), 1e-9) << i;
  EXPECT_NEAR(record->curve(3).learning_rate(), 0.03, 1e-9);
}

at::Tensor GradientOf(const Objective& objective, const lra::Run& run, int64_t examples) {
  BatchResult result;
  return Gradients(objective, FirstExamples(run.train, examples), 0, &result);
}

// Half a batch weighs half, in both stages.
TEST_F(PretrainGoalTest, ASmallBatchMayWeighWhatItsExamplesDo) {
  const auto full = OpenRun(Pretrained("full", "48", {"model.dropout=0"}));
  const auto by_examples =
      OpenRun(Pretrained("by-examples", "48", {"model.dropout=0", "train.last_batch=BY_EXAMPLES"}));
  ASSERT_TRUE(full.ok() && by_examples.ok());
  for (const int64_t examples : {8, 4}) {
    const at::Tensor labels = GradientOf(LabelObjective(**full), **full, examples);
    const at::Tensor tokens = GradientOf(*TokenObjective::Create(**full).value(), **full, examples);
    const double weight = static_cast<double>(examples) / 8;
    EXPECT_LT(
        at::linalg_vector_norm(GradientOf(LabelObjective(**by_examples), **by_examples, examples) -
                               labels * weight)
            .item<double>(),
        1e-6);
    EXPECT_LT(at::linalg_vector_norm(GradientOf(*TokenObjective::Create(**by_examples).value(),
                                                **by_examples, examples) -
                                     tokens * weight)
                  .item<double>(),
              1e-6);
  }
}

// 48 examples in batches of 32: one of the two is half a batch, at either place. Adam's steps do
// not depend on the scale of gradients, so the second one starts from the same weights.
TEST_F(PretrainGoalTest, TheSmallerBatchOfAnEpochWeighsWhatItsExamplesDo) {
  const auto train = [](const char* last_batch, bool pretrains) {
    const std::string name = absl::StrCat("last-", last_batch, pretrains ? "-tokens" : "-labels");
    std::vector<std::string> sets = {"model.dropout=0", "train.steps=2", "train.log_every_steps=1",
                                     "train.batch_examples=32",
                                     absl::StrCat("train.last_batch=", last_batch)};
    if (pretrains) sets.emplace_back("pretrain.until=NOTHING");
    return pretrains ? Pretrained(name, "48", sets) : Request(name, "linear", sets);
  };
  const auto norms = [](const TrainRequest& request, bool pretrains) {
    const auto record = TrainRun(request);
    EXPECT_TRUE(record.ok()) << record.status();
    std::vector<CurvePoint> curve(record->curve().begin(), record->curve().end());
    if (pretrains) curve = *ReadCurve(StageOf(request));
    std::vector<double> norms;
    for (const CurvePoint& point : curve) norms.push_back(point.gradient_norm());
    return norms;
  };
  for (const bool pretrains : {false, true}) {
    SCOPED_TRACE(pretrains ? "pretraining" : "labels");
    const TrainRequest request = train("BY_EXAMPLES", pretrains);
    const std::vector<double> by_examples = norms(request, pretrains);
    const std::vector<double> full = norms(train("FULL_STEP", pretrains), pretrains);
    const auto run = OpenRun(Resumed(request, request));
    ASSERT_TRUE(run.ok()) << run.status();
    const auto batches = PlanEpoch(
        (*run)->train,
        MakeLoaderOptions((*run)->config().train(), 0,
                          pretrains ? RandomDomain::kPretrainOrder : RandomDomain::kExampleOrder),
        0);
    ASSERT_EQ(batches.size(), 2u);
    ASSERT_EQ(batches[0].size() + batches[1].size(), 48u);
    for (int i = 0; i < 2; ++i)
      EXPECT_NEAR(by_examples[i] / full[i], static_cast<double>(batches[i].size()) / 32, 1e-4) << i;
  }
}

}  // namespace
}  // namespace lra
