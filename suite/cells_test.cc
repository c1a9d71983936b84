#include "suite/cells.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "lra/config.h"

namespace lra {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

SuiteFile Grid() {
  SuiteFile suite;
  SuiteGroup* group = suite.add_group();
  group->add_task("listops");
  group->add_task("image");
  group->add_attention("relu");
  group->add_attention("cosformer");
  group->set_seeds("0-1");
  group->set_preset("smoke");
  group->add_set("train.steps=5");
  SuiteTask* task = group->add_for_task();
  task->set_task("image");
  task->add_set("train.steps=7");
  SuiteFactor* factor = group->add_factor();
  factor->set_name("positions");
  for (const auto& [name, value] :
       {std::pair("some", "SINUSOID"), std::pair("no", "NO_POSITIONS")}) {
    SuiteLevel* level = factor->add_level();
    level->set_name(name);
    level->add_set(absl::StrCat("model.positions=", value));
  }
  return suite;
}

TEST(ExpandSuite, IsTheProductSeedBySeed) {
  const std::vector<SuiteCell> cells = *ExpandSuite(Grid());
  ASSERT_THAT(cells, SizeIs(2 * 2 * 2 * 2));
  for (size_t i = 0; i < cells.size(); ++i) {
    EXPECT_EQ(cells[i].seed, i < 8 ? 0 : 1) << i;
    EXPECT_EQ(cells[i].config.seed(), cells[i].seed);
    EXPECT_EQ(cells[i].config.train().steps(), cells[i].config.task() == "image" ? 7 : 5);
  }
  EXPECT_EQ(cells[0].config.attention().name(), "relu");
  EXPECT_EQ(cells[1].config.model().positions(), ModelConfig::NO_POSITIONS);
}

TEST(ExpandSuite, NamesARunOnceHoweverOftenGroupsNameIt) {
  SuiteFile suite = Grid();
  *suite.add_group() = suite.group(0);
  EXPECT_THAT(*ExpandSuite(suite), SizeIs(16));
  suite.mutable_group(1)->set_seeds("1-2");
  EXPECT_THAT(*ExpandSuite(suite), SizeIs(24));
}

TEST(ExpandSuite, SaysWhichGroupIsWrong) {
  SuiteFile suite = Grid();
  suite.add_group()->add_task("listops");
  EXPECT_THAT(std::string(ExpandSuite(suite).status().message()),
              HasSubstr("group 2: it names no attention"));
  suite = Grid();
  suite.mutable_group(0)->set_attention(0, "rellu");
  EXPECT_THAT(std::string(ExpandSuite(suite).status().message()), HasSubstr("did you mean"));
  suite = Grid();
  suite.mutable_group(0)->mutable_for_task(0)->set_task("text");
  EXPECT_THAT(std::string(ExpandSuite(suite).status().message()),
              HasSubstr("\"text\" is no task of the group"));
  suite = Grid();
  suite.mutable_group(0)->mutable_factor(0)->mutable_level()->RemoveLast();
  EXPECT_THAT(std::string(ExpandSuite(suite).status().message()), HasSubstr("has 1 levels"));
  EXPECT_FALSE(ExpandSuite(SuiteFile()).ok());
  suite = Grid();
  suite.mutable_group(0)->mutable_factor(0)->mutable_level(1)->set_set(0,
                                                                       "model.positions=SINUSOID");
  EXPECT_THAT(std::string(ExpandSuite(suite).status().message()),
              HasSubstr("listops, relu: \"positions some\" and \"positions no\" are the same"));
}

TEST(ShardOf, PartsAreDisjointAndWhole) {
  const std::vector<SuiteCell> cells = *ExpandSuite(Grid());
  const std::vector<double> costs(cells.size(), 1);
  std::vector<std::string> names, all;
  for (const SuiteCell& cell : cells) all.push_back(cell.name);
  for (const char* shard : {"0/3", "1/3", "2/3"}) {
    const std::vector<SuiteCell> part = *ShardOf(cells, costs, shard);
    for (const SuiteCell& cell : part) names.push_back(cell.name);
  }
  EXPECT_THAT(names, ::testing::UnorderedElementsAreArray(all));
  for (const char* wrong : {"3/3", "1", "a/2", "1/0", "-1/2"})
    EXPECT_FALSE(ShardOf(cells, costs, wrong).ok()) << wrong;
}

TEST(LoadSuite, EveryFileOfTheProjectExpands) {
  for (const std::string& name : ConfigNames("suites")) {
    const auto suite = LoadSuite(name);
    ASSERT_TRUE(suite.ok()) << suite.status();
    EXPECT_NE(suite->description(), "") << name;
    const auto cells = ExpandSuite(*suite);
    EXPECT_TRUE(cells.ok()) << name << ": " << cells.status();
  }
  EXPECT_THAT(std::string(LoadSuite("none").status().message()), HasSubstr("listops_smoke"));
  EXPECT_EQ(SuiteName("a/b/mine.textproto"), "mine");
  EXPECT_EQ(SuiteName("mine"), "mine");
}

}  // namespace
}  // namespace lra
