#include "tasks/listops/tree_generator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "lra/config.h"
#include "tasks/listops/oracle.h"
#include "tasks/listops/vocabulary.h"

namespace lra::listops {
namespace {

ListOpsOptions Options(int min_length, int max_length, int depth) {
  ListOpsOptions options;
  options.set_max_depth(depth);
  options.set_max_arguments(10);
  options.set_operator_probability(0.25);
  options.set_min_length_tokens(min_length);
  options.set_max_length_tokens(max_length);
  return options;
}

RandomStream Stream(uint32_t attempt) {
  return RandomStream(7, RandomDomain("listops"), {attempt, 0, 0});
}

TEST(TreeGeneratorTest, KeepsTreesOfTheRightLengthAndValue) {
  const TreeGenerator generator(Options(20, 60, 5));
  EncodedExample tree;
  int kept = 0, shortest = 1000, longest = 0;
  for (uint32_t i = 0; i < 20000; ++i) {
    RandomStream random = Stream(i);
    if (!generator.Draw(&random, &tree)) continue;
    ++kept;
    shortest = std::min<int>(shortest, tree.tokens.size());
    longest = std::max<int>(longest, tree.tokens.size());
    const auto value = Evaluate(tree.tokens);
    ASSERT_TRUE(value.ok()) << value.status();
    EXPECT_EQ(*value, tree.label);
  }
  EXPECT_GT(kept, 500);
  EXPECT_EQ(shortest, 21);
  EXPECT_EQ(longest, 59);
}

// Stopping early refuses exactly the trees that drawing to the end would refuse.
TEST(TreeGeneratorTest, StoppingEarlyChangesNothing) {
  const TreeGenerator limited(Options(3, 40, 5)), unlimited(Options(3, 1 << 20, 5));
  EncodedExample a, b;
  int kept = 0, refused = 0;
  for (uint32_t i = 0; i < 5000; ++i) {
    RandomStream random_a = Stream(i), random_b = Stream(i);
    const bool is_kept = limited.Draw(&random_a, &a);
    const bool other = unlimited.Draw(&random_b, &b);
    ASSERT_EQ(is_kept, other && b.tokens.size() < 40);
    EXPECT_TRUE(!is_kept || a.tokens == b.tokens);
    kept += is_kept;
    refused += other && !is_kept;
  }
  EXPECT_GT(kept, 100);
  EXPECT_GT(refused, 100);
}

TEST(TreeGeneratorTest, DepthBoundsTheTree) {
  const TreeGenerator generator(Options(1, 1000, 2));
  EXPECT_EQ(generator.LongestTree(), 12);
  EXPECT_EQ(TreeGenerator(Options(1, 1000, 3)).LongestTree(), 122);
  EncodedExample tree;
  std::map<size_t, int> arguments;
  for (uint32_t i = 0; i < 4000; ++i) {
    RandomStream random = Stream(i);
    if (!generator.Draw(&random, &tree)) continue;
    EXPECT_TRUE(IsOperator(tree.tokens.front()));
    for (size_t j = 1; j + 1 < tree.tokens.size(); ++j) EXPECT_TRUE(IsDigit(tree.tokens[j]));
    ++arguments[tree.tokens.size() - 2];
  }
  EXPECT_EQ(arguments.size(), 9u);
  EXPECT_EQ(arguments.begin()->first, 2u);
  EXPECT_EQ(arguments.rbegin()->first, 10u);
  for (const auto& [count, seen] : arguments) EXPECT_GT(seen, 60) << count;
}

}  // namespace
}  // namespace lra::listops
