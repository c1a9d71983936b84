#include "datasets/perturbation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace lra {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Example ids 7 and 8 with 10 and 6 tokens: 1, 2, 3, ...
HostBatch Texts() {
  HostBatch batch;
  batch.batch = 2;
  batch.length = 10;
  batch.tokens = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 1, 2, 3, 4, 5, 6, 0, 0, 0, 0};
  batch.lengths = {10, 6};
  batch.labels = {0, 1};
  batch.example_ids = {7, 8};
  return batch;
}

TaskSpec WordsSpec() {
  TaskSpec spec;
  spec.set_content(TaskSpec::TEXT);
  return spec;
}

std::vector<int32_t> Row(const HostBatch& batch, int64_t b) {
  return {batch.tokens.begin() + b * batch.length,
          batch.tokens.begin() + b * batch.length + batch.lengths[b]};
}

TEST(PerturbationTest, BlocksStayTogetherAndChangePlaces) {
  std::set<std::vector<int32_t>> orders;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    HostBatch batch = Texts();
    Perturb({Perturbation::kBlocks, 4}, WordsSpec(), seed, 0, &batch);
    std::vector<int32_t> heads;  // of the blocks 1..4, 5..8, 9..10
    const std::vector<int32_t> row = Row(batch, 0);
    for (size_t i = 0; i < row.size(); ++i) {
      const bool is_head = (row[i] - 1) % 4 == 0;
      if (is_head) heads.push_back(row[i]);
      if (!is_head) {
        ASSERT_EQ(row[i], row[i - 1] + 1) << "a block was cut";
      }
    }
    orders.insert(heads);
    EXPECT_THAT(std::vector<int32_t>(batch.tokens.begin() + 16, batch.tokens.end()),
                ElementsAre(0, 0, 0, 0))
        << "padding moved";
  }
  EXPECT_EQ(orders.size(), 6u) << "all orders of three blocks occur in 60 draws";
}

TEST(PerturbationTest, WindowsKeepTheirTokensAndShuffleThem) {
  std::set<std::vector<int32_t>> first_windows;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    HostBatch batch = Texts();
    Perturb({Perturbation::kWindows, 3}, WordsSpec(), seed, 0, &batch);
    std::vector<int32_t> row = Row(batch, 0);
    first_windows.insert({row.begin(), row.begin() + 3});
    for (size_t begin = 0; begin < row.size(); begin += 3)
      std::sort(row.begin() + begin, row.begin() + std::min(begin + 3, row.size()));
    EXPECT_EQ(row, Row(Texts(), 0));
  }
  EXPECT_EQ(first_windows.size(), 6u);
}

TEST(PerturbationTest, DependsOnTheExampleNotOnItsPlace) {
  HostBatch both = Texts(), alone = Texts();
  alone.batch = 1;
  alone.tokens.erase(alone.tokens.begin(), alone.tokens.begin() + 10);
  alone.lengths = {6};
  alone.example_ids = {8};
  const Perturbation perturbation = {Perturbation::kBlocks, 1};
  Perturb(perturbation, WordsSpec(), 5, 0, &both);
  Perturb(perturbation, WordsSpec(), 5, 0, &alone);
  EXPECT_EQ(Row(both, 1), Row(alone, 0));
  EXPECT_NE(Row(both, 1), Row(Texts(), 1));
}

TEST(PerturbationTest, TheEndMarkStays) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    HostBatch batch = Texts();
    Perturb({Perturbation::kBlocks, 1}, WordsSpec(), seed, 1, &batch);
    EXPECT_EQ(Row(batch, 0).back(), 10);
    EXPECT_EQ(Row(batch, 1).back(), 6);
  }
}

TEST(PerturbationTest, BothTextsOfAPairByThemselves) {
  HostBatch batch = Texts();
  batch.length_b = 10;
  batch.tokens_b = batch.tokens;
  batch.lengths_b = batch.lengths;
  Perturb({Perturbation::kBlocks, 1}, WordsSpec(), 1, 0, &batch);
  EXPECT_NE(batch.tokens, Texts().tokens);
  EXPECT_NE(batch.tokens_b, Texts().tokens);
  EXPECT_NE(batch.tokens, batch.tokens_b);
}

// Pixel y * 4 + x; every patch of 2 x 2 begins at an even row and column and stays whole.
TEST(PerturbationTest, PatchesOfAnImage) {
  TaskSpec spec;
  spec.set_content(TaskSpec::GREY_IMAGE);
  spec.set_image_side_pixels(4);
  std::set<std::vector<float>> corners;
  for (uint32_t seed = 0; seed < 200; ++seed) {
    HostBatch batch;
    batch.batch = 1;
    batch.length = 16;
    for (int i = 0; i < 16; ++i) batch.values.push_back(static_cast<float>(i));
    batch.lengths = {16};
    batch.example_ids = {3};
    Perturb({Perturbation::kPatches, 2}, spec, seed, 0, &batch);
    const std::vector<float>& v = batch.values;
    for (int corner : {0, 2, 8, 10}) {
      EXPECT_EQ(v[corner + 1], v[corner] + 1);
      EXPECT_EQ(v[corner + 4], v[corner] + 4);
      EXPECT_EQ(v[corner + 5], v[corner] + 5);
    }
    corners.insert({v[0], v[2], v[8], v[10]});
  }
  EXPECT_EQ(corners.size(), 24u) << "all orders of four patches";
}

TEST(PerturbationTest, WhatSuitsATask) {
  TaskSpec spec = WordsSpec();
  ASSERT_EQ(PerturbationsFor(spec).size(), 10u);
  EXPECT_EQ(Name(PerturbationsFor(spec)[0]), "as they are");
  EXPECT_EQ(Name(PerturbationsFor(spec)[1]), "blocks of 256 shuffled");
  EXPECT_EQ(Name(PerturbationsFor(spec)[6]), "shuffled within 4");
  spec.set_content(TaskSpec::RGB_IMAGE);
  spec.set_image_side_pixels(32);
  ASSERT_EQ(PerturbationsFor(spec).size(), 6u);
  EXPECT_EQ(Name(PerturbationsFor(spec)[5]), "patches of 16 x 16 shuffled");
  spec.set_content(TaskSpec::IDS);
  EXPECT_THAT(PerturbationsFor(spec), IsEmpty());
}

}  // namespace
}  // namespace lra
