#include "eval/contrast.h"

#include <algorithm>

#include "eval/comparison.h"
#include "lra/check.h"

namespace lra {
namespace {

// x of one seed index; empty where a cell has no run.
ExampleValues Combine(absl::Span<const WeightedCell> cells, size_t seed) {
  ExampleValues x;
  for (const WeightedCell& cell : cells) {
    const ExampleValues& run = cell.runs[seed];
    if (run.empty()) return {};
    if (x.empty()) x.resize(run.size());
    LRA_CHECK(run.size() == x.size()) << run.size() << " examples beside " << x.size();
    for (size_t i = 0; i < run.size(); ++i) x[i] += cell.weight * run[i];
  }
  return x;
}

}  // namespace

Contrast ContrastOf(absl::Span<const WeightedCell> cells, int64_t block_examples) {
  LRA_CHECK(!cells.empty());
  Contrast contrast;
  std::vector<ExampleValues> x;
  for (size_t seed = 0; seed < cells.front().runs.size(); ++seed) {
    ExampleValues combined = Combine(cells, seed);
    if (combined.empty()) {
      contrast.dropped_seeds.push_back(static_cast<int64_t>(seed));
    } else {
      x.push_back(std::move(combined));
    }
  }
  LRA_CHECK(!x.empty()) << "no seed index has a run in every cell";
  contrast.estimate = EstimateOf(MomentsOfRuns(x, block_examples));
  contrast.differing_examples = DifferingExamples(SumsOf(x));
  return contrast;
}

Estimate DifferenceOfTasks(const Estimate& a, const Estimate& b) {
  Estimate d;
  d.mean = a.mean - b.mean;
  d.seed_variance = a.seed_variance + b.seed_variance;
  const auto part = [](double v, double degrees) { return v > 0 ? v * v / degrees : 0; };
  const double welch =
      part(a.seed_variance, a.seed_degrees) + part(b.seed_variance, b.seed_degrees);
  if (welch > 0) d.seed_degrees = d.seed_variance * d.seed_variance / welch;
  const double examples_a = WithVariance(a).example_variance;
  const double examples_b = WithVariance(b).example_variance;
  d.example_variance = examples_a + examples_b;
  const double welch_examples =
      part(examples_a, a.example_degrees) + part(examples_b, b.example_degrees);
  if (welch_examples > 0)
    d.example_degrees = d.example_variance * d.example_variance / welch_examples;
  return d;
}

}  // namespace lra
