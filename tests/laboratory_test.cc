// What the re-weighting laboratory looks at in trained models, on random data of their task: how
// local they attend, and what they learned of their own choices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "datasets/dataset.h"
#include "datasets/npy_test_util.h"
#include "eval/learned_numbers.h"
#include "inspect/ablation_locality.h"
#include "inspect/attention_maps.h"
#include "inspect/locality.h"
#include "lra/folder_test_util.h"
#include "run_folder/curve.h"
#include "tests/random_task_request.h"
#include "train/parameter_groups.h"
#include "train/trainer.h"

namespace lra {
namespace {

using testing::HasSubstr;

class LocalityTest : public testing::Test {
 protected:
  // A request about a run of one step.
  LocalityRequest Trained(const std::string& attention, const std::vector<std::string>& sets = {},
                          const std::string& task = "listops") {
    WriteRandomTask(task, folder_.File("data"));
    std::vector<std::string> all = {"train.steps=1", "train.eval_every_steps=1"};
    all.insert(all.end(), sets.begin(), sets.end());
    EXPECT_TRUE(TrainRun(RandomTaskRequest(task, "fair", all, folder_, "run", attention)).ok());
    LocalityRequest request;
    request.checkpoint = folder_.File("run");
    request.examples = kExamples;
    request.windows = {0, 3};
    request.quiet = true;
    return request;
  }

  // Adds the distance and the weight within 3 tokens of one head on one example, from its map: rows
  // that sum to 1, in float32.
  void AddFromMap(const LocalityRequest& request, int64_t example, double* distance,
                  double* within) {
    AttendRequest attend;
    static_cast<LookRequest&>(attend) = request;
    attend.example = example;
    attend.layer = 0;
    attend.head = 1;
    attend.out_dir = folder_.File("maps");
    ASSERT_TRUE(AttendCheckpoint(attend).ok());
    const auto map = ReadNpyFloat(folder_.File("maps/layer0-head1-mean.npy"));
    ASSERT_TRUE(map.ok()) << map.status();
    const int64_t n = map->shape[0];
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        const double weight = map->values[i * n + j] / static_cast<double>(n * kExamples);
        *distance += static_cast<double>(std::abs(i - j)) * weight;
        if (std::abs(i - j) <= 3) *within += weight;
      }
    }
  }

  void ExpectAsInTheMaps(const LocalityRequest& request) {
    const auto measured = MeasureLocality(request);
    ASSERT_TRUE(measured.ok()) << measured.status();
    EXPECT_GT(measured->mean_tokens, 4);
    double distance = 0, within = 0;
    for (int64_t i = 0; i < kExamples; ++i) AddFromMap(request, i, &distance, &within);
    const HeadLocality& head = measured->heads[1];
    EXPECT_EQ(head.layer, 0);
    EXPECT_EQ(head.head, 1);
    EXPECT_NEAR(head.locality.mean_distance_tokens, distance, 1e-4 * distance);
    EXPECT_NEAR(head.locality.mass_within[1], within, 1e-5);
    ASSERT_TRUE(head.locality.effective_rank.has_value());
    EXPECT_GE(*head.locality.effective_rank, 1);
    EXPECT_LE(*head.locality.effective_rank, measured->mean_tokens);
    EXPECT_FALSE(measured->is_absolute);
  }

  static constexpr int64_t kExamples = 6;
  const TestFolder folder_;
};

TEST_F(LocalityTest, OfALinearAttentionIsThatOfItsMap) { ExpectAsInTheMaps(Trained("cosformer")); }

TEST_F(LocalityTest, OfSoftmaxIsThatOfItsMap) { ExpectAsInTheMaps(Trained("transformer")); }

TEST_F(LocalityTest, OfDenseWeightsIsThatOfTheirMap) { ExpectAsInTheMaps(Trained("synthesizer")); }

// A decay of which a neighbour gets 2^-10, twice that in logarithms: nearly all weight stays at the
// token, and nearly no row resembles another.
TEST_F(LocalityTest, AStrongDecayIsLocal) {
  LocalityRequest request = Trained("factorized", {"attention.options.reweighting=DECAY",
                                                   "attention.options.feature_map=ELU_PLUS_ONE",
                                                   "attention.options.half_life_tokens=0.1"});
  const auto measured = MeasureLocality(request);
  ASSERT_TRUE(measured.ok()) << measured.status();
  const Locality& first = measured->heads[0].locality;
  EXPECT_LT(first.mean_distance_tokens, 0.01);
  EXPECT_GT(first.mass_within[0], 0.99);
  EXPECT_GT(*first.effective_rank, 0.95 * measured->mean_tokens);
  EXPECT_GT(measured->uniform.mean_distance_tokens, 100 * first.mean_distance_tokens);
  EXPECT_EQ(*measured->uniform.effective_rank, 1);
}

// Query i of a causal model sees i + 1 tokens: with equal weights i / 2 away, which is (N - 1) / 4
// on average.
TEST_F(LocalityTest, ACausalModelIsHeldAgainstEqualWeightsOnThePast) {
  const auto measured = MeasureLocality(Trained("linear", {"attention.causal=true"}));
  ASSERT_TRUE(measured.ok()) << measured.status();
  EXPECT_NEAR(measured->uniform.mean_distance_tokens, (measured->mean_tokens - 1) / 4, 1e-12);
  EXPECT_FALSE(measured->uniform.effective_rank.has_value());
  EXPECT_LT(measured->mean.mean_distance_tokens, 2 * measured->uniform.mean_distance_tokens);
  EXPECT_GT(*measured->mean.effective_rank, 1);  // though it is no product of few features
}

// Tokens that see themselves alone are causal by that, and not held against the past alone.
TEST_F(LocalityTest, NoMixingIsHeldAgainstEqualWeightsOnAll) {
  const auto measured = MeasureLocality(Trained("no_mixing"));
  ASSERT_TRUE(measured.ok()) << measured.status();
  EXPECT_EQ(measured->mean.mean_distance_tokens, 0);
  // (N - 1/N) / 3 of N tokens that see each other, where the past alone is (N - 1) / 4 away.
  const double tokens = measured->mean_tokens;
  EXPECT_NEAR(measured->uniform.mean_distance_tokens, (tokens - 1 / tokens) / 3, 0.02 * tokens);
}

TEST_F(LocalityTest, WeightsOfBothSignsAreMarked) {
  const auto measured = MeasureLocality(Trained("identity"));
  ASSERT_TRUE(measured.ok()) << measured.status();
  EXPECT_TRUE(measured->is_absolute);
  for (const double mass : measured->mean.mass_within) {
    EXPECT_GT(mass, 0);
    EXPECT_LE(mass, 1);
  }
}

// Two cells: the runs of the first trained, of which one has no checkpoint any more; the second
// cell's run did not train, so it is not looked at.
TEST_F(LocalityTest, OfAnAblationIsTheMeanOfTheRunsThatTrained) {
  const LocalityRequest request = Trained("linear");
  const auto alone = MeasureLocality(request);
  ASSERT_TRUE(alone.ok()) << alone.status();
  AblationReport report;
  AblationTask& task = report.designs.emplace_back().ablation.tasks.emplace_back();
  task.runs = {{ExampleValues(3), ExampleValues(3)}, {ExampleValues()}};
  task.folders = {{{request.checkpoint, {}}, {folder_.File("gone"), {}}},
                  {{request.checkpoint, {}}}};
  ASSERT_TRUE(AddLocality(request, &report).ok());
  ASSERT_TRUE(task.locality.has_value());
  EXPECT_EQ(task.locality->windows, request.windows);
  EXPECT_EQ(task.locality->split, "validation");
  ASSERT_EQ(task.locality->cells.size(), 2u);
  const CellLocality& first = task.locality->cells[0];
  EXPECT_EQ(first.seeds, 1);
  ASSERT_TRUE(first.mean.has_value());
  EXPECT_EQ(first.mean->mean_distance_tokens, alone->mean.mean_distance_tokens);
  EXPECT_THAT(first.reason, HasSubstr("gone: no such checkpoint"));
  EXPECT_EQ(task.locality->cells[1].seeds, 0);
  EXPECT_FALSE(task.locality->cells[1].mean.has_value());
}

TEST_F(LocalityTest, RefusesWhatHasNoWeights) {
  EXPECT_THAT(std::string(MeasureLocality(Trained("fnet")).status().message()),
              HasSubstr("no attention weights"));
}

TEST_F(LocalityTest, RefusesExamplesThatAreAllTooLong) {
  LocalityRequest request = Trained("linear");
  request.max_tokens = 1;
  EXPECT_THAT(std::string(MeasureLocality(request).status().message()),
              HasSubstr("--max-tokens: is 1, but the shortest example"));
}

class LearnedNumbersTest : public testing::Test {
 protected:
  // The curve of a run of four steps.
  Curve Trained(const std::vector<std::string>& sets) {
    WriteRandomTask("listops", folder_.File("data"));
    std::vector<std::string> all = {"train.steps=4", "train.eval_every_steps=2",
                                    "schedule.learning_rate=0.1"};
    all.insert(all.end(), sets.begin(), sets.end());
    const auto record =
        TrainRun(RandomTaskRequest("listops", "fair", all, folder_, "run", "factorized"));
    EXPECT_TRUE(record.ok()) << record.status();
    return record.ok() ? record->curve() : Curve();
  }

  const TestFolder folder_;
};

// M starts 1 + exp(-2) times the longest sequence, and moves with training.
TEST_F(LearnedNumbersTest, OfALearnedScaleStandInTheCurve) {
  const Curve curve = Trained({"attention.options.scale=LEARNED", "train.log_every_steps=1"});
  const auto learned = LearnedCurves(curve);
  ASSERT_EQ(learned.size(), 1u);
  EXPECT_EQ(learned[0].name, "scale_tokens");
  ASSERT_EQ(learned[0].points.size(), 2u);  // where validation was looked at
  EXPECT_EQ(learned[0].points[0].step, 2);
  EXPECT_NE(learned[0].points[0].mean, learned[0].points[1].mean);
  EXPECT_GT(curve[1].learned().count("layer0.head1.scale_tokens"), 0u);
  const auto read = ReadCurve(folder_.File("run"));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->at(1).learned().at("layer0.head1.scale_tokens"),
            curve[1].learned().at("layer0.head1.scale_tokens"));
}

TEST_F(LearnedNumbersTest, OfALearnedDecayAreHalfLives) {
  const auto learned = LearnedCurves(Trained(
      {"attention.options.reweighting=LEARNED_DECAY", "attention.options.half_life_tokens=4"}));
  ASSERT_EQ(learned.size(), 1u);
  EXPECT_EQ(learned[0].name, "half_life_tokens");
  // They start at 4 and 8; four steps of Adam at a rate of at most 0.1 change a logarithm by 0.4.
  EXPECT_NEAR(learned[0].points.back().low, 4, 2);
  EXPECT_NE(learned[0].points.back().low, 4);
}

TEST_F(LearnedNumbersTest, ThereAreNoneWhereNothingIsLearned) {
  EXPECT_TRUE(LearnedCurves(Trained({})).empty());
}

// Weight decay would pull M and half-lives to where they started, whatever the data say.
TEST_F(LearnedNumbersTest, DoNotDecayUnderTheFairProtocol) {
  WriteRandomTask("listops", folder_.File("data"));
  int found = 0;
  for (const auto& [option, value] : {std::pair("scale", "LEARNED"),
                                      {"reweighting", "LEARNED_DECAY"},
                                      {"normalizer", "LENGTH_POWER"}}) {
    const TrainRequest request = RandomTaskRequest(
        "listops", "fair", {absl::StrCat("attention.options.", option, "=", value)}, folder_, "run",
        "factorized");
    const auto data = Dataset::Open(folder_.File("data"), {.splits = {"train"}});
    ASSERT_TRUE(data.ok()) << data.status();
    const auto groups = ListParameterGroups(request.resolved.config, data->spec());
    ASSERT_TRUE(groups.ok()) << groups.status();
    for (const ParameterGroup& group : *groups) {
      const bool is_learned_choice = absl::EndsWith(group.name, "attention.scale") ||
                                     absl::EndsWith(group.name, "attention.half_life") ||
                                     absl::EndsWith(group.name, "attention.length_exponent");
      const bool is_matrix = absl::EndsWith(group.name, "query.weight");
      found += is_learned_choice ? 1 : 0;
      if (is_learned_choice || is_matrix) {
        EXPECT_EQ(group.weight_decay > 0, is_matrix) << group.name;
      }
    }
  }
  EXPECT_EQ(found, 3);
}

}  // namespace
}  // namespace lra
