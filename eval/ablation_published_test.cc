#include "eval/ablation_published.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "eval/ablation_text.h"
#include "eval/crossed_test_util.h"

namespace lra {
namespace {

using ::lra::testing::RunsOf;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;

// One attention instead of another: rows A and B of data set P, 1.8 points apart, on each task.
AblationResult Compared(const std::string& reference, const std::string& level,
                        const std::vector<std::string>& tasks,
                        const std::string& factor = kAttentionFactor) {
  Ablation ablation;
  ablation.split = "test";
  ablation.factors = {{factor, {reference, level}}};
  for (const std::string& task : tasks)
    ablation.tasks.push_back({task, *FindMetric(kAccuracy), {0, 1, 2}, {RunsOf('B'), RunsOf('A')}});
  return AnalyseAblation(std::move(ablation), 0.95);
}

PublishedTable Printed(const std::string& name) {
  auto table = LoadPublishedTable(name);
  EXPECT_TRUE(table.ok()) << table.status();
  return table.ok() ? *table : PublishedTable();
}

// What is printed is of the test split.
TEST(AblationPublished, NothingStandsBesideEffectsOnAnotherSplit) {
  AblationResult result = Compared("relu", "cosformer", {"text", "image"});
  result.ablation.split = "validation";
  EXPECT_THAT(PrintedEffects(result, Printed("cosformer2022_table6")), IsEmpty());
}

// Averages over other tasks stand side by side, and it is said that they are others.
TEST(AblationPublished, AnAverageInPrintStandsBesideOurs) {
  const AblationResult result = Compared("relu", "cosformer", {"text", "image"});
  const PublishedTable table6 = Printed("cosformer2022_table6");
  const std::vector<PrintedEffect> effects = PrintedEffects(result, table6);
  ASSERT_THAT(effects, SizeIs(1));
  EXPECT_TRUE(effects[0].ours->is_average());
  EXPECT_THAT(effects[0].columns,
              ElementsAre("listops", "text", "retrieval", "image", "pathfinder32"));
  EXPECT_EQ(effects[0].level, "55.23");
  EXPECT_EQ(effects[0].reference, "54.20");
  const std::string text = PrintedEffectsText(result, table6);
  EXPECT_THAT(text,
              HasSubstr("| attention: cosformer - relu | the average of listops, text, retrieval, "
                        "image, pathfinder32 | +1.03 points (55.23 - 54.20) | the average of the "
                        "tasks | +1.8"));
  EXPECT_THAT(text, HasSubstr("confirms or refutes the other. Ours is another average: of image, "
                              "text. Averages alone, of one run a task; no intervals."));
}

TEST(AblationPublished, AnAverageOverOurTasksIsNoOther) {
  const AblationResult result =
      Compared("relu", "cosformer", {"listops", "text", "retrieval", "image", "pathfinder32"});
  const std::string text = PrintedEffectsText(result, Printed("cosformer2022_table6"));
  EXPECT_THAT(text, AllOf(HasSubstr("+1.03 points (55.23 - 54.20)"),
                          HasSubstr("neither difference confirms or refutes the other"),
                          Not(HasSubstr("another average"))));
}

TEST(AblationPublished, ColumnsOfATaskStandBesideTheEffectOnIt) {
  const AblationResult result = Compared("transformer", "cosformer", {"listops", "near_majority"});
  const PublishedTable table4 = Printed("cosformer2022");
  const std::vector<PrintedEffect> effects = PrintedEffects(result, table4);
  ASSERT_THAT(effects, SizeIs(2));  // on listops, and of the averages
  EXPECT_EQ(effects[0].ours->task, "listops");
  EXPECT_THAT(effects[0].columns, ElementsAre("listops"));
  const std::string text = PrintedEffectsText(result, table4);
  EXPECT_THAT(text, HasSubstr("| +1.53 points (37.90 - 36.37) | listops "));
  EXPECT_THAT(text, HasSubstr("| +0.84 points (55.23 - 54.39) | the average of the tasks "));
  EXPECT_THAT(text, EndsWith("cosFormer: the only row of its table that its authors trained; the "
                             "training code was not released.\n"));
  EXPECT_THAT(PrintedEffects(Compared("transformer", "cosformer", {"listops"}), table4), SizeIs(1));
}

TEST(AblationPublished, ColumnsOfOtherNamesSayTheirTask) {
  PublishedTable table;
  for (const char* name : {"Text (%)", "Image (%)"}) {
    PublishedColumn* const column = table.add_columns();
    column->set_name(name);
    column->set_metric(kAccuracy);
    column->set_task(column->name() == "Text (%)" ? "text" : "image");
  }
  const auto add_row = [&](const std::string& method, double text, double image) {
    PublishedRow* const row = table.add_rows();
    row->set_method(method);
    row->add_cells()->set_column("Text (%)");
    row->mutable_cells(0)->set_value(text);
    row->add_cells()->set_column("Image (%)");
    row->mutable_cells(1)->set_value(image);
    row->set_average((text + image) / 2);
  };
  add_row("relu", 50, 60);
  add_row("cosformer", 52, 61);
  const AblationResult result = Compared("relu", "cosformer", {"text", "image"});
  std::map<std::string, std::vector<std::string>> columns;
  for (const PrintedEffect& effect : PrintedEffects(result, table))
    columns[effect.ours->task] = effect.columns;
  EXPECT_THAT(columns, ElementsAre(Pair("", ElementsAre("Text (%)", "Image (%)")),
                                   Pair("image", ElementsAre("Image (%)")),
                                   Pair("text", ElementsAre("Text (%)"))));
  EXPECT_THAT(
      PrintedEffectsText(result, table),
      AllOf(HasSubstr("+2.00 points (52.00 - 50.00)"), HasSubstr("+1.00 points (61.00 - 60.00)"),
            HasSubstr("the average of Text (%), Image (%) | +1.50 points (56.50 - 55.00)"),
            Not(HasSubstr("another average"))));
}

TEST(AblationPublished, WhatIsNotPrintedHasNoRow) {
  const std::vector<std::string> tasks = {"text", "image"};
  const PublishedTable table6 = Printed("cosformer2022_table6");
  EXPECT_THAT(PrintedEffects(Compared("relu", "linear", tasks), table6), IsEmpty());
  EXPECT_THAT(PrintedEffects(Compared("relu", "cosformer", tasks, "feature_map"), table6),
              IsEmpty());
  EXPECT_EQ(PrintedEffectsText(Compared("relu", "linear", tasks), table6),
            "\nPublished cosformer2022_table6 (Qin et al., cosFormer: Rethinking Softmax in "
            "Attention, ICLR 2022, Table 6) prints none of these effects.\n");
  const AblationResult result = Compared("relu", "cosformer", tasks);
  PublishedTable twice = table6;
  *twice.add_rows() = table6.rows(0);
  EXPECT_THAT(PrintedEffects(result, twice), IsEmpty());
  PublishedTable unlike = table6;
  unlike.mutable_rows(0)->add_average_of("pathx");
  EXPECT_THAT(PrintedEffects(result, unlike), IsEmpty());
  PublishedTable in_nats = table6;
  PublishedColumn* const column = in_nats.add_columns();
  column->set_name("listops");
  column->set_metric("nats");
  EXPECT_THAT(PrintedEffects(result, in_nats), IsEmpty());
}

TEST(AblationPublished, ReportsHoldWhatIsPrinted) {
  AblationReport report = {"mine", "", {Compared("relu", "cosformer", {"text", "image"})}};
  EXPECT_THAT(WriteAblation(report), Not(HasSubstr("In print")));
  report.published = {Printed("cosformer2022_table6")};
  EXPECT_THAT(WriteAblation(report),
              HasSubstr("they claim nothing.\n\nIn print, not measured here: "
                        "cosformer2022_table6 (Qin et al., "));
  const auto json = nlohmann::json::parse(WriteAblationJson(report));
  const auto& printed = json["designs"][0]["published"][0];
  EXPECT_EQ(printed["table"], "cosformer2022_table6");
  ASSERT_EQ(printed["effects"].size(), 1u);
  EXPECT_EQ(printed["effects"][0]["printed"], 55.23);
  EXPECT_EQ(printed["effects"][0]["printed_reference"], 54.2);
  EXPECT_EQ(printed["effects"][0]["columns"].size(), 5u);
}

}  // namespace
}  // namespace lra
