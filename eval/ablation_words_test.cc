// Tests of what an ablation says in words, beyond those of single sentences (ablation_test.cc).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "eval/ablation.h"
#include "eval/ablation_text.h"
#include "eval/scored_runs_test_util.h"

namespace lra {
namespace {

using ::lra::testing::FirstRight;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// One factor of two levels; each seed has so many more right answers with the second, on a task.
AblationTask TaskWithEffect(const std::string& name, const std::vector<int>& more) {
  AblationTask task{name, *FindMetric(kAccuracy), {}, {{}, {}}};
  for (size_t s = 0; s < more.size(); ++s) {
    task.seeds.push_back(static_cast<uint32_t>(s));
    task.runs[0].push_back(FirstRight(1000));
    task.runs[1].push_back(FirstRight(1000 + more[s]));
  }
  return task;
}

AblationResult Analysed(std::vector<AblationTask> tasks) {
  Ablation ablation;
  ablation.split = "test";
  ablation.factors = {{"positions", {"absolute", "none"}}};
  ablation.tasks = std::move(tasks);
  return AnalyseAblation(std::move(ablation), 0.95);
}

std::string WordsOf(const AblationResult& result) {
  return absl::StrJoin(AblationWords(result), "\n");
}

TEST(AblationWords, AnAverageOverTasksThatDifferIsTakenBack) {
  const std::string words = WordsOf(Analysed(
      {TaskWithEffect("image", {-20, -22, -18}), TaskWithEffect("text", {300, 303, 297})}));
  EXPECT_THAT(words, HasSubstr("on text less that on image is +16"));
  EXPECT_THAT(
      words,
      AllOf(HasSubstr(" It was shown to differ between tasks, so the average stands for none of "
                      "them; it is on image -1.0"),
            HasSubstr("], on text +15"), HasSubstr("].\n")));
}

TEST(AblationWords, AnAverageOverTasksThatAreNotShownToDifferStands) {
  EXPECT_THAT(WordsOf(Analysed({TaskWithEffect("image", {300, 302, 298}),
                                TaskWithEffect("text", {300, 303, 297})})),
              Not(HasSubstr("differ between tasks")));
}

// The JSON of a design of two tasks by these metrics, with its page as `page`.
nlohmann::json JsonOfTasksBy(const Metric* first, const Metric* second) {
  AblationTask digits = TaskWithEffect("digits", {300, 302, 298});
  AblationTask reviews = TaskWithEffect("reviews", {300, 303, 297});
  digits.metric = first;
  reviews.metric = second;
  const AblationReport report = {"mine", "", {Analysed({digits, reviews})}};
  nlohmann::json json = nlohmann::json::parse(WriteAblationJson(report))["designs"][0];
  json["page"] = WriteAblation(report);
  return json;
}

TEST(AblationWords, UnlikeUnitsAreWhyThereIsNoAverage) {
  TaskSpec pixels, bytes;
  pixels.set_content(TaskSpec::GREY_IMAGE);
  bytes.set_content(TaskSpec::TEXT);
  bytes.set_vocabulary_size(257);
  const Metric* const dims = *MetricOf(pixels, kBitsPerToken);
  const auto unlike = JsonOfTasksBy(dims, *MetricOf(bytes, kBitsPerToken));
  EXPECT_EQ(unlike["no_average"], "the tasks' units differ (bits/byte, bits/dim)");
  EXPECT_THAT(unlike["page"].get<std::string>(),
              HasSubstr("\nThere is no average over the tasks, and no difference between tasks of "
                        "unlike units: the tasks' units differ (bits/byte, bits/dim).\n"));
  const auto alike = JsonOfTasksBy(dims, dims);
  EXPECT_FALSE(alike.contains("no_average"));
  EXPECT_THAT(alike["page"].get<std::string>(),
              AllOf(HasSubstr("the average of the tasks"), Not(HasSubstr("no average"))));
}

TEST(AblationWords, LevelsThatScoreAlikeAreSaidToDoSo) {
  const std::string alike = "Both gave the same score on every example with every seed";
  const AblationResult none = Analysed({TaskWithEffect("image", {0, 0, 0})});
  EXPECT_TRUE(none.effects.front().scores_alike);
  EXPECT_THAT(WordsOf(none), HasSubstr(alike));
  const AblationResult on_two =
      Analysed({TaskWithEffect("image", {0, 0, 0}), TaskWithEffect("text", {0, 0, 0})});
  for (const AblationEffect& effect : on_two.effects)
    EXPECT_FALSE(effect.smallest_difference) << "nothing varied " << WhereText(effect);
  // Equally many right answers, but others.
  AblationTask others = TaskWithEffect("image", {0, 0, 0});
  for (ExampleValues& run : others.runs[1]) std::reverse(run.begin(), run.end());
  const AblationResult same_mean = Analysed({others});
  EXPECT_EQ(same_mean.effects.front().estimate->mean, 0);
  EXPECT_FALSE(same_mean.effects.front().scores_alike);
  EXPECT_THAT(WordsOf(same_mean), Not(HasSubstr(alike)));
  // One seed in which they differ.
  EXPECT_THAT(WordsOf(Analysed({TaskWithEffect("image", {0, 0, 1})})), Not(HasSubstr(alike)));
}

TEST(AblationWords, WhatNeverVariedSaysNothingOfWhatWouldHaveBeenSeen) {
  Ablation ablation;
  ablation.split = "test";
  ablation.factors = {{"positions", {"absolute", "none"}}, {"reweighting", {"none", "cosine"}}};
  for (const char* name : {"image", "text"}) {
    AblationTask& task = ablation.tasks.emplace_back(TaskWithEffect(name, {0, 0, 0}));
    const std::vector<ExampleValues> runs = task.runs[0];
    task.runs.assign(4, runs);
  }
  // A factor that makes every answer of one task right: one difference everywhere.
  ablation.tasks[1].runs[0].assign(3, FirstRight(0));
  ablation.tasks[1].runs[2] = ablation.tasks[1].runs[0];
  ablation.tasks[1].runs[1].assign(3, FirstRight(2000));
  ablation.tasks[1].runs[3] = ablation.tasks[1].runs[1];
  const AblationResult result = AnalyseAblation(std::move(ablation), 0.95);
  int derived = 0;
  for (const AblationEffect& effect : result.effects) {
    derived += effect.is_average() || !effect.less_task.empty() ? 1 : 0;
    EXPECT_FALSE(effect.smallest_difference)
        << EffectKindName(effect.plan.kind) << " on " << WhereText(effect);
  }
  EXPECT_GT(derived, 4);  // averages, those of interactions among them, and task x factor
  EXPECT_THAT(WordsOf(result), Not(HasSubstr("would have been seen")));
}

TEST(AblationWords, JsonCallsDifferencesBetweenTasksInteractions) {
  const AblationReport report = {
      "mine",
      "Does it help?",
      {Analysed({TaskWithEffect("image", {-20, -22, -18}), TaskWithEffect("text", {0, 0, 0})})}};
  int between = 0;
  const auto json = nlohmann::json::parse(WriteAblationJson(report));
  for (const auto& effect : json["designs"][0]["effects"]) {
    between += effect.contains("less_task") ? 1 : 0;
    EXPECT_EQ(effect["kind"], effect.contains("less_task") ? "interaction" : "main") << effect;
    EXPECT_EQ(effect.contains("scores_alike"), effect["task"] == "text" && between == 0) << effect;
  }
  EXPECT_EQ(between, 1);
  EXPECT_THAT(WriteAblation(report), StartsWith("# Ablation: mine\n\nDoes it help?\n\nFactors"));
}

TEST(AblationWords, LocalityWithoutAnExampleSaysSo) {
  AblationReport report = {"mine", "", {Analysed({TaskWithEffect("image", {0, 0, 0})})}};
  TaskLocality& locality = report.designs[0].ablation.tasks[0].locality.emplace();
  locality.split = "validation";
  locality.cells.resize(2);
  EXPECT_THAT(WriteAblation(report),
              HasSubstr("Locality on image: no examples of validation were measured\n"));
}

TEST(AblationWords, StartsThatNoSeedChangesAreSaidAndThoseOfEachSeed) {
  AblationTask task = TaskWithEffect("listops", {10, 12, 14});
  EXPECT_THAT(absl::StrJoin(AblationWords(Analysed({task})), " "), Not(HasSubstr("begin from")));
  task.starts = {"another run's encoder"};
  const std::vector<std::string> words = AblationWords(Analysed({task}));
  ASSERT_GE(words.size(), 2u);
  EXPECT_THAT(words[words.size() - 2], StartsWith("All of this is about new seeds "));
  EXPECT_EQ(words.back(),
            "Runs that begin from another run's encoder begin from the same with every seed: the "
            "intervals do not cover another, and the budget does not count its training.");
  task.starts = {"another run's encoder, each seed its own"};
  EXPECT_EQ(AblationWords(Analysed({task})).back(),
            "Runs that begin from another run's encoder, each seed its own, do so by one recipe a "
            "cell: the intervals cover other encoders of it, and the budget does not count their "
            "training.");
}

}  // namespace
}  // namespace lra
