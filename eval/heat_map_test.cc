#include "eval/heat_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace lra {
namespace {

using internal::Canvas;
using internal::Colour;
using testing::ElementsAre;

constexpr Colour kBlack = {0, 0, 0}, kWhite = {255, 255, 255};

TEST(HeatMapTest, ColoursRunFromZeroToTheLargest) {
  const auto drawn = internal::DrawHeatMap({2, 2, {0.5f, 0.25f, 0.0f, 1.0f}}, {"title"});
  const int c = drawn.cell_pixels;
  EXPECT_EQ(c, 256);
  const auto entry = [&](int i, int j) {
    return drawn.canvas.At(drawn.left + j * c + c / 2, drawn.top + i * c + c / 2);
  };
  EXPECT_EQ(entry(0, 0), internal::ViridisColour(0.5));
  EXPECT_EQ(entry(0, 1), internal::ViridisColour(0.25));
  EXPECT_EQ(entry(1, 0), (Colour{68, 1, 84}));
  EXPECT_EQ(entry(1, 1), (Colour{253, 231, 37}));
}

TEST(HeatMapTest, NegativeValuesAreTheDarkEnd) {
  const auto drawn = internal::DrawHeatMap({1, 3, {-1, 0, 1}}, {"signed"});
  const auto entry = [&](int j) {
    return drawn.canvas.At(drawn.left + j * drawn.cell_pixels + 1, drawn.top + 1);
  };
  EXPECT_EQ(entry(0), internal::ViridisColour(0));
  EXPECT_EQ(entry(1), internal::ViridisColour(0.5));
  EXPECT_EQ(entry(2), internal::ViridisColour(1));
}

// Query i of a causal model that attends to all alike: its weights are 1 / (i + 1).
TEST(HeatMapTest, FewLargeEntriesLeaveTheOthersTheirColours) {
  constexpr int kRows = 64;
  AttentionMap map = {kRows, kRows, std::vector<float>(kRows * kRows)};
  for (int i = 0; i < kRows; ++i)
    std::fill_n(map.values.begin() + kRows * i, i + 1, 1.0f / static_cast<float>(i + 1));
  const auto entry = [](const internal::DrawnHeatMap& drawn, int i, int j) {
    const int c = drawn.cell_pixels;
    return drawn.canvas.At(drawn.left + j * c + c / 2, drawn.top + i * c + c / 2);
  };
  const auto cut = internal::DrawHeatMap(map, {"causal"});
  EXPECT_EQ(entry(cut, 0, 0), internal::ViridisColour(1));
  EXPECT_EQ(entry(cut, 7, 0), internal::ViridisColour(1));  // rows 7 to 63 are nine in ten
  EXPECT_EQ(entry(cut, 63, 0), internal::ViridisColour(0.125));
  // Its end is named ">= 0.125", the other's "0.125".
  map.values.assign(kRows * kRows, 0.125f);
  EXPECT_GT(cut.canvas.width, internal::DrawHeatMap(map, {"equal"}).canvas.width);
  // A diagonal is an entry of every row.
  for (int i = 0; i < kRows; ++i) map.values[(kRows + 1) * i] = 1;
  const auto diagonal = internal::DrawHeatMap(map, {"diagonal"});
  EXPECT_EQ(entry(diagonal, 63, 0), internal::ViridisColour(0.125));
}

TEST(HeatMapTest, TicksAreRoundNumbers) {
  EXPECT_THAT(internal::TickPositions(1, 6), ElementsAre(0));
  EXPECT_THAT(internal::TickPositions(6, 6), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(internal::TickPositions(7, 6), ElementsAre(0, 2, 4, 6));
  EXPECT_THAT(internal::TickPositions(100, 6), ElementsAre(0, 20, 40, 60, 80));
  EXPECT_THAT(internal::TickPositions(2001, 6), ElementsAre(0, 500, 1000, 1500, 2000));
}

TEST(HeatMapTest, LargeMatricesAreReducedToMeans) {
  const AttentionMap reduced = internal::Reduce({3, 3, {1, 3, 5, 5, 7, 7, 2, 4, 9}}, 2);
  EXPECT_EQ(reduced.rows, 2);
  EXPECT_EQ(reduced.columns, 2);
  EXPECT_THAT(reduced.values, ElementsAre(4, 6, 3, 9));
  const AttentionMap large = {1500, 1500, std::vector<float>(1500 * 1500, 0.5f)};
  const auto drawn = internal::DrawHeatMap(large, {"large"});
  EXPECT_LE(drawn.canvas.width, 1300);
  EXPECT_LE(drawn.canvas.height, 1200);
}

int BlackPixels(const Canvas& canvas, int x, int y, int w, int h) {
  int black = 0;
  for (int row = y; row < y + h; ++row) {
    for (int column = x; column < x + w; ++column) {
      if (canvas.At(column, row) == kBlack) ++black;
    }
  }
  return black;
}

TEST(HeatMapTest, TextIsWhereItShouldBe) {
  const std::string text = "query 12";
  const int width = internal::TextWidth(text);
  Canvas across(200, 200), up(200, 200);
  internal::DrawText(&across, 20, 30, text);
  internal::DrawText(&up, 30, 180, text, /*upwards=*/true);
  const int black = BlackPixels(across, 0, 0, 200, 200);
  EXPECT_GT(black, 100);
  EXPECT_EQ(BlackPixels(across, 20, 30, width, 2 + internal::kTextHeight), black);
  EXPECT_EQ(BlackPixels(up, 30, 180 - width, 2 + internal::kTextHeight, width), black);
  EXPECT_EQ(across.At(0, 0), kWhite);
  // partly outside of the canvas, and not printable
  internal::DrawText(&across, -30, 195, "cut \n\x80 off");
}

// Cells grow until every token's name fits beside its row, and the name is there.
TEST(HeatMapTest, FewTokensAreAllNamed) {
  const AttentionMap map = {60, 60, std::vector<float>(3600, 0.5f)};
  HeatMapLabels labels = {"tokens"};
  EXPECT_EQ(internal::DrawHeatMap(map, labels).cell_pixels, 8);
  labels.tokens.assign(60, "");
  labels.tokens[7] = "[MAX";
  const auto drawn = internal::DrawHeatMap(map, labels);
  EXPECT_EQ(drawn.cell_pixels, 18);
  const auto beside = [&](int row) {  // left of the row, without its tick
    return BlackPixels(drawn.canvas, 40, drawn.top + row * 18, drawn.left - 48, 18);
  };
  EXPECT_GT(beside(7), 50);
  EXPECT_EQ(beside(9), 0);
  const auto below = [&](int column) {
    const int top = drawn.top + 60 * 18 + 8;
    return BlackPixels(drawn.canvas, drawn.left + column * 18, top, 18, 60);
  };
  EXPECT_GT(below(7), 50);
  EXPECT_EQ(below(9), 0);
}

// Letters stand upright below their columns, where "n" and "c" are told from others; longer names
// are turned.
TEST(HeatMapTest, NamesThatFitAreNotTurned) {
  const AttentionMap map = {20, 20, std::vector<float>(400, 0.5f)};
  HeatMapLabels labels = {"tokens"};
  const auto below = [&](const std::string& name) {
    labels.tokens.assign(20, name);
    const auto drawn = internal::DrawHeatMap(map, labels);
    const int c = drawn.cell_pixels, top = drawn.top + 20 * c + 12;
    Canvas expected(c, internal::kTextHeight);
    internal::DrawText(&expected, (c - internal::TextWidth(name)) / 2, 0, name);
    for (int y = 0; y < expected.height; ++y) {
      for (int x = 0; x < c; ++x) {
        if (drawn.canvas.At(drawn.left + 3 * c + x, top + y) != expected.At(x, y)) return "turned";
      }
    }
    return "upright";
  };
  EXPECT_STREQ(below("n"), "upright");
  EXPECT_STREQ(below("[MAX"), "turned");
}

// A picture of many tokens names those at its ticks.
TEST(HeatMapTest, OfManyTokensThoseAtTheTicksAreNamed) {
  const AttentionMap map = {200, 200, std::vector<float>(40000, 0.5f)};
  HeatMapLabels labels = {"tokens"};
  labels.tokens.assign(200, "");
  labels.tokens[50] = "[MAX";  // a tick: multiples of 50
  const auto named = internal::DrawHeatMap(map, labels);
  labels.tokens[50] = "";
  labels.tokens[51] = "[MAX";
  const auto unnamed = internal::DrawHeatMap(map, labels);
  const int all = named.canvas.width * named.canvas.height;
  EXPECT_EQ(all, unnamed.canvas.width * unnamed.canvas.height);
  EXPECT_GT(BlackPixels(named.canvas, 0, 0, named.canvas.width, named.canvas.height),
            BlackPixels(unnamed.canvas, 0, 0, named.canvas.width, named.canvas.height) + 100);
}

TEST(HeatMapTest, IsAPngOrAnError) {
  const auto png = HeatMapPng({1, 1, {0}}, {"zero"});
  ASSERT_TRUE(png.ok()) << png.status();
  EXPECT_EQ(png->substr(0, 4), "\x89PNG");
  EXPECT_EQ(HeatMapPng({}, {"empty"}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(HeatMapPng({1, 1, {std::numeric_limits<float>::quiet_NaN()}}, {"NaN"}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace lra
