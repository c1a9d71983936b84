#include "eval/table_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "eval/leaderboard_test_util.h"
#include "eval/table_paper.h"
#include "lra/golden_test_util.h"

namespace lra {
namespace {

using ::lra::testing::MakeBaseline;
using ::lra::testing::MakeRun;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

PublishedTable TinyPublished() {
  PublishedTable table;
  table.set_name("tiny2020");
  table.set_source("A & B, 100% real_paper");
  table.set_protocol("theirs");
  table.set_evidence_class("P");
  PublishedRow* row = table.add_rows();
  row->set_method("linear");
  row->set_label("Linéar");  // two bytes, one column wide
  row->add_cells()->set_column("listops");
  row->mutable_cells(0)->set_value(16.13);
  return table;
}

Leaderboard Board() {
  auto board =
      BuildLeaderboard({.runs = {MakeBaseline("majority", 340), MakeBaseline("root_operator", 720),
                                 MakeRun({.method = "linear", .seed = 0, .correct = 700}),
                                 MakeRun({.method = "linear", .seed = 1, .correct = 720}),
                                 MakeRun({.method = "cosformer", .correct = 900})},
                        .unfinished = {"runs/killed"}},
                       {TinyPublished()}, {});
  EXPECT_TRUE(board.ok()) << board.status();
  return *std::move(board);
}

TEST(TableWriterTest, MarkdownGolden) {
  const std::string text = WriteLeaderboard(Board(), TableFormat::kMarkdown);
  EXPECT_THAT(text, StartsWith(
                        R"(## Leaderboard

| method                                     | listops                                                 |
|--------------------------------------------|---------------------------------------------------------|
| **Baselines (no attention)**               |                                                         |
| majority                                   | 17.0 [15.4, 18.7] 1 run                                 |
| root_operator                              | 36.0 [33.9, 38.1] 1 run                                 |
| **Measured here**                          |                                                         |
| cosformer                                  | 45.0 [42.8, 47.2] 1 run; 1/1 above; beats root_operator |
| linear                                     | 35.5 [29.2, 42.2] (counts); 0/2 above                   |
| **Published, not measured here: tiny2020** |                                                         |
| Linéar (published)                         | 16.13                                                   |

How it was obtained:

- listops: generated data, canonical,)"));
  EXPECT_THAT(
      text,
      HasSubstr(
          "- Published tiny2020: A & B, 100% real_paper; protocol theirs, evidence class P."));
  EXPECT_THAT(text, HasSubstr("[low, high]: 95 % interval for the method's mean score"));
  EXPECT_THAT(text, HasSubstr("listops: scores of examples are not on record for cosformer, "));
  EXPECT_THAT(text, Not(HasSubstr("FAIL")));
  EXPECT_THAT(text, HasSubstr("Not in a table:\n\n- runs/killed: has no record"));
}

TEST(TableWriterTest, MarkdownTakesNotesForText) {
  Leaderboard board = Board();
  board.tables[0].notes = {"mine: *new*\n# [here](there) <b>\\"};
  EXPECT_THAT(WriteLeaderboard(board, TableFormat::kMarkdown),
              AllOf(HasSubstr("\n- mine: \\*new\\* # [here]\\(there) &lt;b>\\\\\n"),
                    HasSubstr("(exact McNemar test, p < 0.005)")));
}

TEST(TableWriterTest, MarkdownKeepsBarsInLabelsApart) {
  Leaderboard board = Board();
  board.tables[0].rows[0].label = "a|b";
  EXPECT_THAT(WriteLeaderboard(board, TableFormat::kMarkdown), HasSubstr("| a\\|b "));
}

// Each format whole, as a file: a change of its text is seen where it is reviewed.
TEST(TableWriterTest, GoldenFiles) {
  const std::string stem = absl::StrCat(LRA_GOLDEN, "/leaderboard.");
  for (const char* format : {"md", "csv", "tex", "json", "html"}) {
    ExpectGolden(absl::StrCat(stem, format), WriteLeaderboard(Board(), *ParseTableFormat(format)));
  }
  ExpectGolden(absl::StrCat(LRA_GOLDEN, "/leaderboard_paper.tex"), WritePaperTables(Board()));
}

TEST(TableWriterTest, CsvQuotesWhatNeedsIt) {
  Leaderboard board = Board();
  board.tables[0].rows[0].label = "a, \"b\"";
  EXPECT_THAT(WriteLeaderboard(board, TableFormat::kCsv), HasSubstr(",\"a, \"\"b\"\"\","));
}

TEST(TableWriterTest, LatexIsBalancedAndEscaped) {
  const std::string text = WriteLeaderboard(Board(), TableFormat::kLatex);
  EXPECT_THAT(text,
              HasSubstr("\\begin{tabular}{ll}\n\\toprule\nmethod & listops \\\\\n\\midrule\n"));
  EXPECT_THAT(text, HasSubstr("root\\_operator & 36.0 [33.9, 38.1] 1 run \\\\\n"));
  EXPECT_THAT(text, HasSubstr("A \\& B, 100\\% real\\_paper"));
  // A float with all notes is higher than a page.
  EXPECT_LT(text.find("\\end{table}\n"), text.find("how it was obtained"));
  int depth = 0;
  for (char c : absl::StrReplaceAll(text, {{"\\{", ""}, {"\\}", ""}})) {
    depth += c == '{' ? 1 : c == '}' ? -1 : 0;
    ASSERT_GE(depth, 0);
  }
  EXPECT_EQ(depth, 0);
  // Outside comments no character is left that LaTeX takes for a command.
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!line.empty() && line[0] == '%') continue;
    const std::string bare = absl::StrReplaceAll(
        line, {{"\\&", ""}, {"\\%", ""}, {"\\$", ""}, {"\\#", ""}, {"\\_", ""}});
    EXPECT_EQ(bare.find_first_of("%$#_~^"), std::string::npos) << line;
  }
}

TEST(TableWriterTest, JsonHoldsEverything) {
  const auto json = nlohmann::json::parse(WriteLeaderboard(Board(), TableFormat::kJson));
  const auto& table = json["tables"][0];
  EXPECT_EQ(table["rows"][3]["method"], "linear");
  const std::vector<int> seeds = {0, 1};
  EXPECT_EQ(table["rows"][3]["cells"]["listops"]["seeds"], seeds);
  EXPECT_EQ(table["rows"][3]["cells"]["listops"]["interval"], "crossed, bounded by counts");
  EXPECT_EQ(table["rows"][2]["cells"]["listops"]["learned"]["runs_above"], 1);
  EXPECT_EQ(table["rows"][3]["cells"]["listops"]["runs_trained"], 2);
  EXPECT_EQ(table["rows"][3]["cells"]["listops"]["statistics"]["nu"], 1);
  EXPECT_EQ(table["rows"][2]["cells"]["listops"]["runs"][0], "runs/listops-cosformer-s0");
  EXPECT_EQ(table["published"][0]["rows"][0]["values"]["listops"], 16.13);
  EXPECT_EQ(json["left_out"].size(), 1);
  EXPECT_EQ(json["split"], "test");
}

// A table with a run that is above its baselines.
LeaderboardTable TableBy(const std::string& metric) {
  LeaderboardCell cell;
  cell.seeds = {0};
  cell.trained = 1;
  cell.learned.runs_above = 1;
  LeaderboardRow row;
  row.cells = {cell};
  LeaderboardTable table;
  table.metric = *FindMetric(metric);
  table.tasks = {"copy"};
  table.rows = {row};
  return table;
}

std::string LegendBy(const std::vector<std::string>& metrics) {
  Leaderboard board;
  for (const std::string& metric : metrics) board.tables.push_back(TableBy(metric));
  return absl::StrJoin(Legend(board), "\n");
}

// McNemar's test is one of right and wrong answers.
TEST(TableWriterTest, TheLegendNamesTheTestOfItsMetrics) {
  const std::string exact = "exact McNemar test, p < 0.005";
  const std::string by_mean = "one-sided p < 0.005 of each run's paired differences, over examples";
  EXPECT_THAT(LegendBy({kAccuracy}), HasSubstr("better than these (" + exact + "). Beats: "));
  EXPECT_THAT(LegendBy({kNats}), HasSubstr("better than these (" + by_mean + "). Beats: "));
  EXPECT_THAT(LegendBy({kBitsPerToken, kNats}),
              HasSubstr("better than these (" + by_mean + "). Beats: "));
  EXPECT_THAT(LegendBy({kNats, kAccuracy}),
              HasSubstr("better than these (accuracy: " + exact + "; nats: " + by_mean + ")."));
}

std::string Written(const std::vector<LocatedRecord>& runs, TableFormat format) {
  const auto board = BuildLeaderboard({.runs = runs, .unfinished = {}}, {}, {});
  EXPECT_TRUE(board.ok()) << board.status();
  return board.ok() ? WriteLeaderboard(*board, format) : "";
}

TEST(TableWriterTest, ASingleRunIsMarkedWhereItsCountDoesNotDo) {
  EXPECT_THAT(Written({MakeRun({.task = "text"})}, TableFormat::kMarkdown),
              AllOf(HasSubstr(" 1 run (counts) |"), HasSubstr("\n- (counts): scores of examples")));
  EXPECT_THAT(Written({MakeRun({})}, TableFormat::kMarkdown), Not(HasSubstr("(counts)")));
}

TEST(TableWriterTest, TheAverageIsExplainedWhereThereIsOne) {
  const char* const words = "- The average is over all tasks of the table";
  EXPECT_THAT(Written({MakeRun({})}, TableFormat::kMarkdown), Not(HasSubstr(words)));
  EXPECT_THAT(Written({MakeRun({}), MakeRun({.task = "text"})}, TableFormat::kMarkdown),
              HasSubstr(words));
}

TEST(TableWriterTest, StartsFromAnotherRunAreMarked) {
  EXPECT_THAT(Written({MakeRun({})}, TableFormat::kMarkdown), Not(HasSubstr("another run")));
  LocatedRecord run = MakeRun({});
  run.record.mutable_config()->set_encoder_weights_sha256("37ff");
  const std::string text = Written({run}, TableFormat::kMarkdown);
  EXPECT_THAT(text, AllOf(HasSubstr("1 run; from another run's encoder |"),
                          HasSubstr("- From another run's encoder: all seeds begin from it; the "
                                    "interval does not cover another one, and the budget does not "
                                    "count its training.\n"),
                          Not(HasSubstr("another run's weights"))));
  EXPECT_THAT(Written({run}, TableFormat::kJson), HasSubstr("\"another run's encoder\": 1"));
  EXPECT_THAT(Written({run}, TableFormat::kCsv), HasSubstr(",another run's encoder: 1\n"));
  EXPECT_THAT(Written({run}, TableFormat::kHtml),
              HasSubstr("<span class=\"marks\">from another run&#39;s encoder</span>"));
  run.record.mutable_config()->clear_encoder_weights_sha256();
  run.record.mutable_config()->set_start_weights_sha256("37ff");
  EXPECT_THAT(Written({run}, TableFormat::kMarkdown),
              AllOf(HasSubstr("1 run; from another run's weights |"),
                    HasSubstr("- From another run's weights: all seeds begin from them; "),
                    Not(HasSubstr("another run's encoder"))));
}

// Seeds whose encoders are their own are one row; another recipe is another.
TEST(TableWriterTest, SeedsFromEncodersOfTheirOwnAreOneCell) {
  std::vector<LocatedRecord> runs;
  for (uint32_t seed = 0; seed < 3; ++seed) {
    runs.push_back(MakeRun({.seed = seed}));
    RunRecord& record = runs.back().record;
    for (const char* path : {"encoder_weights_sha256", "encoder_recipe"})
      (*record.mutable_provenance())[path] = "--set";
    record.mutable_config()->set_encoder_weights_sha256(absl::StrCat("0", seed));
    record.mutable_config()->set_encoder_recipe("5e");
  }
  const std::string text = Written(runs, TableFormat::kMarkdown);
  EXPECT_THAT(text, AllOf(HasSubstr("; from another run's encoder, each seed its own |"),
                          HasSubstr("seeds linear 0, 1, 2"),
                          HasSubstr("overridden: train.steps=150, encoder_recipe=5e;"),
                          HasSubstr("- From another run's encoder, each seed its own: made by one "
                                    "recipe, each with the run's seed; the interval covers other "
                                    "encoders of that recipe, and the budget does not count their "
                                    "training.\n"),
                          Not(HasSubstr("all seeds begin"))));
  runs[2].record.mutable_config()->set_encoder_recipe("6f");
  const auto board = BuildLeaderboard({.runs = runs, .unfinished = {}}, {}, {});
  ASSERT_TRUE(board.ok()) << board.status();
  EXPECT_EQ(board->tables.size(), 2u);
}

// A cell's runs may differ where the rules of a method say how they begin.
TEST(TableWriterTest, RunsFromAnotherRunAreCountedWhereTheyAreNotAll) {
  std::vector<LocatedRecord> runs;
  for (uint32_t seed = 0; seed < 3; ++seed) {
    runs.push_back(MakeRun({.seed = seed}));
    RunRecord& record = runs.back().record;
    (*record.mutable_provenance())["encoder_weights_sha256"] = "protocol mine, listops/linear";
    if (seed > 0) record.mutable_config()->set_encoder_weights_sha256("37ff");
  }
  EXPECT_THAT(Written(runs, TableFormat::kMarkdown),
              HasSubstr("(counts); 2 from another run's encoder |"));
}

TEST(TableWriterTest, HtmlEscapesWhatRecordsSay) {
  Leaderboard board = Board();
  board.tables[0].rows[0].label = "<b>\"a\" & 'b'</b>";
  board.left_out = {"<script>alert(1)</script>"};
  const std::string text = WriteLeaderboard(board, TableFormat::kHtml);
  EXPECT_THAT(text, HasSubstr("&lt;b&gt;&quot;a&quot; &amp; &#39;b&#39;&lt;/b&gt;"));
  EXPECT_THAT(text, Not(HasSubstr("<script")));
}

TEST(TableWriterTest, HtmlHasHeadsGroupsAndNumbers) {
  const std::string text = WriteLeaderboard(Board(), TableFormat::kHtml);
  EXPECT_THAT(text, HasSubstr("<th scope=\"col\" data-column=\"task:listops\">listops</th>"));
  EXPECT_THAT(text, HasSubstr("<tbody data-kind=\"measured\">"));
  EXPECT_THAT(text, HasSubstr("data-value=\"0.355\""));
  EXPECT_THAT(text, HasSubstr("<span class=\"value\">35.5</span>"
                              "<span class=\"standing\"> [29.2, 42.2] (counts)</span>"
                              "<span class=\"marks\">0/2 above</span>"));
}

TEST(TableWriterTest, SeveralTablesAreNumberedAndSayWhy) {
  LocatedRecord other = MakeRun({.method = "cosformer"});
  other.record.mutable_config()->mutable_train()->set_steps(9);
  const auto board = BuildLeaderboard({.runs = {MakeRun({}), other}, .unfinished = {}}, {}, {});
  ASSERT_TRUE(board.ok());
  const std::string text = WriteLeaderboard(*board, TableFormat::kMarkdown);
  EXPECT_THAT(text, HasSubstr("## Leaderboard, table 1 of 2"));
  EXPECT_THAT(text, HasSubstr("config.train.steps (150 there, 9 here)"));
}

TEST(TableWriterTest, FormatsByNameAndExtension) {
  EXPECT_EQ(*TableFormatOfPath("out/table.tex"), TableFormat::kLatex);
  EXPECT_EQ(*ParseTableFormat("md"), TableFormat::kMarkdown);
  EXPECT_EQ(*ParseTableFormat("csv"), TableFormat::kCsv);
  EXPECT_EQ(*ParseTableFormat("json"), TableFormat::kJson);
  EXPECT_EQ(*ParseTableFormat("html"), TableFormat::kHtml);
  EXPECT_EQ(ParseTableFormat("htm").status().code(), absl::StatusCode::kInvalidArgument);
  for (const char* path : {"table", "out.d/table", "table."}) {
    const absl::Status status = TableFormatOfPath(path).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << path;
    EXPECT_THAT(std::string(status.message()), HasSubstr(".csv, .html, .json, .md or .tex"))
        << path;
  }
}

}  // namespace
}  // namespace lra
