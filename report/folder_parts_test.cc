// The parts of a page that come from files among the runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

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
     "difference": 0.012, "low": 0.004, "high": 0.02, "p_corrected": 0.006, "verdict": "yes"},
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
  const AblationPart part = ReadAblations({folder.path()});
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
TEST(AblationPartTest, ComputedEffectsAreShownAsTheirFileIs) {
  Ablation ablation;
  ablation.split = "test";
  ablation.factors = {{"reweighting", {"none", "cosine"}}};
  ablation.tasks.push_back(
      {"listops", *FindMetric(kAccuracy), {0, 1, 2}, {RunsOf('B'), RunsOf('A')}});
  const AblationReport report = {"mine", "", {AnalyseAblation(ablation, 0.95)}};
  AblationPart computed;
  AddAblation(report, &computed);
  EXPECT_EQ(computed.designs.size(), 1);
  EXPECT_THAT(computed.html, HasSubstr("<h3>mine</h3>"));
  EXPECT_THAT(computed.html, HasSubstr("<th scope=\"row\">reweighting: cosine - none</th>"
                                       "<td>main</td><td>listops</td><td>+1.8"));  // A - B

  const TestFolder folder;
  EXPECT_FALSE(HasAblations(folder.path(), {}));
  ASSERT_TRUE(WriteFileAtomically(folder.File("effects.json"), WriteAblationJson(report)).ok());
  EXPECT_TRUE(HasAblations(folder.path(), {}));
  EXPECT_TRUE(HasAblations("elsewhere/mine", {folder.path()}));
  EXPECT_TRUE(HasAblations("elsewhere/mine/.", {folder.path()}));
  EXPECT_FALSE(HasAblations("elsewhere/another", {folder.path()}));
  const AblationPart read = ReadAblations({folder.path()});
  EXPECT_EQ(read.html, computed.html);
  EXPECT_EQ(read.designs, computed.designs);
}

TEST(AblationPartTest, FieldsOfOtherTypesDoNoHarm) {
  const TestFolder folder;
  ASSERT_TRUE(WriteFileAtomically(folder.File("a.json"),
                                  R"({"designs": [1, {"title": 2, "words": [3], "effects":
                                      [4, {"effect": [], "difference": "x"}]}]})")
                  .ok());
  EXPECT_EQ(ReadAblations({folder.path()}).designs.size(), 1);
}

}  // namespace
}  // namespace lra
