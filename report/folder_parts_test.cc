// The parts of a page that come from files among the runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/record_file.h"
#include "eval/ablation.h"
#include "eval/ablation_text.h"
#include "eval/crossed_test_util.h"
#include "eval/metric.h"
#include "lra/files.h"
#include "lra/folder_test_util.h"
#include "report/ablation_part.h"
#include "report/efficiency_part.h"

namespace lra {
namespace {

using ::lra::testing::RunsOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

BenchRecord Cell(const std::string& attention, int64_t tokens, double seconds) {
  BenchRecord record;
  record.mutable_request()->set_scope(BenchRequest::OPERATOR);
  record.mutable_request()->set_mode(BenchRequest::TRAINING);
  record.mutable_request()->set_attention(attention);
  record.mutable_request()->set_tokens(tokens);
  record.mutable_request()->set_batch(1);
  record.mutable_request()->set_head_width(64);
  record.mutable_result()->set_outcome(BenchResult::MEASURED);
  record.mutable_result()->mutable_passes()->add_seconds(seconds);
  record.mutable_result()->mutable_passes()->set_peak_bytes(1000 * tokens);
  return record;
}

TEST(EfficiencyPartTest, CellsAmongTheRunsAreShown) {
  const TestFolder folder;
  ASSERT_TRUE(MakeDirectories(folder.File("run")).ok());
  ASSERT_TRUE(WriteFileAtomically(folder.File("run/curve.jsonl"), "{\"step\": 1}\n").ok());
  for (const int64_t tokens : {512, 1024})
    ASSERT_TRUE(
        AppendRecord(folder.File("cells.jsonl"), Cell("linear", tokens, 1e-6 * tokens)).ok());
  std::vector<std::string> problems;
  const EfficiencyPart part = ReadEfficiency({folder.path()}, &problems);
  EXPECT_THAT(problems, IsEmpty());
  ASSERT_EQ(part.panels.size(), 1);
  EXPECT_EQ(part.panels[0]["series"][0]["label"], "linear");
  EXPECT_EQ(part.panels[0]["series"][0]["time"].dump(), "[[512.0,0.000512],[1024.0,0.001024]]");
  EXPECT_THAT(part.html, HasSubstr(": milliseconds</span></caption>"));
  EXPECT_THAT(part.html, HasSubstr("<th scope=\"row\">linear</th><td>0.512</td><td>1.02</td>"));
}

TEST(EfficiencyPartTest, OtherFilesAreNamed) {
  const TestFolder folder;
  ASSERT_TRUE(WriteFileAtomically(folder.File("notes.jsonl"), "hello\n").ok());
  std::vector<std::string> problems;
  EXPECT_EQ(ReadEfficiency({folder.path()}, &problems).html, "");
  EXPECT_THAT(problems, ElementsAre(HasSubstr("notes.jsonl")));
}

TEST(EfficiencyPartTest, CellsThatCannotBeAreNamed) {
  const TestFolder folder;
  const std::string path = folder.File("cells.jsonl");
  ASSERT_TRUE(AppendRecord(path, Cell("linear", 512, 0)).ok());
  std::vector<std::string> problems;
  EXPECT_EQ(ReadEfficiency({folder.path()}, &problems).html, "");
  EXPECT_THAT(problems,
              ElementsAre(HasSubstr("cells.jsonl:1: a measured cell has a pass of 0 seconds")));
}

constexpr char kDesigns[] = R"({"suite": "mine", "designs": [{
  "title": "<b>re-weighting</b>", "words": ["The cosine raises the score."],
  "effects": [
    {"kind": "main", "effect": "cosine - none", "task": "text", "metric": "accuracy",
     "unit": "fraction", "difference": 0.012, "low": 0.004, "high": 0.02, "p_corrected": 0.006,
     "verdict": "yes"},
    {"kind": "interaction", "effect": "cosine x rotary", "task": "text", "metric": "accuracy",
     "verdict": "not enough seeds"},
    {"kind": "main", "effect": "cosine - none", "task": "", "metric": "accuracy",
     "difference": 0.01, "low": 0, "high": 0.02, "p_corrected": 0.04, "verdict": "yes"},
    {"kind": "interaction", "effect": "cosine - none", "task": "text", "less_task": "image",
     "metric": "accuracy", "verdict": "not enough seeds"}]}]})";

TEST(AblationPartTest, EffectsAreATableAndAFigure) {
  const TestFolder folder;
  ASSERT_TRUE(WriteFileAtomically(folder.File("effects.json"), kDesigns).ok());
  ASSERT_TRUE(WriteFileAtomically(folder.File("other.json"), "[1]").ok());
  std::vector<std::string> problems;
  const AblationPart part = MakeAblations({{folder.path()}, {}}, &problems);
  ASSERT_EQ(part.designs.size(), 1);
  EXPECT_EQ(part.designs[0]["unit"], "points");
  EXPECT_EQ(part.designs[0]["effects"].dump(),
            "[{\"label\":\"cosine - none (text)\",\"value\":1.2,\"low\":0.4,\"high\":2.0},"
            "{\"label\":\"cosine - none (the average of the tasks)\",\"value\":1.0,\"low\":0.0,"
            "\"high\":2.0}]");
  EXPECT_THAT(part.html, HasSubstr("<li>The cosine raises the score.</li>"));
  EXPECT_THAT(part.html, HasSubstr("<td>+1.20 [0.40, 2.00] points</td><td>0.006</td><td>yes</td>"));
  EXPECT_THAT(part.html, HasSubstr("<td>-</td><td>-</td><td>not enough seeds</td>"));
  EXPECT_THAT(part.html, HasSubstr("<td>interaction</td><td>text less image</td><td>-</td>"));
  EXPECT_THAT(part.html, HasSubstr("<h3>mine: &lt;b&gt;re-weighting&lt;/b&gt;</h3>"));
  EXPECT_THAT(part.html, Not(HasSubstr("<b>")));
}

// Data set P: A has the cosine, B has none.
AblationReport ReportOf(const std::string& suite) {
  Ablation ablation;
  ablation.split = "test";
  ablation.factors = {{"reweighting", {"none", "cosine"}}};
  ablation.tasks.push_back(
      {"listops", *FindMetric(kAccuracy), {0, 1, 2}, {RunsOf('B'), RunsOf('A')}});
  AblationTask& task = ablation.tasks[0];
  for (const char* cell : {"b", "a"}) {
    std::vector<AblationRun>& runs = task.folders.emplace_back();
    for (const uint32_t seed : task.seeds)
      runs.push_back({.directory = "", .fingerprint = absl::StrCat(cell, seed)});
  }
  return {suite, "", {AnalyseAblation(ablation, 0.95)}};
}

TEST(AblationPartTest, ComputedEffectsAreShownAsTheirFileIs) {
  const AblationReport report = ReportOf("mine");
  const TestFolder folder;
  const AblationSources sources = {{folder.path()}, {folder.path()}, {report}};
  std::vector<std::string> problems;
  const AblationPart computed = MakeAblations(sources, &problems);
  EXPECT_EQ(computed.designs.size(), 1);
  EXPECT_THAT(computed.html, HasSubstr("<h3>mine</h3>"));
  EXPECT_THAT(computed.html, HasSubstr("<th scope=\"row\">reweighting: cosine - none</th>"
                                       "<td>main</td><td>listops</td><td>+1.8"));  // A - B
  ASSERT_TRUE(WriteFileAtomically(folder.File("effects.json"), WriteAblationJson(report)).ok());
  const AblationPart read = MakeAblations(sources, &problems);
  EXPECT_EQ(read.html, computed.html);
  EXPECT_EQ(read.designs, computed.designs);
  EXPECT_THAT(problems, IsEmpty());
}

// Other baselines, another confidence: what the file says, in place of what was computed.
TEST(AblationPartTest, AFileOfTheSameRunsStandsForThem) {
  const AblationReport report = ReportOf("mine");
  AblationReport of_file = report;
  of_file.suite = "of the file";
  of_file.designs[0] = AnalyseAblation(report.designs[0].ablation, 0.5);
  const TestFolder folder;
  ASSERT_TRUE(WriteFileAtomically(folder.File("effects.json"), WriteAblationJson(of_file)).ok());
  std::vector<std::string> problems;
  const AblationPart part = MakeAblations({{folder.path()}, {folder.path()}, {report}}, &problems);
  EXPECT_EQ(part.designs.size(), 1);
  EXPECT_THAT(part.html, HasSubstr("<h3>of the file</h3>"));
  EXPECT_THAT(problems, IsEmpty());
}

TEST(AblationPartTest, AFileOfOtherRunsOfASuiteIsNotShown) {
  const AblationReport report = ReportOf("mine");
  AblationReport stale = report;  // one seed had another result
  stale.designs[0].ablation.tasks[0].folders[1][2].fingerprint = "a2, as it was";
  AblationReport fewer = report;  // before a seed was added
  for (auto& cell : fewer.designs[0].ablation.tasks[0].folders) cell.pop_back();
  AblationReport renamed = report;  // the levels meant something else
  std::swap(renamed.designs[0].ablation.factors[0].levels[0],
            renamed.designs[0].ablation.factors[0].levels[1]);
  for (const AblationReport* file : {&stale, &fewer, &renamed}) {
    const TestFolder folder;
    AblationReport named = *file;
    named.suite = "of the file";
    ASSERT_TRUE(WriteFileAtomically(folder.File("effects.json"), WriteAblationJson(named)).ok());
    std::vector<std::string> problems;
    const AblationPart part =
        MakeAblations({{folder.path()}, {folder.path()}, {report}}, &problems);
    EXPECT_EQ(part.designs.size(), 1);
    EXPECT_THAT(part.html, HasSubstr("<h3>mine</h3>"));
    EXPECT_THAT(problems, ElementsAre(HasSubstr("effects.json: not shown: its effects are of other "
                                                "runs, or other records of them, than those here; "
                                                "`lra ablate SUITE --out ")));
  }
}

TEST(AblationPartTest, AFileThatNamesNoRunsOfASuiteIsNotShown) {
  const TestFolder folder;
  ASSERT_TRUE(WriteFileAtomically(folder.File("effects.json"), kDesigns).ok());
  std::vector<std::string> problems;
  // By its name, wherever it lies; nothing could be computed.
  EXPECT_EQ(MakeAblations({{folder.path()}, {"elsewhere/mine"}}, &problems).designs.size(), 0);
  EXPECT_THAT(problems, ElementsAre(HasSubstr("it does not say which runs its effects are of")));
}

TEST(AblationPartTest, AFileOfNoSuiteHereIsShownAsSuch) {
  const TestFolder folder;
  AblationReport other = ReportOf("another");
  other.designs[0].ablation.tasks[0].folders[0][0].fingerprint = "of another";
  ASSERT_TRUE(WriteFileAtomically(folder.File("effects.json"), WriteAblationJson(other)).ok());
  std::vector<std::string> problems;
  const AblationPart part =
      MakeAblations({{folder.path()}, {folder.File("mine")}, {ReportOf("mine")}}, &problems);
  EXPECT_EQ(part.designs.size(), 2);
  EXPECT_THAT(part.html, HasSubstr("<h3>another</h3>\n<p>What a file says, of runs that are not on "
                                   "this page.</p>"));
  EXPECT_THAT(part.html, HasSubstr("<h3>mine</h3>\n<div"));
  EXPECT_THAT(problems, IsEmpty());
}

TEST(AblationPartTest, FieldsOfOtherTypesDoNoHarm) {
  const TestFolder folder;
  ASSERT_TRUE(WriteFileAtomically(folder.File("a.json"),
                                  R"({"designs": [1, {"title": 2, "words": [3], "effects":
                                      [4, {"effect": [], "difference": "x"}]}]})")
                  .ok());
  std::vector<std::string> problems;
  EXPECT_EQ(MakeAblations({{folder.path()}, {}}, &problems).designs.size(), 1);
}

}  // namespace
}  // namespace lra
