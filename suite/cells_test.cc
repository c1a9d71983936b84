#include "suite/cells.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lra/fingerprint.h"

namespace lra {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
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

TEST(ExpandSuite, SeedsAreNamedByTheListAlone) {
  SuiteFile suite = Grid();
  suite.mutable_group(0)->add_set("seed=5");
  EXPECT_THAT(std::string(ExpandSuite(suite).status().message()),
              HasSubstr("seed=5 changes nothing: --seeds, or `seeds` of a suite, names the seeds"));
}

// Eight digits that agree by chance cannot be waited for, so a cell is given another's name.
TEST(EachRunOnce, UnlikeConfigurationsOfOneNameAreRefused) {
  std::vector<SuiteCell> cells = *ExpandSuite(Grid());
  cells.resize(2);  // the two levels of positions
  std::vector<SuiteCell> shared = cells;
  shared.push_back(cells[0]);
  const auto once = EachRunOnce(shared);
  ASSERT_TRUE(once.ok()) << once.status();
  ASSERT_THAT(*once, SizeIs(2));
  EXPECT_EQ((*once)[0].name, cells[0].name);
  EXPECT_EQ((*once)[1].name, cells[1].name);

  shared[1].name = cells[0].name;
  const absl::Status refused = EachRunOnce(shared).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(
      std::string(refused.message()),
      AllOf(HasSubstr(absl::StrCat("would be one run, ", cells[0].name)),
            HasSubstr(absl::StrCat("listops with relu (train.steps=5, model.positions=SINUSOID), "
                                   "fingerprint ",
                                   CellFingerprint(cells[0].config))),
            HasSubstr(absl::StrCat("train.steps=5, model.positions=NO_POSITIONS), fingerprint ",
                                   CellFingerprint(cells[1].config)))));
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
  for (const int32_t index : {0, 1, 2}) {
    for (const SuiteCell& cell : ShardOf(cells, costs, {index, 3})) names.push_back(cell.name);
  }
  EXPECT_THAT(names, ::testing::UnorderedElementsAreArray(all));
  for (const char* wrong : {"3/3", "1", "a/2", "1/0", "-1/2"})
    EXPECT_FALSE(ParsePart(wrong).ok()) << wrong;
}

// The first parts have one run each, however many parts there are.
TEST(ShardOf, MorePartsThanRunsAreEmpty) {
  std::vector<SuiteCell> cells(2);
  cells[0].name = "cheap";
  cells[1].name = "costly";
  const auto names = [&](int32_t index, int32_t parts) {
    std::vector<std::string> found;
    for (const SuiteCell& cell : ShardOf(cells, {1, 2}, {index, parts})) found.push_back(cell.name);
    return found;
  };
  for (const int32_t parts : {3, std::numeric_limits<int32_t>::max()}) {
    EXPECT_THAT(names(0, parts), ElementsAre("costly"));
    EXPECT_THAT(names(1, parts), ElementsAre("cheap"));
    EXPECT_THAT(names(parts - 1, parts), SizeIs(0));
  }
}

TEST(ShardOf, PartsAreEqualInCostSeedBySeed) {
  std::vector<SuiteCell> cells;
  std::vector<double> costs;
  for (const uint32_t seed : {0u, 1u}) {
    for (const double cost : {1.0, 1.0, 1.0, 1.0, 4.0}) {
      SuiteCell cell;
      cell.seed = seed;
      cell.name = absl::StrCat("cell", cells.size(), "-s", seed);
      cells.push_back(cell);
      costs.push_back(cost);
    }
  }
  // The run that costs 4 is one part of each seed, the four others are the other.
  const std::vector<SuiteCell> first = ShardOf(cells, costs, {0, 2});
  std::vector<std::string> names;
  for (const SuiteCell& cell : first) names.push_back(cell.name);
  EXPECT_THAT(names, ElementsAre("cell4-s0", "cell9-s1"));
  EXPECT_THAT(ShardOf(cells, costs, {1, 2}), SizeIs(8));
}

// Adds a group of one preset, without tasks and attentions.
SuiteGroup* AddGroup(SuiteFile* suite) {
  SuiteGroup* group = suite->add_group();
  group->set_preset("smoke");
  group->set_seeds("0-1");
  return group;
}

TEST(ExpandSuite, AListHasItsCellsAndNoOthers) {
  SuiteFile suite;
  SuiteGroup* group = AddGroup(&suite);
  SuiteCase* first = group->add_cell();
  first->set_task("listops");
  first->set_attention("relu");
  first->add_set("train.steps=3");
  SuiteCase* second = group->add_cell();
  second->set_attention("linear");
  EXPECT_THAT(std::string(ExpandSuite(suite).status().message()), HasSubstr("names no task"));
  group->add_task("image");
  group->add_task("text");
  const std::vector<SuiteCell> cells = *ExpandSuite(suite);
  ASSERT_THAT(cells, SizeIs(2 * (1 + 2)));
  EXPECT_EQ(cells[0].config.task(), "listops");
  EXPECT_EQ(cells[0].config.train().steps(), 3);
  EXPECT_EQ(cells[1].config.task(), "image");
  EXPECT_EQ(cells[2].config.attention().name(), "linear");
}

SuiteFile Paired() {
  SuiteFile suite;
  SuiteGroup* group = AddGroup(&suite);
  group->add_task("listops");
  group->add_task("text");
  SuitePair* pair = group->add_pair();
  pair->set_name("re-weighting");
  pair->mutable_first()->set_attention("relu");
  pair->mutable_second()->set_attention("cosformer");
  pair = group->add_pair();
  pair->set_name("positions");
  pair->mutable_first()->set_attention("relu");
  pair->mutable_second()->set_attention("relu");
  pair->mutable_second()->add_set("model.positions=NO_POSITIONS");
  return suite;
}

TEST(ExpandSuite, MakesTheRunsOfPairs) {
  // The ReLU runs of both pairs are the same.
  const std::vector<SuiteCell> cells = *ExpandSuite(Paired());
  ASSERT_THAT(cells, SizeIs(2 * 2 * 3));
  std::vector<std::string> names;
  for (const SuiteCell& cell : cells) names.push_back(cell.name);
  EXPECT_THAT(names, IsSupersetOf({"listops-relu-smoke-s0", "listops-cosformer-smoke-s0",
                                   "text-relu-smoke-s1", "text-cosformer-smoke-s1"}));
}

TEST(ExpandSuite, RefusesANameThatNoPageShows) {
  SuiteFile suite;
  SuiteGroup* const group = AddGroup(&suite);
  group->add_task("listops");
  group->add_cell()->set_name("mine");
  EXPECT_THAT(std::string(ExpandSuite(suite).status().message()),
              HasSubstr("cell \"mine\": names are for the two cells of a pair"));
}

TEST(ExpandSuite, RefusesFactorsAndLevelsThatNamesDoNotTellApart) {
  const auto refusal = [](const std::vector<std::vector<std::string>>& factors) {
    SuiteFile suite;
    SuiteGroup* const group = AddGroup(&suite);
    group->add_task("listops");
    group->add_attention("relu");
    for (const std::vector<std::string>& names : factors) {
      SuiteFactor* const factor = group->add_factor();
      factor->set_name(names[0]);
      for (size_t l = 1; l < names.size(); ++l) factor->add_level()->set_name(names[l]);
    }
    return std::string(ExpandSuite(suite).status().message());
  };
  EXPECT_THAT(refusal({{"positions", "none", "none"}}),
              HasSubstr("a level of factor \"positions\" is named \"none\", as another is"));
  EXPECT_THAT(refusal({{"positions", "none", ""}}),
              HasSubstr("a level of factor \"positions\" has no name"));
  EXPECT_THAT(refusal({{"heads", "1", "2"}, {"heads", "3", "4"}}),
              HasSubstr("a factor is named \"heads\", as another is"));
  EXPECT_THAT(refusal({{"", "1", "2"}}), HasSubstr("a factor has no name"));
}

TEST(ExpandSuite, RefusesFactorsOfExplicitCells) {
  SuiteFile suite = Grid();
  suite.mutable_group(0)->add_cell()->set_attention("relu");
  EXPECT_THAT(std::string(ExpandSuite(suite).status().message()),
              HasSubstr("group 1: it has `factor` (\"positions\") and `cell`, so that nothing "));
  suite.mutable_group(0)->clear_factor();
  EXPECT_TRUE(ExpandSuite(suite).ok());
  // Factors beside pairs are a design.
  suite = Paired();
  *suite.mutable_group(0)->add_factor() = Grid().group(0).factor(0);
  suite.mutable_group(0)->mutable_pair()->RemoveLast();  // it sets what the factor does
  EXPECT_TRUE(ExpandSuite(suite).ok()) << ExpandSuite(suite).status();
}

TEST(ExpandSuite, RefusesWhatIsNoPair) {
  const auto refusal = [](const std::function<void(SuitePair*)>& spoil) {
    SuiteFile suite = Paired();
    spoil(suite.mutable_group(0)->mutable_pair(0));
    return std::string(ExpandSuite(suite).status().message());
  };
  EXPECT_THAT(refusal([](SuitePair* pair) { pair->clear_second(); }),
              HasSubstr("group 1: pair \"re-weighting\" needs `first` and `second`"));
  EXPECT_THAT(refusal([](SuitePair* pair) { pair->clear_name(); }), HasSubstr("no name"));
  EXPECT_THAT(refusal([](SuitePair* pair) { pair->set_name("positions"); }),
              HasSubstr("two pairs are named"));
  EXPECT_THAT(refusal([](SuitePair* pair) { pair->mutable_first()->set_task("text"); }),
              HasSubstr("both cells are of the same task"));
  EXPECT_THAT(refusal([](SuitePair* pair) {
                pair->mutable_first()->set_name("both");
                pair->mutable_second()->set_name("both");
              }),
              HasSubstr("both cells are named \"both\""));
  EXPECT_THAT(refusal([](SuitePair* pair) { pair->mutable_first()->clear_attention(); }),
              HasSubstr("both cells name an attention"));
  EXPECT_THAT(refusal([](SuitePair* pair) { pair->mutable_second()->set_attention("relu"); }),
              HasSubstr("are the same configuration"));
  // A level that undoes what the second cell sets: the same run at that level alone.
  SuiteFile suite = Paired();
  SuiteFactor* const factor = suite.mutable_group(0)->add_factor();
  factor->set_name("length");
  factor->add_level()->set_name("as it is");
  factor->add_level()->set_name("other");
  factor->mutable_level(1)->add_set("model.positions=LEARNED");
  EXPECT_THAT(std::string(ExpandSuite(suite).status().message()),
              HasSubstr("pair \"positions\": both cells are the same configuration"));
}

TEST(ExpandSuite, EveryMethodHasAsManyTrials) {
  SuiteFile suite = Grid();
  SuiteSearch* search = suite.mutable_group(0)->mutable_search();
  for (const float rate : {1e-3f, 3e-3f}) search->add_learning_rate(rate);
  SuiteMethodSearch* other = search->add_for_attention();
  other->set_attention("relu");
  for (const float rate : {1e-4f, 3e-4f}) other->add_learning_rate(rate);
  const std::vector<SuiteCell> cells = *ExpandSuite(suite);
  for (const SuiteCell& cell : cells) {
    const SearchConfig& of_cell = cell.config.search();
    EXPECT_EQ(of_cell.budget_trials(), 2);
    EXPECT_EQ(of_cell.select(), SearchConfig::VALIDATION);
    EXPECT_THAT(of_cell.learning_rate(), cell.config.attention().name() == "relu"
                                             ? ElementsAre(1e-4f, 3e-4f)
                                             : ElementsAre(1e-3f, 3e-3f));
  }
  other->add_learning_rate(1e-3f);
  EXPECT_THAT(std::string(ExpandSuite(suite).status().message()),
              HasSubstr("\"relu\" has 3 learning rates, the others have 2"));
  other->set_attention("linear");
  EXPECT_THAT(std::string(ExpandSuite(suite).status().message()),
              HasSubstr("\"linear\" is no attention of the group"));
  // However the search is written.
  suite = Grid();
  for (const char* set :
       {"search.learning_rate=1e-3", "search.budget_trials=1", "search.select=VALIDATION"})
    suite.mutable_group(0)->mutable_for_task(0)->add_set(set);
  EXPECT_THAT(std::string(ExpandSuite(suite).status().message()),
              HasSubstr("has 1 trials of a search, "));
}

}  // namespace
}  // namespace lra
