#include "eval/locality.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "lra/check.h"

namespace lra {
namespace {

// Sums over the keys on one side of a query, each a vector of the features' width: of the keys, of
// the keys times their distance, and of the keys within each window. A step moves the query one
// token further away from all of them.
class SideSums {
 public:
  SideSums(int64_t width, size_t windows)
      : weight_(width), distance_(width), within_(windows, std::vector<double>(width)) {}

  void Step(double decay) {
    for (size_t f = 0; f < weight_.size(); ++f) {
      distance_[f] = decay * (distance_[f] + weight_[f]);
      weight_[f] *= decay;
      for (std::vector<double>& sum : within_) sum[f] *= decay;
    }
  }
  // The query's own key, at distance 0.
  void Add(const double* key) {
    for (size_t f = 0; f < weight_.size(); ++f) {
      weight_[f] += key[f];
      for (std::vector<double>& sum : within_) sum[f] += key[f];
    }
  }
  // The key that leaves a window, with its weight's factor at this distance.
  void Leave(size_t window, const double* key, double factor) {
    for (size_t f = 0; f < weight_.size(); ++f) within_[window][f] -= factor * key[f];
  }
  // Adds products with the query to its row of LocalitySums, and of `own` subtracted, the part of
  // the query's own key, which the other side has counted.
  void AddTo(const double* query, double own, double* row) const {
    row[0] += Product(query, weight_) - own;
    row[1] += Product(query, distance_);
    for (size_t w = 0; w < within_.size(); ++w) row[2 + w] += Product(query, within_[w]) - own;
  }

 private:
  static double Product(const double* query, const std::vector<double>& sum) {
    double product = 0;
    for (size_t f = 0; f < sum.size(); ++f) product += query[f] * sum[f];
    return product;
  }

  std::vector<double> weight_, distance_;
  std::vector<std::vector<double>> within_;
};

// prod of g_s over s from 0 to each token, as logarithms.
std::vector<double> DecayFromStart(const HeadFeatures& head) {
  std::vector<double> logs(head.tokens, 0.0);
  if (head.log_decay == nullptr) return logs;
  for (int64_t i = 1; i < head.tokens; ++i) logs[i] = logs[i - 1] + head.log_decay[i];
  return logs;
}

// One side of every query: the keys up to it, or with step = -1 those from it on, its own key
// without weight.
void AddSide(const HeadFeatures& head, absl::Span<const int64_t> windows,
             const std::vector<double>& from_start, int64_t step, LocalitySums* sums) {
  SideSums side(head.width, windows.size());
  const int64_t begin = step > 0 ? 0 : head.tokens - 1;
  for (int64_t i = begin; i >= 0 && i < head.tokens; i += step) {
    if (i != begin) side.Step(std::exp(-std::abs(from_start[i] - from_start[i - step])));
    const double *query = head.query + i * head.width, *key = head.key + i * head.width;
    side.Add(key);
    for (size_t w = 0; w < windows.size(); ++w) {
      const int64_t left = i - step * (windows[w] + 1);
      if (left < 0 || left >= head.tokens) continue;
      side.Leave(w, head.key + left * head.width,
                 std::exp(-std::abs(from_start[i] - from_start[left])));
    }
    double own = 0;
    for (int64_t f = 0; step < 0 && f < head.width; ++f) own += query[f] * key[f];
    side.AddTo(query, own, &sums->values[i * (2 + sums->windows)]);
  }
}

}  // namespace

LocalitySums SumLinearly(const HeadFeatures& head, absl::Span<const int64_t> windows) {
  LocalitySums sums{static_cast<int64_t>(windows.size()), {}};
  sums.values.assign(head.tokens * (2 + sums.windows), 0.0);
  const std::vector<double> from_start = DecayFromStart(head);
  AddSide(head, windows, from_start, 1, &sums);
  if (!head.is_causal) AddSide(head, windows, from_start, -1, &sums);
  return sums;
}

LocalitySums SumRows(absl::Span<const double> rows, int64_t keys, int64_t first,
                     absl::Span<const int64_t> windows) {
  LRA_CHECK(keys > 0 && static_cast<int64_t>(rows.size()) % keys == 0);
  LocalitySums sums{static_cast<int64_t>(windows.size()), {}};
  const int64_t queries = static_cast<int64_t>(rows.size()) / keys;
  sums.values.assign(queries * (2 + sums.windows), 0.0);
  for (int64_t i = 0; i < queries; ++i) {
    double* const row = &sums.values[i * (2 + sums.windows)];
    for (int64_t j = 0; j < keys; ++j) {
      const double weight = std::abs(rows[i * keys + j]);
      const int64_t distance = std::abs(first + i - j);
      row[0] += weight;
      row[1] += static_cast<double>(distance) * weight;
      for (size_t w = 0; w < windows.size(); ++w) {
        if (distance <= windows[w]) row[2 + w] += weight;
      }
    }
  }
  return sums;
}

double EffectiveRank(absl::Span<const double> singular_values) {
  double sum = 0;
  for (const double value : singular_values) sum += value;
  if (!(sum > 0)) return 0;
  double entropy = 0;
  for (const double value : singular_values) {
    const double share = value / sum;
    if (share > 0) entropy -= share * std::log(share);
  }
  return std::exp(entropy);
}

std::optional<Locality> MeanOverQueries(const LocalitySums& sums,
                                        absl::Span<const bool> is_counted) {
  const int64_t columns = 2 + sums.windows;
  Locality mean;
  mean.mass_within.assign(sums.windows, 0.0);
  int64_t counted = 0;
  for (size_t i = 0; i * columns < sums.values.size(); ++i) {
    const double* const row = &sums.values[i * columns];
    if ((!is_counted.empty() && !is_counted[i]) || !(row[0] > 0)) continue;
    ++counted;
    mean.mean_distance_tokens += row[1] / row[0];
    for (int64_t w = 0; w < sums.windows; ++w) mean.mass_within[w] += row[2 + w] / row[0];
  }
  if (counted == 0) return std::nullopt;
  mean.mean_distance_tokens /= static_cast<double>(counted);
  for (double& mass : mean.mass_within) mass /= static_cast<double>(counted);
  return mean;
}

Locality MeanLocality(const std::vector<Locality>& all) {
  LRA_CHECK(!all.empty());
  Locality mean;
  mean.mass_within.assign(all.front().mass_within.size(), 0.0);
  double ranks = 0;
  int64_t with_rank = 0;
  const double count = static_cast<double>(all.size());
  for (const Locality& one : all) {
    mean.mean_distance_tokens += one.mean_distance_tokens / count;
    for (size_t w = 0; w < one.mass_within.size(); ++w)
      mean.mass_within[w] += one.mass_within[w] / count;
    if (!one.effective_rank) continue;
    ranks += *one.effective_rank;
    ++with_rank;
  }
  if (with_rank > 0) mean.effective_rank = ranks / static_cast<double>(with_rank);
  return mean;
}

}  // namespace lra
