#include "eval/ablation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "eval/ablation_text.h"
#include "eval/compare_methods.h"
#include "eval/crossed_test_util.h"
#include "eval/power.h"
#include "eval/scored_runs_test_util.h"
#include "eval/trained_runs.h"

namespace lra {
namespace {

using ::lra::testing::FirstRight;
using ::lra::testing::RunsOf;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

// Data set P as two factors of two levels: A and C have the cosine, B and D have none; A and B no
// positions, C and D some.
Ablation DataSetP(const std::string& task = "listops") {
  Ablation ablation;
  ablation.split = "test";
  ablation.factors = {{"positions", {"none", "absolute"}}, {"reweighting", {"none", "cosine"}}};
  ablation.tasks.push_back({task,
                            *FindMetric(kAccuracy),
                            {0, 1, 2},
                            {RunsOf('B'), RunsOf('A'), RunsOf('D'), RunsOf('C')}});
  return ablation;
}

const AblationEffect& EffectOf(const AblationResult& result, const std::string& text,
                               const std::string& where = "listops") {
  for (const AblationEffect& effect : result.effects) {
    if (EffectText(result.ablation.factors, effect.plan) == text && WhereText(effect) == where)
      return effect;
  }
  ADD_FAILURE() << "no effect " << text << " on " << where;
  return result.effects.front();
}

TEST(Ablation, GoldenMainEffectAndInteraction) {
  const AblationResult result = AnalyseAblation(DataSetP(), 0.95);
  const AblationEffect& cosine = EffectOf(result, "reweighting: cosine - none");
  EXPECT_NEAR(cosine.estimate->mean, 0.02375, 1e-12);
  EXPECT_NEAR(cosine.interval.high - cosine.estimate->mean, 0.021901928, 5e-10);
  EXPECT_NEAR(cosine.p, 0.04202962, 5e-9);
  EXPECT_EQ(cosine.plan.matches, 2);
  EXPECT_THAT(cosine.seeds, ElementsAre(0, 1, 2));
  // Alone in its family: the other factor's main effects are another.
  EXPECT_EQ(cosine.family_tests, 1);
  EXPECT_NEAR(*cosine.corrected_p, 0.04202962, 5e-9);
  EXPECT_TRUE(cosine.is_told_apart);
  const AblationEffect& both =
      EffectOf(result, "(positions: absolute - none) x (reweighting: cosine - none)");
  // (A - B) - (C - D), seen from the reference, positions none.
  EXPECT_NEAR(both.estimate->mean, 0.010833333, 5e-10);
  EXPECT_NEAR(both.interval.high - both.estimate->mean, 0.015629024, 5e-10);
  EXPECT_NEAR(both.p, 0.096437539, 5e-10);
  EXPECT_FALSE(both.is_told_apart);
}

TEST(Ablation, SimpleEffectsArePairedDifferencesAndClaimNothing) {
  const AblationResult result = AnalyseAblation(DataSetP(), 0.95);
  const AblationEffect& simple = EffectOf(result, "reweighting: cosine - none, at positions none");
  EXPECT_NEAR(simple.estimate->mean, 0.018333333, 5e-10);  // A - B, paired
  EXPECT_NEAR(simple.p, 0.031606279, 5e-10);
  EXPECT_FALSE(simple.corrected_p.has_value());
  EXPECT_FALSE(simple.is_told_apart);
}

TEST(Ablation, TasksAreAveragedComparedAndCorrectedTogether) {
  Ablation ablation = DataSetP();
  ablation.tasks.push_back(DataSetP("text").tasks[0]);
  std::swap(ablation.tasks[1].runs[0], ablation.tasks[1].runs[1]);  // the effect turned round
  std::swap(ablation.tasks[1].runs[2], ablation.tasks[1].runs[3]);
  const AblationResult result = AnalyseAblation(std::move(ablation), 0.95);
  const std::string cosine = "reweighting: cosine - none";
  const AblationEffect& first = EffectOf(result, cosine, "listops");
  EXPECT_EQ(first.family_tests, 2);
  EXPECT_NEAR(*first.corrected_p, 2 * 0.04202962, 1e-8);
  // What would have been seen would have been so under the correction.
  EXPECT_EQ(first.smallest_difference, SmallestDifferenceOf(*first.estimate, kShownPower, 0.975));
  EXPECT_NEAR(EffectOf(result, cosine, "text").estimate->mean, -0.02375, 1e-12);
  const AblationEffect& average = EffectOf(result, cosine, "the average of the tasks");
  EXPECT_NEAR(average.estimate->mean, 0, 1e-12);
  EXPECT_EQ(average.family_tests, 1);
  const AblationEffect& between = EffectOf(result, cosine, "text less listops");
  EXPECT_NEAR(between.estimate->mean, -0.0475, 1e-12);
  EXPECT_NEAR(between.estimate->seed_variance, 2 * first.estimate->seed_variance, 1e-15);
  // Two interactions on the tasks, and two main effects of the tasks' difference.
  EXPECT_EQ(between.family_tests, 4);
}

// The two tasks' own units are bits/dim and bits/byte.
TEST(Ablation, EffectsInUnlikeUnitsHaveNoAverageAndNoDifference) {
  TaskSpec pixels, bytes;
  pixels.set_content(TaskSpec::GREY_IMAGE);
  bytes.set_content(TaskSpec::TEXT);
  bytes.set_vocabulary_size(257);
  Ablation ablation = DataSetP("digits");
  ablation.tasks.push_back(DataSetP("reviews").tasks[0]);
  ablation.tasks[0].metric = *MetricOf(pixels, kBitsPerToken);
  ablation.tasks[1].metric = *MetricOf(bytes, kBitsPerToken);
  const AblationResult result = AnalyseAblation(std::move(ablation), 0.95);
  const auto unit = [&](const std::string& where) {
    return EffectOf(result, "reweighting: cosine - none", where).metric->traits().unit;
  };
  EXPECT_EQ(unit("digits"), "bits/dim");
  EXPECT_EQ(unit("reviews"), "bits/byte");
  for (const AblationEffect& effect : result.effects)
    EXPECT_TRUE(!effect.is_average() && effect.less_task.empty()) << WhereText(effect);
}

TEST(Ablation, CellsThatAnswerAlikeDoNotDiffer) {
  Ablation ablation = DataSetP();
  ablation.tasks[0].runs[1] = ablation.tasks[0].runs[0];
  ablation.tasks[0].runs[3] = ablation.tasks[0].runs[2];
  const AblationResult result = AnalyseAblation(std::move(ablation), 0.95);
  const AblationEffect& effect = EffectOf(result, "reweighting: cosine - none");
  EXPECT_EQ(effect.estimate->mean, 0);
  EXPECT_EQ(effect.p, 1);
  EXPECT_FALSE(effect.is_told_apart);
  EXPECT_EQ(
      EffectSentence(result, effect),
      "The effect of reweighting cosine instead of none on listops was not told apart from "
      "0: +0.00 points [-0.18, +0.18] (p = 1). Both gave the same score on every example with "
      "every seed, as where a setting does not reach the model.");
}

// Nine examples of 2,000, with every seed; on two tasks they are eighteen.
TEST(Ablation, FewerThanTenDifferingExamplesAreNotToldApart) {
  const std::vector<ExampleValues> less(3, FirstRight(1001)), more(3, FirstRight(1010));
  Ablation ablation = DataSetP();
  ablation.tasks.push_back(DataSetP("text").tasks[0]);
  for (AblationTask& task : ablation.tasks) task.runs = {less, more, less, more};
  const AblationResult result = AnalyseAblation(std::move(ablation), 0.95);
  const std::string cosine = "reweighting: cosine - none";
  EXPECT_LT(*EffectOf(result, cosine).corrected_p, 0.05);
  EXPECT_FALSE(EffectOf(result, cosine).is_told_apart);
  EXPECT_TRUE(EffectOf(result, cosine, "the average of the tasks").is_told_apart);
}

TEST(Ablation, ASeedThatDidNotTrainIsDroppedWhereItIsNeeded) {
  Ablation ablation = DataSetP();
  AblationTask& task = ablation.tasks[0];
  task.seeds.push_back(9);
  for (auto& cell : task.runs) cell.push_back(FirstRight(700));
  task.runs[3][3].clear();
  const AblationResult result = AnalyseAblation(std::move(ablation), 0.95);
  EXPECT_NEAR(EffectOf(result, "reweighting: cosine - none").p, 0.04202962, 5e-9);
  EXPECT_THAT(EffectOf(result, "reweighting: cosine - none").dropped_seeds, ElementsAre(9));
  EXPECT_THAT(EffectOf(result, "reweighting: cosine - none, at positions none").dropped_seeds,
              IsEmpty());
  EXPECT_THAT(absl::StrJoin(AblationWords(result), " "),
              HasSubstr("Some runs did not train (listops seed 9)"));
}

TEST(Ablation, NeighboursThatDependOnEachOtherCountInBlocks) {
  Ablation ablation = DataSetP();
  ablation.tasks[0].block_examples = 5;
  const AblationResult plain = AnalyseAblation(DataSetP(), 0.95);
  const AblationResult result = AnalyseAblation(std::move(ablation), 0.95);
  const AblationEffect& effect = EffectOf(result, "reweighting: cosine - none");
  EXPECT_NEAR(effect.estimate->mean, 0.02375, 1e-12);
  EXPECT_EQ(effect.estimate->example_degrees, 399);
  EXPECT_GT(effect.p, 0.04202962);
  const CellScore cell = ScoreOf(result.ablation.tasks[0], 0, 0.95);
  const CellScore plain_cell = ScoreOf(plain.ablation.tasks[0], 0, 0.95);
  EXPECT_LT(cell.interval->low, plain_cell.interval->low);
  EXPECT_GT(cell.interval->high, plain_cell.interval->high);
  const AblationReport report{.suite = "suite", .description = "", .designs = {result}};
  EXPECT_THAT(WriteAblation(report),
              HasSubstr("listops, 2,000 test examples, which depend on their neighbours, in 400 "
                        "blocks of 5 examples, seeds 0, 1, 2."));
  EXPECT_EQ(nlohmann::json::parse(WriteAblationJson(report))["designs"][0]["tasks"][0]["blocks"],
            400);
}

TEST(Ablation, WithoutEnoughSeedsNothingIsSaid) {
  Ablation ablation = DataSetP();
  ablation.tasks[0].runs[3][1].clear();
  const AblationResult result = AnalyseAblation(std::move(ablation), 0.95);
  const AblationEffect& effect = EffectOf(result, "reweighting: cosine - none");
  EXPECT_FALSE(effect.estimate.has_value());
  EXPECT_FALSE(effect.is_told_apart);
  EXPECT_EQ(EffectSentence(result, effect),
            "The effect of reweighting cosine instead of none on listops is not known: seeds 0, 2 "
            "trained in every cell of it, and at least 3 must.");
  // The pair that is whole is known.
  EXPECT_TRUE(EffectOf(result, "reweighting: cosine - none, at positions none").estimate);
}

TEST(AblationText, WordsAreNoStrongerThanTheNumbers) {
  const AblationResult result = AnalyseAblation(DataSetP(), 0.95);
  EXPECT_EQ(EffectSentence(result, EffectOf(result, "reweighting: cosine - none")),
            "The effect of reweighting cosine instead of none on listops is +2.4 points [+0.2, "
            "+4.6] (p = 0.042).");
  const std::string positions =
      EffectSentence(result, EffectOf(result, "positions: absolute - none"));
  EXPECT_THAT(positions,
              AllOf(HasSubstr("was not told apart from 0: "), HasSubstr("would have been seen")));
  const std::string words = absl::StrJoin(AblationWords(result), " ");
  EXPECT_THAT(words,
              AllOf(HasSubstr("The one interaction was not told apart from 0, which does not show "
                              "that there is none."),
                    HasSubstr("These are 3 seeds; 5 or more are advised."),
                    Not(HasSubstr("did not train"))));
}

// A mean over cells that differ is told as such, with the cells' own effects.
TEST(AblationText, AMeanThatDependsIsTakenBack) {
  Ablation ablation = DataSetP();
  ablation.tasks[0].runs = {{FirstRight(1000), FirstRight(1010), FirstRight(1005)},
                            {FirstRight(1800), FirstRight(1805), FirstRight(1790)},
                            {FirstRight(1700), FirstRight(1715), FirstRight(1710)},
                            {FirstRight(1800), FirstRight(1795), FirstRight(1810)}};
  const AblationResult result = AnalyseAblation(std::move(ablation), 0.95);
  EXPECT_TRUE(EffectOf(result, "(positions: absolute - none) x (reweighting: cosine - none)")
                  .is_told_apart);
  const std::string words = absl::StrJoin(AblationWords(result), " ");
  EXPECT_THAT(words, HasSubstr("so the mean stands for none of them; one by one, without a claim: "
                               "at positions none +3"));
  EXPECT_THAT(words, HasSubstr("The effect of positions absolute instead of none on listops with "
                               "reweighting cosine less that with none is -"));
}

TEST(AblationText, GoldenMarkdown) {
  const AblationReport report = {"mine", "What helps", {AnalyseAblation(DataSetP(), 0.95)}};
  const std::string text = WriteAblation(report);
  EXPECT_THAT(text,
              StartsWith("# Ablation: mine\n\nWhat helps.\n\nFactors, each with its reference "
                         "first: positions (none, absolute); reweighting (none, cosine). "
                         "Scored: listops, 2,000 test examples, seeds 0, 1, 2.\n"));
  EXPECT_THAT(text, HasSubstr("| none      | cosine      | 38.5 [36.2, 40.8] |"));
  EXPECT_THAT(text,
              HasSubstr("| reweighting: cosine - none | listops | +2.4 points [+0.2, +4.6] "));
  EXPECT_THAT(text, HasSubstr("Simple effects (exploratory)"));
}

TEST(AblationText, NotesStandBehindAllDesigns) {
  AblationReport report = {"mine", "", {AnalyseAblation(DataSetP(), 0.95)}};
  EXPECT_THAT(WriteAblation(report), Not(HasSubstr("How it was obtained")));
  EXPECT_FALSE(nlohmann::json::parse(WriteAblationJson(report)).contains("notes"));
  report.notes = {"listops: protocol fair@1.", "Made by lra 0.1.0."};
  EXPECT_THAT(WriteAblation(report),
              EndsWith("claim nothing.\n\n## How it was obtained\n\n- listops: protocol fair@1.\n"
                       "- Made by lra 0.1.0.\n"));
  EXPECT_EQ(nlohmann::json::parse(WriteAblationJson(report))["notes"][1], "Made by lra 0.1.0.");
}

TEST(AblationText, CsvAndJsonHoldTheNumbers) {
  const AblationReport report = {"mine", "", {AnalyseAblation(DataSetP(), 0.95)}};
  const auto json = nlohmann::json::parse(WriteAblationJson(report));
  const auto& effects = json["designs"][0]["effects"];
  const auto cosine = std::find_if(effects.begin(), effects.end(), [](const auto& effect) {
    return effect["effect"] == "reweighting: cosine - none";
  });
  ASSERT_NE(cosine, effects.end());
  EXPECT_NEAR((*cosine)["difference"], 0.02375, 1e-12);
  EXPECT_NEAR((*cosine)["p_corrected"], 0.04202962, 5e-9);
  EXPECT_EQ((*cosine)["changes"][0]["reference"], "none");
  EXPECT_EQ((*cosine)["verdict"], "told apart");
  EXPECT_EQ((*cosine)["unit"], "fraction");
  EXPECT_NEAR(json["designs"][0]["tasks"][0]["cells"][1]["mean"], 0.385, 1e-12);
  EXPECT_NEAR(json["designs"][0]["tasks"][0]["cells"][1]["low"], 0.36215271, 5e-9);
  const std::string csv = WriteAblationCsv(report);
  EXPECT_THAT(csv, StartsWith("table,kind,effect,task,less_task,metric,difference,low,high,p,"));
  EXPECT_THAT(csv, HasSubstr("\nmine,main,reweighting: cosine - none,listops,,accuracy,0.02375,"));
  EXPECT_THAT(csv, HasSubstr(",0 1 2,,told apart,"));
}

AblationReport WithLocality() {
  AblationReport report = {"mine", "", {AnalyseAblation(DataSetP(), 0.95)}};
  TaskLocality& locality = report.designs[0].ablation.tasks[0].locality.emplace();
  locality.windows = {4};
  locality.examples = 16;
  locality.split = "validation";
  locality.cells.resize(4);
  locality.cells[0] = {3, Locality{20.5, {0.25}, 1.5}, false, ""};
  locality.cells[1] = {3, Locality{2.5, {0.75}, std::nullopt}, true, ""};
  locality.cells[1].passed_over = 5;
  locality.cells[3].reason = "runs/b: no such checkpoint or run folder";
  locality.uniform = Locality{21, {0.2}, 1.0};
  return report;
}

TEST(AblationText, LocalityStandsWithTheCells) {
  const std::string text = WriteAblation(WithLocality());
  EXPECT_THAT(text, HasSubstr("Locality on listops: the first 16 examples of validation, means "
                              "over seeds\n\n"));
  EXPECT_THAT(text, HasSubstr("| positions     | reweighting | seeds | mean distance | within 4 | "
                              "effective rank |\n"));
  EXPECT_THAT(text, HasSubstr("| none          | none        |     3 |          20.5 |     0.25 | "
                              "           1.5 |\n"));
  EXPECT_THAT(text, HasSubstr("| none          | cosine      |     3 |           2.5 |     0.75 | "
                              "             - |\n"));
  EXPECT_THAT(text, HasSubstr("| absolute      | cosine      |     0 |             - |        - | "
                              "             - |\n"
                              "| equal weights |           - |     - |            21 |      0.2 | "
                              "             1 |\n"));
  EXPECT_THAT(text, HasSubstr("runs/b: no such checkpoint or run folder\n"));
  EXPECT_THAT(text, HasSubstr("5 examples were too long for its weights and others took their "
                              "place, so its numbers are of other examples"));
  EXPECT_THAT(text, HasSubstr("both signs count by their absolute values.\n"));
}

TEST(AblationText, LocalityIsInJson) {
  const auto json = nlohmann::json::parse(WriteAblationJson(WithLocality()));
  const auto& task = json["designs"][0]["tasks"][0];
  EXPECT_EQ(task["locality"]["windows"], std::vector<int>{4});
  EXPECT_EQ(task["locality"]["equal_weights"]["mean_distance_tokens"], 21);
  EXPECT_EQ(task["cells"][0]["locality"]["effective_rank"], 1.5);
  EXPECT_FALSE(task["cells"][1]["locality"].contains("effective_rank"));
  EXPECT_FALSE(task["cells"][3].contains("locality"));
}

class TrainedRunsTest : public ::lra::testing::ScoredRuns {};

TEST_F(TrainedRunsTest, ARunTrainedIfItIsAboveTheMajorityClass) {
  Add({.method = "good", .seed = 0}, FirstRight(1200));
  Add({.method = "poor", .seed = 0}, FirstRight(1001));
  AddBaseline("majority", FirstRight(1000));
  AddDiverged("good", 1);
  auto found = FindTrainedRuns(found_, "test", "");
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_EQ(found->by_directory.size(), 3u);  // baselines are no runs
  EXPECT_TRUE(found->by_directory.at(found_.runs[0].directory).has_trained);
  EXPECT_FALSE(found->by_directory.at(found_.runs[1].directory).has_trained);
  EXPECT_EQ(found->by_directory.at(found_.runs[0].directory).unjudged, "");
  EXPECT_TRUE(found->by_directory.at(found_.runs[3].directory).has_diverged);
  EXPECT_FALSE(found->by_directory.at(found_.runs[3].directory).has_trained);
  EXPECT_EQ(FindTrainedRuns(found_, "test", "accuracies").status().code(),
            absl::StatusCode::kInvalidArgument);
}

// Two tables, of 150 steps and of 300: what both say is said once, the rest by each.
TEST_F(TrainedRunsTest, NotesOfSeveralTablesAreMerged) {
  Add({.method = "linear"}, FirstRight(1200));
  Add({.method = "relu"}, FirstRight(1200), [](RunRecord* record) {
    record->mutable_config()->mutable_train()->set_steps(300);
    record->set_parameters(99);
  });
  std::vector<std::string> notes;
  const auto found = FindTrainedRuns(found_, "test", "", &notes);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_THAT(notes, ElementsAre(StartsWith("listops: generated data, canonical, version 1; "),
                                 StartsWith("listops: no majority class is on record"),
                                 "Made by lra 0.1.0.", HasSubstr("train.steps=150; 150 steps"),
                                 "listops: seeds linear 0 (123,456 parameters).",
                                 HasSubstr("train.steps=300; 300 steps"),
                                 "listops: seeds relu 0 (99 parameters)."));
}

TEST_F(TrainedRunsTest, WithoutAMajorityClassItIsSaidThatAllCountAsTrained) {
  Add({.method = "poor", .seed = 0}, FirstRight(1));
  const auto found = FindTrainedRuns(found_, "test", "");
  ASSERT_TRUE(found.ok()) << found.status();
  const TrainedRun& run = found->by_directory.at(found_.runs[0].directory);
  EXPECT_TRUE(run.has_trained);
  EXPECT_THAT(run.unjudged, AllOf(StartsWith("no majority class is on record (`lra baseline "),
                                  HasSubstr("so every scored run counts as trained")));
  Ablation ablation = DataSetP();
  ablation.tasks[0].unjudged = run.unjudged;
  EXPECT_THAT(AblationWords(AnalyseAblation(ablation, 0.95)),
              ::testing::Contains("On listops " + run.unjudged +
                                  "; --baselines names a folder with the record."));
  EXPECT_THAT(absl::StrJoin(AblationWords(AnalyseAblation(DataSetP(), 0.95)), "\n"),
              Not(HasSubstr("majority class")));
}

}  // namespace
}  // namespace lra
