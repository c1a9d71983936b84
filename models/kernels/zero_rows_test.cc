#include "models/kernels/zero_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "models/kernels/dilated_tiles.h"

namespace lra {
namespace {

constexpr float kNotANumber = std::numeric_limits<float>::quiet_NaN();

TEST(ZeroRowsTest, OneNumberAnywhereIsFound) {
  constexpr int64_t kCount = 3, kWidth = 37, kStride = 40;
  for (const float value : {1.0f, -1e-30f, kNotANumber, std::numeric_limits<float>::infinity()}) {
    for (int64_t at = 0; at < kCount * kStride; ++at) {
      std::vector<float> rows(kCount * kStride, 0.0f);
      rows[at] = value;
      const bool is_in_a_row = at % kStride < kWidth;
      EXPECT_EQ(HasNonZero(rows.data(), kCount, kWidth, kStride), is_in_a_row)
          << value << " at " << at;
    }
  }
}

TEST(ZeroRowsTest, BothZerosAreZero) {
  const std::vector<float> rows(35, -0.0f);
  EXPECT_FALSE(HasNonZero(rows.data(), 5, 7, 7));
  EXPECT_FALSE(HasNonZero(rows.data(), 0, 7, 7));
}

TEST(ZeroRowsTest, RowsAreClearedAndNothingBetweenThem) {
  std::vector<float> rows(4 * 5, kNotANumber);
  ClearRows(3, 2, 5, rows.data());
  for (size_t i = 0; i < rows.size(); ++i) {
    const bool is_cleared = i < 15 && i % 5 < 2;
    EXPECT_EQ(std::isnan(rows[i]), !is_cleared) << i;
    EXPECT_EQ(rows[i] == 0, is_cleared) << i;
  }
}

TEST(ZeroRowsTest, RowsAreMarked) {
  std::vector<float> rows(4 * 3, 0.0f);
  bool any[] = {true, true, true, true};
  EXPECT_FALSE(MarkRows(rows.data(), 4, 3, any));
  EXPECT_EQ(std::count(any, any + 4, true), 0);
  rows[3] = kNotANumber;
  rows[11] = -2;
  EXPECT_TRUE(MarkRows(rows.data(), 4, 3, any));
  const bool expected[] = {false, true, false, true};
  EXPECT_TRUE(std::equal(any, any + 4, expected));
}

}  // namespace
}  // namespace lra
