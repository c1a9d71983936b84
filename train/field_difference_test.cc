#include "train/field_difference.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "lra/config.h"

namespace lra {
namespace {

ExperimentConfig ConfigOf(const std::vector<std::string>& sets) {
  ExperimentConfig config;
  for (const std::string& set : sets) EXPECT_EQ(SetField(&config, set), absl::OkStatus()) << set;
  return config;
}

TEST(FirstFieldDifferenceTest, NamesTheFirstThatCountsAndBothValues) {
  const ExperimentConfig here = ConfigOf({"model.width=64", "model.layers=2", "train.steps=5"});
  const ExperimentConfig there = ConfigOf({"model.width=32", "model.layers=2", "model.heads=4"});
  const auto first = [&](absl::string_view prefix) {
    const auto difference = FirstFieldDifference(here, there, [&](absl::string_view path) {
      return path.substr(0, prefix.size()) == prefix;
    });
    return difference ? DescribeDifference(*difference) : "none";
  };
  EXPECT_EQ(first(""), "model.heads is unset, that run has 4");
  EXPECT_EQ(first("model.w"), "model.width is 64, that run has 32");
  EXPECT_EQ(first("train.s"), "train.steps is 5, that run has unset");
  EXPECT_EQ(first("model.layers"), "none");
}

// Records from before a field stay comparable.
TEST(FirstFieldDifferenceTest, AYoungerFieldHasItsEarlierValue) {
  const auto all = [](absl::string_view) { return true; };
  const ExperimentConfig old = ConfigOf({"model.width=32"});
  EXPECT_FALSE(FirstFieldDifference(ConfigOf({"model.width=32", "model.stem_tokens=0"}), old, all));
  const auto difference =
      FirstFieldDifference(ConfigOf({"model.width=32", "model.stem_tokens=3"}), old, all);
  ASSERT_TRUE(difference);
  EXPECT_EQ(DescribeDifference(*difference), "model.stem_tokens is 3, that run has 0");
}

}  // namespace
}  // namespace lra
