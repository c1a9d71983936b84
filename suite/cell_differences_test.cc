#include "suite/cell_differences.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "suite/plan.h"
#include "suite/state.h"

namespace lra {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

void AddLevel(const std::string& set, SuiteFactor* factor) {
  SuiteLevel* level = factor->add_level();
  level->set_name(set);
  level->add_set(set);
}

// Two seeds of one method on one task.
SuiteGroup OneMethod(const std::string& attention) {
  SuiteGroup group;
  group.add_task("listops");
  group.add_attention(attention);
  group.set_seeds("0-1");
  group.set_preset("smoke");
  return group;
}

std::vector<SuiteCell> Expanded(const SuiteFile& suite) {
  auto cells = ExpandSuite(suite);
  EXPECT_TRUE(cells.ok()) << cells.status();
  return cells.value_or(std::vector<SuiteCell>());
}

// Each combination of the levels.
std::vector<SuiteCell> Crossed(const std::vector<std::vector<std::string>>& factors) {
  SuiteFile suite;
  SuiteGroup* group = suite.add_group();
  *group = OneMethod("relu");
  for (const std::vector<std::string>& levels : factors) {
    SuiteFactor* factor = group->add_factor();
    factor->set_name(levels[0]);
    for (const std::string& level : levels) AddLevel(level, factor);
  }
  return Expanded(suite);
}

// The texts of all cells of the first seed, in the suite's order.
std::vector<std::string> Texts(const std::vector<SuiteCell>& cells) {
  const CellDifferences differences = DifferencesOf(cells);
  std::vector<std::string> texts;
  for (const SuiteCell& cell : cells) {
    if (cell.seed == 0) texts.push_back(DifferencesText(differences, cell));
  }
  return texts;
}

TEST(CellDifferencesTest, NameEachFactorsLevel) {
  EXPECT_THAT(Texts(Crossed({{"model.positions=SINUSOID", "model.positions=NO_POSITIONS"},
                             {"train.steps=5", "train.steps=6", "train.steps=7"}})),
              ElementsAre("model.positions=SINUSOID, train.steps=5",
                          "model.positions=SINUSOID, train.steps=6",
                          "model.positions=SINUSOID, train.steps=7",
                          "model.positions=NO_POSITIONS, train.steps=5",
                          "model.positions=NO_POSITIONS, train.steps=6",
                          "model.positions=NO_POSITIONS, train.steps=7"));
}

// One option a cell, beside a cell without any.
std::vector<SuiteCell> OneOptionEach() {
  SuiteFile suite;
  SuiteGroup* group = suite.add_group();
  *group = OneMethod("relu");
  for (const char* set : {"model.stem_tokens=7", "model.pooling=MAX"}) {
    SuitePair* pair = group->add_pair();
    pair->set_name(set);
    pair->mutable_first();
    pair->mutable_second()->add_set(set);
  }
  // Another method has its own others.
  *suite.add_group() = OneMethod("linear");
  return Expanded(suite);
}

TEST(CellDifferencesTest, LeaveOutWhatMostHave) {
  EXPECT_THAT(Texts(OneOptionEach()),
              ElementsAre("", "model.stem_tokens=7", "model.pooling=MAX", ""));
}

TEST(CellDifferencesTest, StandInStatusAndPlan) {
  const std::vector<SuiteCell> cells = OneOptionEach();
  const std::vector<CellStatus> statuses(cells.size());
  const std::string stem = CellName(cells[1]);
  const std::string status = StatusText(cells, statuses);
  EXPECT_THAT(status, HasSubstr(absl::StrCat(stem, "-s1  model.stem_tokens=7  waiting\n")));
  EXPECT_THAT(status, HasSubstr("listops-linear-smoke-s1                              waiting\n"));
  const auto runs = StatusJson(cells, statuses)["runs"];
  EXPECT_EQ(runs[1]["set_apart_by"], std::vector<std::string>{"model.stem_tokens=7"});
  EXPECT_FALSE(runs[0].contains("set_apart_by"));

  const SuitePlan plan = MakePlan("", cells, statuses, {}, {});
  const std::string text = PlanText(cells, plan);
  EXPECT_THAT(text, HasSubstr("  set apart by         left    a run"));
  EXPECT_THAT(text, HasSubstr(absl::StrCat(stem, "  model.stem_tokens=7  2 of 2")));
  const auto planned = PlanJson(cells, plan)["cells"];
  EXPECT_EQ(planned[1]["set_apart_by"], std::vector<std::string>{"model.stem_tokens=7"});
}

TEST(CellDifferencesTest, AreNoneWhereNamesSayAll) {
  const std::vector<SuiteCell> all = OneOptionEach();
  const std::vector<SuiteCell> cells = {all[0], all[3]};
  EXPECT_THAT(DifferencesOf(cells), IsEmpty());
  EXPECT_THAT(StatusText(cells, std::vector<CellStatus>(2)),
              HasSubstr("listops-linear-smoke-s0  waiting\n"));
  EXPECT_THAT(PlanText(cells, MakePlan("", cells, std::vector<CellStatus>(2), {}, {})),
              Not(HasSubstr("set apart")));
}

}  // namespace
}  // namespace lra
