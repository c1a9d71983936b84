#include "eval/attention_map.h"

#include <algorithm>
#include <numeric>
#include <type_traits>
#include <utility>

#include "lra/check.h"

namespace lra {

void AddCoverage(absl::Span<const float> row, double threshold, absl::Span<uint32_t> counts) {
  LRA_CHECK(row.size() == counts.size());
  std::vector<size_t> order(row.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return row[a] > row[b]; });
  double gathered = 0;
  for (const size_t key : order) {
    gathered += row[key];
    counts[key] += 1;
    if (gathered > threshold) return;
  }
}

void AttentionMapSum::Grow(int64_t rows, int64_t columns) {
  const int64_t new_rows = std::max(rows, rows_), new_columns = std::max(columns, columns_);
  if (new_rows == rows_ && new_columns == columns_) return;
  const auto grow = [&](auto* values) {
    typename std::remove_pointer_t<decltype(values)> larger(new_rows * new_columns, 0);
    for (int64_t i = 0; i < rows_; ++i)
      std::copy_n(values->begin() + i * columns_, columns_, larger.begin() + i * new_columns);
    *values = std::move(larger);
  };
  grow(&sums_);
  grow(&counts_);
  grow(&present_);
  rows_ = new_rows;
  columns_ = new_columns;
}

void AttentionMapSum::Add(absl::Span<const float> weights, int64_t rows, int64_t columns) {
  LRA_CHECK(static_cast<int64_t>(weights.size()) == rows * columns);
  Grow(rows, columns);
  ++matrices_;
  for (int64_t i = 0; i < rows; ++i) {
    const absl::Span<const float> row = weights.subspan(i * columns, columns);
    const int64_t begin = i * columns_;
    for (int64_t j = 0; j < columns; ++j) {
      sums_[begin + j] += row[j];
      present_[begin + j] += 1;
    }
    AddCoverage(row, threshold_, absl::MakeSpan(counts_).subspan(begin, columns));
  }
}

template <class T>
AttentionMap AttentionMapSum::Divide(const std::vector<T>& sums) const {
  AttentionMap map = {rows_, columns_, std::vector<float>(sums.size())};
  for (size_t i = 0; i < sums.size(); ++i) {
    if (present_[i] > 0) map.values[i] = static_cast<float>(double(sums[i]) / present_[i]);
  }
  return map;
}

AttentionMap AttentionMapSum::Mean() const { return Divide(sums_); }

AttentionMap AttentionMapSum::Coverage() const { return Divide(counts_); }

AttentionMap AverageMap(const std::vector<AttentionMap>& maps) {
  LRA_CHECK(!maps.empty());
  AttentionMap average = maps.front();
  for (size_t i = 0; i < average.values.size(); ++i) {
    double sum = 0;
    for (const AttentionMap& map : maps) {
      LRA_CHECK(map.rows == average.rows && map.columns == average.columns);
      sum += map.values[i];
    }
    average.values[i] = static_cast<float>(sum / static_cast<double>(maps.size()));
  }
  return average;
}

AttentionMap ReceivedPicture(const AttentionMap& map, int64_t first, int64_t side) {
  LRA_CHECK(map.rows > 0 && map.columns >= first + side * side);
  AttentionMap picture = {side, side, std::vector<float>(side * side)};
  for (int64_t pixel = 0; pixel < side * side; ++pixel) {
    double sum = 0;
    for (int64_t i = 0; i < map.rows; ++i) sum += map.values[i * map.columns + first + pixel];
    picture.values[pixel] = static_cast<float>(sum / static_cast<double>(map.rows));
  }
  return picture;
}

}  // namespace lra
