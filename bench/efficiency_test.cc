#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "bench/attention_tables.h"
#include "bench/efficiency_grid.h"
#include "bench/efficiency_table.h"
#include "bench/figure.h"
#include "bench/gnuplot.h"
#include "bench/picture_test_util.h"
#include "bench/published_speeds.h"
#include "lra/config.h"
#include "lra/files.h"
#include "lra/folder_test_util.h"

namespace lra {
namespace {

using ::lra::testing::ExpectPictures;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

BenchRecord Cell(const std::string& attention, int64_t tokens, double seconds, int64_t bytes = 0) {
  BenchRecord record;
  record.set_regime("batch 1");
  BenchRequest* request = record.mutable_request();
  request->set_scope(BenchRequest::STEP);
  request->set_mode(BenchRequest::TRAINING);
  request->set_attention(attention);
  request->set_tokens(tokens);
  request->set_batch(1);
  request->set_heads(2);
  request->set_head_width(32);
  record.mutable_result()->set_outcome(BenchResult::MEASURED);
  record.mutable_result()->mutable_passes()->add_seconds(seconds);
  record.mutable_result()->mutable_passes()->set_peak_bytes(bytes);
  record.mutable_result()->set_minimum_bytes(bytes / 2);
  return record;
}

std::vector<BenchRecord> Cells() {
  std::vector<BenchRecord> records;
  for (int64_t n = 1024; n <= 8192; n *= 2) {
    records.push_back(Cell("transformer", n, double(n) * n / 4096 * 1e-3, n * n));
    records.push_back(Cell("cosformer", n, double(n) * 1e-3, n * 1000));
  }
  records[6].mutable_result()->set_outcome(BenchResult::OUT_OF_MEMORY);
  return records;
}

TEST(GroupPanels, PutsMethodsOfOneSettingTogether) {
  std::vector<BenchRecord> records = Cells();
  records.push_back(Cell("cosformer", 1024, 1));
  records.back().mutable_request()->set_padded(true);
  const std::vector<Panel> panels = GroupPanels(records);
  ASSERT_THAT(panels, SizeIs(2));
  EXPECT_THAT(panels[0].series, SizeIs(2));
  EXPECT_EQ(panels[0].series[0].label, "transformer");
  EXPECT_THAT(panels[0].series[0].cells, SizeIs(4));
  EXPECT_THAT(TimePoints(panels[0].series[0]), SizeIs(3));  // one was out of memory
}

TEST(GroupSeries, TheLaterOfTwoCellsCounts) {
  const std::vector<Series> series =
      GroupSeries({Cell("linear", 2048, 1), Cell("linear", 1024, 1), Cell("linear", 2048, 5)});
  ASSERT_THAT(series, SizeIs(1));
  ASSERT_THAT(series[0].cells, SizeIs(2));
  EXPECT_EQ(TimePoints(series[0])[1].value, 5);
}

// One length and several widths of a head, as in Figure 5 of the Cottention paper.
TEST(GroupPanels, AtOneLengthTheAxisIsTheWidth) {
  std::vector<BenchRecord> records;
  for (const int width : {256, 64, 128}) {
    for (const char* attention : {"transformer", "cottention"}) {
      records.push_back(Cell(attention, 1024, width * 1e-3, width * 1000));
      records.back().mutable_request()->set_head_width(width);
    }
  }
  const std::vector<Panel> panels = GroupPanels(records);
  ASSERT_THAT(panels, SizeIs(1));
  EXPECT_EQ(panels[0].axis(), Axis::kHeadWidth);
  EXPECT_THAT(panels[0].title, HasSubstr("N = 1024, 2 heads of width D"));
  ASSERT_THAT(TimePoints(panels[0].series[1]), SizeIs(3));
  EXPECT_EQ(TimePoints(panels[0].series[1])[2].at, 256);
  EXPECT_THAT(*EfficiencyText(records, {}),
              HasSubstr("| attention   | D = 64 | D = 128 | D = 256 | exponent |"));
  EXPECT_THAT(GnuplotProgram(panels[0], "a"), HasSubstr("set xlabel \"D\""));
}

// Where widths are the axis, nothing may be read as a length.
TEST(PublishedSpeedsTable, IsNotOfWidths) {
  std::vector<BenchRecord> records;
  for (const int width : {64, 1024}) {
    for (const char* attention : {"transformer", "cosformer"}) {
      records.push_back(Cell(attention, 1000, 1e-3));
      records.back().mutable_request()->set_head_width(width);
    }
  }
  const PublishedSpeeds table5 = *LoadPublishedSpeeds("cosformer2022");
  EXPECT_THAT(PublishedSpeedsTable(table5, GroupPanels(records)[0], "transformer").rows, IsEmpty());
}

TEST(GroupPanels, StreamsOfSeveralWidthsStayApart) {
  std::vector<BenchRecord> records;
  for (const int width : {32, 64}) {
    records.push_back(Cell("linear", 512, 1e-3));
    records.back().mutable_request()->set_head_width(width);
    records.back().mutable_request()->set_mode(BenchRequest::STREAMING);
  }
  EXPECT_THAT(GroupPanels(records), SizeIs(2));
}

TEST(StreamTable, SetsEachLengthBesideTheFirst) {
  std::vector<BenchRecord> records = {Cell("linear", 64, 2e-3), Cell("linear", 3072, 3e-3)};
  for (BenchRecord& record : records) record.mutable_request()->set_mode(BenchRequest::STREAMING);
  const TextTable table = StreamTable(GroupPanels(records)[0]);
  ASSERT_THAT(table.rows, SizeIs(2));
  EXPECT_EQ(table.rows[0][3], "1.00");
  EXPECT_EQ(table.rows[1][3], "1.50");
  EXPECT_EQ(table.rows[1][5], "1");
  EXPECT_EQ(table.rows[1][6], "0.003");
  EXPECT_THAT(*EfficiencyText(records, {}), HasSubstr("times that of the first N"));
}

TEST(EfficiencyText, HasTimesExponentsMemoryAndCrossings) {
  const std::string text = *EfficiencyText(Cells(), {});
  EXPECT_THAT(text, HasSubstr("| attention   |    1K |   2K |   4K |            8K | exponent |"));
  EXPECT_THAT(text, HasSubstr("| transformer | 256.0 | 1024 | 4096 | out of memory |     2.00 |"));
  EXPECT_THAT(text, HasSubstr("2.05 (2.00)"));  // 2,048 kB of tensors, twice the least
  EXPECT_THAT(text, Not(HasSubstr("| cosformer | transformer")));  // both take the same at 4K
}

TEST(CrossoverTable, SaysFromWhichLengthOn) {
  std::vector<BenchRecord> records = Cells();
  records[6].mutable_result()->set_outcome(BenchResult::MEASURED);
  const TextTable table = CrossoverTable("", GroupPanels(records)[0].series);
  ASSERT_THAT(table.rows, SizeIs(1));
  EXPECT_EQ(table.rows[0], (std::vector<std::string>{"cosformer", "transformer", "4096"}));
}

TEST(EfficiencyText, HasCsv) {
  EfficiencyTableChoice choice;
  choice.is_csv = true;
  EXPECT_THAT(*EfficiencyText(Cells(), choice), HasSubstr(",transformer,256.0,1024,4096,out of"));
}

TEST(PublishedSpeedsTable, SetsPrintedRatiosBesideOurs) {
  const PublishedSpeeds table5 = *LoadPublishedSpeeds("cosformer2022");
  const TextTable table = PublishedSpeedsTable(table5, GroupPanels(Cells())[0], "transformer");
  ASSERT_THAT(table.rows, SizeIs(2));
  EXPECT_EQ(table.rows[1][0], "cosFormer");
  EXPECT_EQ(table.rows[1][1], "1.77 / 0.25");  // 12.27 / 6.95; 256 ms against 1,024
  EXPECT_EQ(table.rows[1][3], "– / –");        // the paper's transformer is out of memory at 3K
}

TEST(PublishedSpeedsTable, IsOfWholeModelsOnly) {
  std::vector<BenchRecord> records = Cells();
  for (BenchRecord& record : records) record.mutable_request()->set_scope(BenchRequest::OPERATOR);
  const PublishedSpeeds table5 = *LoadPublishedSpeeds("cosformer2022");
  EXPECT_THAT(PublishedSpeedsTable(table5, GroupPanels(records)[0], "transformer").rows, IsEmpty());
}

TEST(PublishedSpeeds, EveryFileHasASpeedForEachLengthAndKnownNames) {
  const std::vector<std::string> attentions = ConfigNames("attentions");
  for (const std::string& name : ConfigNames("published_speeds")) {
    const auto published = LoadPublishedSpeeds(name);
    ASSERT_TRUE(published.ok()) << published.status();
    EXPECT_NE(published->source(), "");
    EXPECT_THAT(published->evidence_class(), ::testing::AnyOf("P", "S"));
    for (const auto& row : published->rows()) {
      EXPECT_THAT(attentions, ::testing::Contains(row.attention()));
      EXPECT_EQ(row.training_size(), published->tokens_size());
    }
  }
  EXPECT_THAT(std::string(LoadPublishedSpeeds("none").status().message()),
              HasSubstr("cosformer2022"));
}

TEST(PublishedSpeeds, AreShownAsPrinted) {
  const TextTable cosformer = PrintedSpeedsTable(*LoadPublishedSpeeds("cosformer2022"));
  ASSERT_THAT(cosformer.header, SizeIs(1 + 4 + 4));  // no memory
  EXPECT_EQ(cosformer.header[1], "training, 1000");
  EXPECT_EQ(cosformer.rows[0][1], "6.95");
  EXPECT_EQ(cosformer.rows[0][3], "out of memory");
  const TextTable lra = PrintedSpeedsTable(*LoadPublishedSpeeds("lra2020"));
  ASSERT_THAT(lra.header, SizeIs(1 + 4 + 4));  // no inference
  EXPECT_EQ(lra.header[5], "peak GB, 1000");
  EXPECT_EQ(lra.rows[0][5], "0.85");
}

TEST(EfficiencyGrids, EveryFileHasCellsAndASource) {
  for (const std::string& name : ConfigNames("efficiency")) {
    auto grid = LoadEfficiencyGrid(name);
    ASSERT_TRUE(grid.ok()) << grid.status();
    EXPECT_NE(grid->source(), "") << name;
    EXPECT_NE(grid->note(), "") << name;
    for (const std::string& published : grid->published())
      EXPECT_TRUE(LoadPublishedSpeeds(published).ok()) << name;
    EfficiencyGrid whole = DefaultGrid();
    OverrideGrid(*grid, &whole);
    const auto plan = PlanOfGrid(whole);
    ASSERT_TRUE(plan.ok()) << name << ": " << plan.status();
    EXPECT_GE(ExpandGrid(*plan).size(), plan->methods.size()) << name;
  }
  EXPECT_THAT(std::string(LoadEfficiencyGrid("table5").status().message()),
              HasSubstr("cosformer_table5"));
}

TEST(EfficiencyGrids, ASmallTwinIsItsBaseButForWhatItSets) {
  const EfficiencyGrid base = *LoadEfficiencyGrid("cosformer_table5");
  const EfficiencyGrid small = *LoadEfficiencyGrid("cosformer_table5_small");
  EXPECT_EQ(small.attention_size(), base.attention_size());
  EXPECT_EQ(small.tokens(), base.tokens());
  EXPECT_EQ(small.batch(0), "2");
  EXPECT_EQ(small.batch_size(), 1);
  EXPECT_EQ(small.passes(), 3);
  EXPECT_EQ(small.source(), base.source());
  EXPECT_THAT(small.note(), HasSubstr(base.note() + ". The small twin"));
}

TEST(EfficiencyGrids, SizesOfAModelCanBeOtherThanThoseByName) {
  EfficiencyGrid grid = DefaultGrid();
  OverrideGrid(*LoadEfficiencyGrid("linear_transformers_table1"), &grid);
  const BenchRequest request = ExpandGrid(*PlanOfGrid(grid)).front().request();
  EXPECT_EQ(request.layers(), 8);
  EXPECT_EQ(request.heads(), 8);
  EXPECT_EQ(request.head_width(), 32);
  EXPECT_EQ(request.mlp_width(), 1024);
  EXPECT_EQ(grid.cell_seconds(), 60);
  EXPECT_EQ(LoadEfficiencyGrid("linear_transformers_table2")->cell_seconds(), 200);
}

TEST(EfficiencyGrids, ABaseMustStandAlone) {
  const TestFolder folder;
  const auto write = [&folder](const std::string& name, const std::string& text) {
    const std::string path = folder.File("efficiency/" + name + ".textproto");
    ASSERT_TRUE(WriteFileAtomically(path, text).ok());
  };
  ASSERT_TRUE(MakeDirectories(folder.File("efficiency")).ok());
  write("whole", "source: 'a' note: 'b' tokens: '512'");
  write("small", "base: 'whole' note: 'c'");
  write("smaller", "base: 'small'");
  write("lost", "base: 'nosuch'");
  const char* const before = getenv("LRA_CONFIGS");
  const std::string configs = before == nullptr ? "" : before;
  setenv("LRA_CONFIGS", folder.path().c_str(), 1);
  EXPECT_EQ(LoadEfficiencyGrid("small")->note(), "b. c");
  EXPECT_THAT(std::string(LoadEfficiencyGrid("smaller").status().message()),
              HasSubstr("smaller.textproto: base: \"small\" has a base itself"));
  EXPECT_THAT(std::string(LoadEfficiencyGrid("lost").status().message()),
              HasSubstr("lost.textproto: base: unknown grid \"nosuch\""));
  before == nullptr ? unsetenv("LRA_CONFIGS") : setenv("LRA_CONFIGS", configs.c_str(), 1);
}

TEST(EfficiencyGrids, WhatIsGivenGoesBefore) {
  EfficiencyGrid grid = *LoadEfficiencyGrid("cosformer_table5"), given;
  given.add_batch_tokens("4096");
  given.set_tokens("1024");
  OverrideGrid(given, &grid);
  grid.add_dtype("float32");
  grid.add_padding("none");
  const GridPlan plan = *PlanOfGrid(grid);
  EXPECT_THAT(plan.batches, IsEmpty());
  EXPECT_THAT(plan.tokens_in_batch, ::testing::ElementsAre(4096));
  EXPECT_THAT(plan.tokens, ::testing::ElementsAre(1024));
  EXPECT_THAT(plan.methods, SizeIs(12));
  EXPECT_EQ(plan.base.layers(), 4);
  EXPECT_EQ(plan.base.passes(), 50);
}

TEST(EfficiencyGrids, TokensOfABatchAreWholeExamples) {
  EfficiencyGrid grid = DefaultGrid();
  grid.set_tokens("512,768");
  grid.add_batch_tokens("1536");
  EXPECT_TRUE(PlanOfGrid(grid).ok());
  for (const char* tokens : {"256", "2048"}) {
    grid.set_batch_tokens(0, tokens);
    EXPECT_THAT(std::string(PlanOfGrid(grid).status().message()),
                HasSubstr(std::string("--batch-tokens: is ") + tokens + ", must be a multiple"));
  }
}

TEST(GnuplotProgram, DrawsEachSeriesWithItsData) {
  const std::string program = GnuplotProgram(GroupPanels(Cells())[0], "a");
  EXPECT_THAT(program, HasSubstr("set output 'a.svg'"));
  EXPECT_THAT(program, HasSubstr("$time0 << END\n1024 0.256\n"));
  EXPECT_THAT(program, HasSubstr("title 'cosformer'"));
}

TEST(GnuplotProgram, AColumnHasTicksAtPowersOfTwo) {
  std::vector<BenchRecord> records = Cells();
  EXPECT_THAT(GnuplotProgram(GroupPanels(records)[0], "a"),
              HasSubstr("set xrange [1022.98:8200.19]\nset xtics (1024, 2048, 4096, 8192)\n"));
  // Nine numbers would not fit.
  records.push_back(Cell("cosformer", 1 << 18, 1));
  EXPECT_THAT(GnuplotProgram(GroupPanels(records)[0], "a"),
              HasSubstr("set xtics (1024, 4096, 16384, 65536, 262144)\n"));
}

// Also where it is missing from one of the two plots.
TEST(GnuplotProgram, InAColumnAMethodHasOneLineType) {
  std::vector<BenchRecord> records = Cells();
  for (BenchRecord& record : records) {
    if (record.request().attention() == "transformer")
      record.mutable_result()->mutable_passes()->set_peak_bytes(0);
  }
  const std::string program = GnuplotProgram(GroupPanels(records)[0], "a");
  EXPECT_THAT(program, HasSubstr("plot $memory1 using 1:($2/1e6) with linespoints lt 2 ps 0.5 "));
  EXPECT_THAT(program, HasSubstr("NaN with linespoints lt 2 ps 0.5 title 'cosformer'\n"));
}

// gnuplot runs what stands in backquotes, but not inside of single quotes.
TEST(GnuplotText, IsATextAndNothingElse) {
  EXPECT_EQ(GnuplotText("a_b `rm` \"c\""), "'a\\_b `rm` \"c\"'");
  EXPECT_EQ(GnuplotText("it's\n{x}^2"), "'it''s \\{x\\}\\^2'");
}

TEST(DrawFigures, LeavesOutPanelsOfOneLength) {
  const std::vector<BenchRecord> one = {Cell("linear", 784, 1e-3), Cell("relu", 784, 2e-3)};
  // Nothing is to be drawn, so nothing is missing.
  const auto pictures = DrawFigures(GroupPanels(one), "/nowhere/e", "/no/gnuplot");
  ASSERT_TRUE(pictures.ok()) << pictures.status();
  EXPECT_THAT(*pictures, IsEmpty());
}

TEST(DrawFigures, DrawsEachFormat) {
  const TestFolder folder;
  const auto drawn = DrawFigures(GroupPanels(Cells()), folder.File("e"));
  if (drawn.status().code() == absl::StatusCode::kFailedPrecondition)
    GTEST_SKIP() << drawn.status();
  ASSERT_TRUE(drawn.ok()) << drawn.status();
  ASSERT_THAT(*drawn, ::testing::Contains(folder.File("e-1")));
  for (const std::string& stem : *drawn) ExpectPictures(stem);
}

TEST(DrawFigures, SaysWhatToInstall) {
  const TestFolder folder;
  const auto pictures = DrawFigures(GroupPanels(Cells()), folder.path() + "/e", "/no/gnuplot");
  EXPECT_EQ(pictures.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(pictures.status().message()), HasSubstr("install gnuplot"));
}

TEST(AttentionTables, StopGrowingWhereACellWouldTakeTooLong) {
  AttentionPlan plan;
  plan.methods = {{"transformer", {}, false}};
  plan.max_tokens = 8192;
  plan.cell_seconds = 10;
  plan.is_quiet = true;
  const CellRunner run = [](const BenchRequest& request) {
    BenchResult result = Cell("", 0, double(request.tokens()) * request.tokens() * 1e-6).result();
    if (!request.with_composition()) return result;
    result.set_batch(request.batch());
    result.set_composition_name("matmul, softmax, matmul");
    result.mutable_composition()->add_seconds(3 * MedianSeconds(result.passes()));
    return result;
  };
  const AttentionTables tables = MeasureAttentions(plan, {}, run);
  ASSERT_THAT(tables.growth, SizeIs(3));  // 1.0 s, 4.2 s, and 16.8 s that are not taken
  EXPECT_EQ(tables.growth[2].result().outcome(), BenchResult::SKIPPED);
  ASSERT_THAT(tables.speed, SizeIs(2));
  EXPECT_EQ(tables.speed[0].request().batch(), 16);
  EXPECT_THAT(AttentionText(tables), HasSubstr("3.00"));
}

}  // namespace
}  // namespace lra
