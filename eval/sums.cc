#include "eval/sums.h"

#include <algorithm>
#include <numeric>

namespace lra {

bool HasSum(const Sums& sums, absl::string_view name) {
  const std::string key(name);
  return sums.counts().contains(key) || sums.totals().contains(key);
}

int64_t CountOf(const Sums& sums, absl::string_view name) {
  const auto it = sums.counts().find(std::string(name));
  return it == sums.counts().end() ? 0 : it->second;
}

double TotalOf(const Sums& sums, absl::string_view name) {
  const auto it = sums.totals().find(std::string(name));
  return it == sums.totals().end() ? 0 : it->second;
}

std::vector<std::string> NamesOf(const Sums& sums) {
  std::vector<std::string> names;
  for (const auto& [name, count] : sums.counts()) names.push_back(name);
  for (const auto& [name, total] : sums.totals()) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

void ExampleSums::Add(const ExampleSums& other) {
  const auto add = [](const auto& from, auto* into) {
    for (const auto& [name, values] : from) {
      auto& sums = (*into)[name];
      sums.resize(values.size());
      for (size_t i = 0; i < values.size(); ++i) sums[i] += values[i];
    }
  };
  add(other.counts, &counts);
  add(other.totals, &totals);
}

ExampleSums ExampleSums::Pick(absl::Span<const int64_t> examples) const {
  ExampleSums picked;
  for (const int64_t i : examples) {
    for (const auto& [name, values] : counts) picked.counts[name].push_back(values[i]);
    for (const auto& [name, values] : totals) picked.totals[name].push_back(values[i]);
  }
  return picked;
}

void ExampleSums::Get(size_t i, Sums* one) const {
  for (const auto& [name, values] : counts) (*one->mutable_counts())[name] = values[i];
  for (const auto& [name, values] : totals) (*one->mutable_totals())[name] = values[i];
}

Sums ExampleSums::Total() const {
  Sums sums;
  for (const auto& [name, values] : counts) {
    (*sums.mutable_counts())[name] = std::accumulate(values.begin(), values.end(), int64_t{0});
  }
  for (const auto& [name, values] : totals) {
    (*sums.mutable_totals())[name] = std::accumulate(values.begin(), values.end(), 0.0);
  }
  return sums;
}

}  // namespace lra
