// Published rows beside ours.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "eval/leaderboard_test_util.h"
#include "eval/published.h"
#include "eval/table_writer.h"

namespace lra {
namespace {

using ::lra::testing::MakeBaseline;
using ::lra::testing::MakeRun;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

Leaderboard Build(const std::vector<LocatedRecord>& runs,
                  const std::vector<PublishedTable>& published) {
  auto board = BuildLeaderboard({.runs = runs, .unfinished = {}}, published, {});
  EXPECT_TRUE(board.ok()) << board.status();
  return board.ok() ? *board : Leaderboard();
}

PublishedTable Load(const std::string& name) {
  auto table = LoadPublishedTable(name);
  EXPECT_TRUE(table.ok()) << table.status();
  return table.ok() ? *table : PublishedTable();
}

std::vector<LocatedRecord> OnTasks(const std::vector<std::string>& tasks,
                                   const std::string& method = "cosformer") {
  std::vector<LocatedRecord> runs;
  for (const std::string& task : tasks) runs.push_back(MakeRun({.method = method, .task = task}));
  return runs;
}

// The runs as the rules and sizes of the benchmark's own table make them, nothing overridden.
std::vector<LocatedRecord> UnderLra2020(std::vector<LocatedRecord> runs) {
  for (LocatedRecord& run : runs) {
    if (run.record.kind() != RunRecord::MEASURED) continue;
    run.record.mutable_config()->set_protocol("lra2020@1");
    run.record.mutable_config()->set_preset("lra2020");
    (*run.record.mutable_provenance())["train.steps"] = "protocol lra2020";
  }
  return runs;
}

const std::vector<std::string>& FiveTasks() {
  static const auto* const tasks =
      new std::vector<std::string>{"listops", "text", "retrieval", "image", "pathfinder32"};
  return *tasks;
}

const PublishedRows::Row& RowOf(const PublishedRows& rows, const std::string& method) {
  for (const PublishedRows::Row& row : rows.rows) {
    if (row.row.method() == method) return row;
  }
  ADD_FAILURE() << "no row " << method;
  return rows.rows.at(0);
}

TEST(LeaderboardPublishedTest, RowsKeepToTheColumnsShown) {
  const PublishedTable published = Load("cosformer2022");
  const Leaderboard one = Build({MakeRun({})}, {published});
  ASSERT_EQ(one.tables.at(0).published.size(), 1);
  const PublishedRows& rows = one.tables[0].published[0];
  ASSERT_EQ(rows.rows.size(), 12);
  EXPECT_EQ(rows.rows[11].cells.at(0)->value(), 37.9);
  EXPECT_FALSE(rows.rows[11].average.has_value());  // the published average is over five tasks

  const Leaderboard five = Build(OnTasks(FiveTasks()), {published});
  EXPECT_EQ(five.tables.at(0).published.at(0).rows[11].average, 55.23);
}

TEST(LeaderboardPublishedTest, ATableWithNothingToShowIsNamed) {
  const Leaderboard board =
      Build({MakeRun({.task = "other"})}, {Load("cosformer2022"), Load("cosformer2022_table2")});
  EXPECT_THAT(board.tables.at(0).published, IsEmpty());
  EXPECT_THAT(WriteLeaderboard(board, TableFormat::kMarkdown),
              HasSubstr("Published cosformer2022_table2 (Qin et al., cosFormer: Rethinking Softmax "
                        "in Attention, ICLR 2022, Table 2) has nothing that these columns show."));
}

// A table of five tasks never shows an average over six, nor the other way about.
TEST(LeaderboardPublishedTest, FiveAndSixTaskAveragesStayApart) {
  const PublishedTable six = Load("s4_line"), five = Load("lra2020");
  const PublishedRows of_five = Build(OnTasks(FiveTasks()), {six}).tables.at(0).published.at(0);
  for (const PublishedRows::Row& row : of_five.rows) EXPECT_FALSE(row.average) << row.row.method();
  std::vector<std::string> tasks = FiveTasks();
  tasks.push_back("pathx");
  const auto shown = Build(OnTasks(tasks), {six, five}).tables.at(0).published;
  ASSERT_THAT(shown, SizeIs(2));
  EXPECT_EQ(RowOf(shown[0], "s5").average, 87.46);
  EXPECT_EQ(RowOf(shown[0], "transformer_pretrained").average, 86.2);  // the row has no cell
  EXPECT_FALSE(RowOf(shown[1], "transformer").average);
  EXPECT_TRUE(RowOf(shown[1], "transformer").cells.at(5)->is_failed());
}

TEST(LeaderboardPublishedTest, RowsOfAverageAloneNeedTheirTasks) {
  const PublishedTable table6 = Load("cosformer2022_table6");
  const auto shown = Build(OnTasks(FiveTasks()), {table6}).tables.at(0).published;
  ASSERT_THAT(shown, SizeIs(1));
  ASSERT_THAT(shown[0].rows, SizeIs(2));
  EXPECT_EQ(RowOf(shown[0], "relu").average, 54.20);
  EXPECT_EQ(RowOf(shown[0], "cosformer").average, 55.23);
  EXPECT_THAT(Build(OnTasks({"image", "text"}), {table6}).tables.at(0).published, IsEmpty());
}

// 700 of 2,000 right against a printed 37.9 %.
TEST(LeaderboardPublishedTest, DifferencesAreOursMinusPublished) {
  const auto runs = UnderLra2020(OnTasks(FiveTasks()));
  const Leaderboard board = Build(runs, {Load("cosformer2022")});
  const PublishedRows& rows = board.tables.at(0).published.at(0);
  const PublishedRows::Row& row = RowOf(rows, "cosformer");
  ASSERT_THAT(row.ours, SizeIs(1));
  const PublishedDifference& listops = *row.ours[0].cells.at(0);
  EXPECT_NEAR(listops.value, 0.35 - 0.379, 1e-12);
  const Interval exact = ClopperPearson(700, 2000, 0.95);
  EXPECT_NEAR(listops.interval->low, exact.low - 0.379, 1e-12);
  EXPECT_NEAR(listops.interval->high, exact.high - 0.379, 1e-12);
  EXPECT_NEAR(row.ours[0].average->value, 0.35 - 0.5523, 1e-12);
  EXPECT_THAT(RowOf(rows, "linear").ours, IsEmpty());
  // The order of our rows knows nothing of it.
  EXPECT_THAT(board.tables[0].rows, SizeIs(1));
  const std::string text = WriteLeaderboard(board, TableFormat::kMarkdown);
  EXPECT_THAT(text, HasSubstr("| cosformer: ours - published"));
  EXPECT_THAT(text, HasSubstr("| -2.9 [-5.0, -0.8]"));
  EXPECT_THAT(text, HasSubstr("- Ours - published: of the same method and task, under the "));
  EXPECT_THAT(text, Not(HasSubstr("No difference from")));
  EXPECT_THAT(WriteLeaderboard(board, TableFormat::kLatex),
              HasSubstr("cosformer: ours - published & -2.9 [-5.0, -0.8] & "));
  EXPECT_THAT(WriteLeaderboard(board, TableFormat::kCsv),
              HasSubstr("1,difference,cosformer,cosformer,average,test,-20.2300,"));
  EXPECT_THAT(WriteLeaderboard(board, TableFormat::kJson), HasSubstr("\"ours_minus_published\""));
  EXPECT_THAT(WriteLeaderboard(board, TableFormat::kHtml),
              HasSubstr("<th scope=\"row\">cosformer: ours - published</th><td><span "
                        "class=\"value\">-2.9</span>"));
  EXPECT_THAT(
      WriteLeaderboard(Build(UnderLra2020(OnTasks({"listops"}, "rfa")), {Load("cosformer2022")}),
                       TableFormat::kMarkdown),
      AllOf(Not(HasSubstr("ours - published")), Not(HasSubstr("No difference from"))));
}

// Another protocol, other sizes or an override: the printed row stays, and a note says why nothing
// is subtracted.
TEST(LeaderboardPublishedTest, OnlyWhatWasObtainedAlikeIsSubtracted) {
  const std::string printed =
      "- No difference from rows that were obtained otherwise: those of cosformer2022 under "
      "protocol lra2020 (claimed), preset lra2020; ours under ";
  const auto text = [](const LocatedRecord& run) {
    return WriteLeaderboard(Build({run}, {Load("cosformer2022"), Load("lra2020")}),
                            TableFormat::kMarkdown);
  };
  const LocatedRecord alike = UnderLra2020(OnTasks({"listops"})).front();
  LocatedRecord protocol = alike, preset = alike, shorter = alike;
  protocol.record.mutable_config()->set_protocol("lra2020_paper@2");
  preset.record.mutable_config()->set_preset("small");
  (*shorter.record.mutable_provenance())["train.steps"] = "--set";
  EXPECT_THAT(text(alike), HasSubstr("| cosformer: ours - published"));
  for (const auto& [run, ours] : {std::pair(protocol, "protocol lra2020_paper@2, preset lra2020."),
                                  std::pair(preset, "protocol lra2020@1, preset small."),
                                  std::pair(shorter,
                                            "protocol lra2020@1, preset lra2020, with "
                                            "overrides.")}) {
    EXPECT_THAT(text(run),
                AllOf(HasSubstr("| cosFormer (published)"), HasSubstr(printed + ours),
                      Not(HasSubstr("ours - published")), Not(HasSubstr("Ours - published"))));
  }
}

// The source says which override brings ours nearer to it, and that one alone may be there.
TEST(LeaderboardPublishedTest, AnOverrideThatTheSourceNamesMayBeThere) {
  LocatedRecord run = OnTasks({"text"}, "nystromformer").front();
  run.record.mutable_config()->set_protocol("nystrom@5");
  run.record.mutable_config()->set_preset("nystrom");
  run.record.mutable_config()->mutable_numerics()->set_precision(NumericsConfig::BF16);
  auto& provenance = *run.record.mutable_provenance();
  provenance["train.steps"] = "protocol nystrom";
  provenance["numerics.precision"] = "--set";
  const auto text = [](const LocatedRecord& run) {
    return WriteLeaderboard(Build({run}, {Load("nystromformer")}), TableFormat::kMarkdown);
  };
  EXPECT_THAT(text(run), HasSubstr("| nystromformer: ours - published"));
  provenance["train.steps"] = "--set";
  EXPECT_THAT(text(run), Not(HasSubstr("ours - published")));
  provenance["train.steps"] = "protocol nystrom";
  run.record.mutable_config()->mutable_numerics()->set_precision(NumericsConfig::TF32);
  EXPECT_THAT(text(run), Not(HasSubstr("ours - published")));
}

// Earlier versions may have had other rules of a task: ListOps with brackets, 1,000 bytes of Text.
TEST(LeaderboardPublishedTest, AnEarlierVersionIsSubtractedWhereItsRulesOfTheTaskAreTheSame) {
  const auto text = [](const std::string& task, const std::string& protocol) {
    LocatedRecord run = OnTasks({task}, "nystromformer").front();
    run.record.mutable_config()->set_protocol(protocol);
    run.record.mutable_config()->set_preset("nystrom");
    (*run.record.mutable_provenance())["train.steps"] = "protocol nystrom";
    return WriteLeaderboard(Build({run}, {Load("nystromformer")}), TableFormat::kMarkdown);
  };
  const std::string difference = "| nystromformer: ours - published";
  EXPECT_THAT(text("image", "nystrom@2"), Not(HasSubstr(difference)));
  EXPECT_THAT(text("image", "nystrom@3"), HasSubstr(difference));
  EXPECT_THAT(text("text", "nystrom@5"), HasSubstr(difference));
  for (const char* earlier : {"nystrom@3", "nystrom@4"}) {
    EXPECT_THAT(
        text("text", earlier),
        AllOf(HasSubstr("| Nyströmformer (published)"),
              HasSubstr("(text: version 5 or later), preset nystrom"), Not(HasSubstr(difference))));
  }
  EXPECT_THAT(text("listops", "nystrom@4"), HasSubstr(difference));
  EXPECT_THAT(text("listops", "nystrom@3"),
              AllOf(Not(HasSubstr(difference)),
                    HasSubstr("nystromformer under protocol nystrom (listops: version 4 or "
                              "later), preset nystrom; ours under protocol nystrom@3, ")));
}

// One task was trained with fewer steps: it has no difference, and so the average has none.
TEST(LeaderboardPublishedTest, AnAverageIsSubtractedWhereAllTasksAre) {
  auto runs = UnderLra2020(OnTasks(FiveTasks()));
  (*runs[1].record.mutable_provenance())["train.steps"] = "--set";
  const Leaderboard board = Build(runs, {Load("cosformer2022")});
  ASSERT_THAT(board.tables, SizeIs(1));
  const PublishedRows::Row& row = RowOf(board.tables[0].published.at(0), "cosformer");
  ASSERT_THAT(row.ours, SizeIs(1));
  EXPECT_TRUE(row.ours[0].cells.at(0));
  EXPECT_FALSE(row.ours[0].cells.at(1));
  EXPECT_FALSE(row.ours[0].average);
  EXPECT_EQ(row.average, 55.23);
  EXPECT_THAT(board.tables[0].notes, Contains(HasSubstr("preset lra2020, with overrides.")));
}

// No rules of ours are those of each of its rows.
TEST(LeaderboardPublishedTest, FromSettingsOfTheirOwnNothingIsSubtracted) {
  const Leaderboard board = Build(UnderLra2020({MakeRun({.method = "s4d"})}), {Load("s4_line")});
  EXPECT_THAT(RowOf(board.tables.at(0).published.at(0), "s4d").ours, IsEmpty());
  EXPECT_THAT(board.tables[0].notes,
              Contains(HasSubstr("those of s4_line under settings of its own (s4 and its like")));
}

// Neither a run that failed nor one that is printed as failed has a difference.
TEST(LeaderboardPublishedTest, FailuresHaveNoDifference) {
  const Leaderboard failed = Build(
      UnderLra2020({MakeRun({.method = "linear", .correct = 340}), MakeBaseline("majority", 340)}),
      {Load("lra2020")});
  EXPECT_THAT(RowOf(failed.tables.at(0).published.at(0), "linear").ours, IsEmpty());
  const Leaderboard printed = Build(UnderLra2020({MakeRun({.task = "pathx"})}), {Load("lra2020")});
  EXPECT_THAT(RowOf(printed.tables.at(0).published.at(0), "linear").ours, IsEmpty());
  EXPECT_THAT(WriteLeaderboard(printed, TableFormat::kMarkdown),
              HasSubstr("| Linear Trans. (published)"));
  EXPECT_THAT(WriteLeaderboard(printed, TableFormat::kMarkdown), HasSubstr("| FAIL"));
}

TEST(LeaderboardPublishedTest, SpreadsAndTheirMeaningAreShown) {
  const std::string text = WriteLeaderboard(Build({MakeRun({.method = "s4d"})}, {Load("s4_line")}),
                                            TableFormat::kMarkdown);
  EXPECT_THAT(text, HasSubstr("| 60.47 (0.34)"));
  EXPECT_THAT(text, HasSubstr("In brackets: standard deviation over seeds."));
  EXPECT_THAT(text, HasSubstr("Published DSS (softmax): README.md of the repository of Gupta et "
                              "al., Diagonal State Spaces, 2022; evidence class P; "));
}

// What was recalled is in no table; an average that others than we could check is not ours to show.
TEST(LeaderboardPublishedTest, RecalledRowsAreNotShown) {
  PublishedTable table = Load("cosformer2022");
  table.mutable_rows(1)->set_evidence_class("R");
  const Leaderboard board = Build({MakeRun({.method = "linear"})}, {table});
  const PublishedRows& rows = board.tables.at(0).published.at(0);
  EXPECT_THAT(rows.rows, SizeIs(11));
  for (const TableFormat format :
       {TableFormat::kMarkdown, TableFormat::kCsv, TableFormat::kLatex, TableFormat::kJson}) {
    EXPECT_THAT(WriteLeaderboard(board, format), Not(HasSubstr("16.13")));
  }
  EXPECT_THAT(rows.table.note(), HasSubstr("nobody has read are left out (1)."));
}

// Accuracies in training, which are printed as a column of their own, stand beside ours in training
// and nowhere else.
TEST(LeaderboardPublishedTest, SplitsAreNotMixed) {
  LocatedRecord run = MakeRun({.method = "transformer", .task = "image"});
  const auto test_shown = Build({run}, {Load("lra2020_table3")}).tables.at(0).published;
  EXPECT_EQ(RowOf(test_shown.at(0), "transformer").cells.at(0)->value(), 42.44);

  for (SplitResult& result : *run.record.mutable_results()) {
    if (result.split() == "test") result.set_split("train");
  }
  const auto board =
      BuildLeaderboard({.runs = {run}, .unfinished = {}}, {Load("lra2020_table3"), Load("lra2020")},
                       {.split = "train"});
  ASSERT_TRUE(board.ok()) << board.status();
  const auto& shown = board->tables.at(0).published;
  ASSERT_THAT(shown, SizeIs(1));
  EXPECT_EQ(RowOf(shown[0], "transformer").cells.at(0)->value(), 69.45);
  EXPECT_THAT(board->tables[0].notes, Contains(HasSubstr("columns show on train.")));
}

// A column of another metric than the table's is not this table's, whatever its name.
TEST(LeaderboardPublishedTest, MetricsAreNotMixed) {
  PublishedTable table = Load("cosformer2022");
  PublishedColumn* column = table.add_columns();
  column->set_name("listops");
  column->set_metric("nats");
  const auto shown = Build(OnTasks(FiveTasks()), {table}).tables.at(0).published;
  ASSERT_THAT(shown, SizeIs(1));
  EXPECT_FALSE(RowOf(shown[0], "cosformer").cells.at(0));
  EXPECT_TRUE(RowOf(shown[0], "cosformer").cells.at(1));
  EXPECT_FALSE(RowOf(shown[0], "cosformer").average);
}

// Cells and averages go by the tasks that columns say, not by their names.
TEST(LeaderboardPublishedTest, ColumnsOfOtherNamesSayTheirTask) {
  PublishedTable table = Load("cosformer2022");
  for (PublishedRow& row : *table.mutable_rows()) {
    for (PublishedCell& cell : *row.mutable_cells()) {
      if (cell.column() == "image") cell.set_column("Image (%)");
    }
  }
  PublishedColumn* const column = table.add_columns();
  column->set_name("Image (%)");
  column->set_task("image");
  const auto shown = Build(OnTasks(FiveTasks()), {table}).tables.at(0).published;
  ASSERT_THAT(shown, SizeIs(1));
  const PublishedRows::Row& row = RowOf(shown[0], "cosformer");
  for (const auto& cell : row.cells) EXPECT_TRUE(cell);
  EXPECT_EQ(row.average, 55.23);
}

// The 2020 rows of the cosFormer paper are copies of the benchmark's own table.
TEST(LeaderboardPublishedTest, CopiesAreShownOnce) {
  const PublishedTable first = Load("lra2020"), second = Load("cosformer2022");
  const Leaderboard board = Build({MakeRun({})}, {first, second});
  const std::vector<PublishedRows>& shown = board.tables.at(0).published;
  ASSERT_EQ(shown.size(), 2);
  EXPECT_EQ(static_cast<int>(shown[0].rows.size()), first.rows_size());
  ASSERT_EQ(shown[1].rows.size(), 1);
  EXPECT_EQ(shown[1].rows[0].row.method(), "cosformer");
  EXPECT_THAT(shown[1].table.note(),
              HasSubstr("Rows that it shares with lra2020 are shown there only (11)."));
}

}  // namespace
}  // namespace lra
