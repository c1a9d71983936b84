#include "eval/row_statistics.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "eval/learned.h"
#include "eval/stratum_blocks.h"
#include "lra/check.h"

namespace lra {
namespace {

bool IsProportion(const RowRuns& row) { return row.metric->traits().is_proportion; }

// Whether the binomial distribution and its like hold: examples are right or wrong, each by itself.
bool IsExact(const RowRuns& row) {
  return IsProportion(row) && CountBlocks(row.examples, row.block_examples) == row.examples;
}

ExampleValues FirstOf(const RunScores& run, int64_t examples) {
  LRA_CHECK(examples <= static_cast<int64_t>(run.examples->size())) << run.examples->size();
  return {run.examples->begin(), run.examples->begin() + examples};
}

// The first `examples` values of each run: rows of a whole split stand beside rows that leave a
// last, smaller batch out.
std::vector<ExampleValues> ValuesOf(const RowRuns& row, int64_t examples) {
  std::vector<ExampleValues> values;
  for (const RunScores& run : row.runs) values.push_back(FirstOf(run, examples));
  return values;
}

int64_t CountRight(const RunScores& run, int64_t examples) {
  return std::llround(run.value * static_cast<double>(examples));
}

Estimate CountsEstimate(const RowRuns& row) {
  std::vector<int64_t> counts;
  for (const RunScores& run : row.runs) counts.push_back(CountRight(run, row.examples));
  return EstimateOfCounts(counts, row.examples, row.block_examples);
}

// Student's t over the runs' values: exact for the seeds, silent about examples.
Estimate SeedsEstimate(const RowRuns& row) {
  std::vector<double> values;
  for (const RunScores& run : row.runs) values.push_back(run.value);
  Estimate estimate;
  estimate.mean = Mean(values);
  if (values.size() < 2) return estimate;
  const double deviation = SampleStandardDeviation(values);
  estimate.seed_variance = deviation * deviation / static_cast<double>(values.size());
  estimate.seed_degrees = static_cast<double>(values.size() - 1);
  return estimate;
}

Discordance RunDiscordance(const RowRuns& a, int64_t s, const RowRuns& b) {
  const int64_t examples = std::min(a.examples, b.examples);
  const RunScores &run_a = a.runs[s], &run_b = b.runs[0];
  if (!run_a.examples || !run_b.examples)
    return WidestDiscordance(CountRight(run_a, examples), CountRight(run_b, examples), examples);
  return DiscordanceOf(FirstOf(run_a, examples), FirstOf(run_b, examples));
}

// Two trained models, one a row.
RowDifference CompareTwoRuns(const RowRuns& a, const RowRuns& b, double confidence) {
  const Discordance d = RunDiscordance(a, 0, b);
  RowDifference difference;
  difference.basis = a.has_examples() && b.has_examples() ? Basis::kExamples : Basis::kCounts;
  const double n = static_cast<double>(d.examples);
  const double share = static_cast<double>(d.only_a + d.only_b) / n;
  difference.estimate.mean = static_cast<double>(d.only_a - d.only_b) / n;
  difference.estimate.example_variance =
      (share - difference.estimate.mean * difference.estimate.mean) / n;
  difference.interval = BonettPriceInterval(d, confidence);
  difference.interval_estimate = BonettPriceEstimate(d);
  difference.p = McNemarP(d);
  difference.method = "McNemar";
  difference.differs_on_too_few = d.only_a + d.only_b < kLeastDifferingExamples;
  return difference;
}

std::optional<RowDifference> CompareByExamples(const RowRuns& a, const RowRuns& b, bool is_paired) {
  const int64_t examples = std::min(a.examples, b.examples);
  const int64_t block_examples = a.block_examples;
  LRA_CHECK(block_examples == b.block_examples) << block_examples << " and " << b.block_examples;
  const std::vector<ExampleValues> values_a = ValuesOf(a, examples),
                                   values_b = ValuesOf(b, examples);
  RowDifference difference;
  if (is_paired) {
    difference.estimate = PairedDifference(values_a, values_b, block_examples);
  } else {
    difference.estimate = UnpairedDifference(SumsOf(values_a), SumsOf(values_b));
    if (block_examples > 1) {
      difference.estimate = WiderOf(
          UnpairedDifference(SumsOf(values_a, block_examples), SumsOf(values_b, block_examples)),
          difference.estimate);
    }
  }
  difference.method = is_paired ? "paired" : "unpaired";
  // Examples, not blocks: of those there may be few, in all of which rows differ.
  difference.differs_on_too_few =
      DifferingExamples(SumsOf(values_a), SumsOf(values_b)) < kLeastDifferingExamples;
  return difference;
}

std::optional<RowDifference> CompareByCounts(const RowRuns& a, const RowRuns& b) {
  RowDifference difference;
  const bool is_proportion = IsProportion(a);
  if (!is_proportion && (a.count() < 2 || b.count() < 2)) return std::nullopt;
  difference.basis = is_proportion ? Basis::kCounts : Basis::kSeeds;
  difference.estimate = DifferenceOfEstimates(is_proportion ? CountsEstimate(a) : SeedsEstimate(a),
                                              is_proportion ? CountsEstimate(b) : SeedsEstimate(b));
  difference.method =
      absl::StrCat("unpaired, ", is_proportion ? "bounded by counts" : "seeds only");
  return difference;
}

}  // namespace

bool RowRuns::has_examples() const {
  return !runs.empty() && std::all_of(runs.begin(), runs.end(),
                                      [](const RunScores& run) { return run.examples != nullptr; });
}

int64_t CountedExamples(const Metric& metric, const Sums& sums, int64_t examples) {
  const MetricTraits& traits = metric.traits();
  if (!traits.is_proportion || traits.whole == kTargets) return examples;
  return std::clamp<int64_t>(CountOf(sums, traits.whole), 1, examples);
}

std::optional<RowEstimate> EstimateRow(const RowRuns& row, absl::Span<const int64_t> places) {
  if (row.runs.empty()) return std::nullopt;
  if (row.has_examples()) {
    const std::vector<ExampleValues> values = ValuesOf(row, row.examples);
    const CrossedMoments moments =
        places.empty() ? MomentsOfRuns(values, row.block_examples)
                       : MomentsOfBlocks(values, SizesOfBlocks(places, row.block_examples));
    return RowEstimate{Basis::kExamples, EstimateOf(moments), moments};
  }
  if (IsProportion(row)) return RowEstimate{Basis::kCounts, CountsEstimate(row), std::nullopt};
  if (row.count() < 2) return std::nullopt;
  return RowEstimate{Basis::kSeeds, SeedsEstimate(row), std::nullopt};
}

Interval RowInterval(const RowRuns& row, const RowEstimate& estimate, double confidence) {
  return IsProportion(row) ? ProportionInterval(estimate.estimate, row.examples, confidence)
                           : row.metric->WithinRange(MeanInterval(estimate.estimate, confidence));
}

std::string IntervalMethod(const RowRuns& row, const RowEstimate& estimate) {
  if (row.count() == 1 && IsExact(row)) return kExactBinomial;
  switch (estimate.basis) {
    case Basis::kExamples:
      return row.count() == 1 ? "examples of one run" : "crossed";
    case Basis::kCounts:
      return "crossed, bounded by counts";
    case Basis::kSeeds:
      return "seeds only";
  }
  return "";
}

std::optional<RowDifference> CompareRows(const RowRuns& a, const RowRuns& b,
                                         const DifferenceOptions& options) {
  if (a.runs.empty() || b.runs.empty()) return std::nullopt;
  if (a.count() == 1 && b.count() == 1 && IsExact(a) && IsExact(b))
    return CompareTwoRuns(a, b, options.confidence);
  std::optional<RowDifference> difference = a.has_examples() && b.has_examples()
                                                ? CompareByExamples(a, b, options.is_paired)
                                                : CompareByCounts(a, b);
  if (!difference) return std::nullopt;
  difference->interval = MeanInterval(difference->estimate, options.confidence);
  difference->p = TwoSidedP(difference->estimate, 0);
  return difference;
}

std::optional<Design> DesignOf(const RowRuns& a, const RowRuns& b, bool is_paired) {
  if (a.count() < 2 || b.count() < 2 || !a.has_examples() || !b.has_examples()) return std::nullopt;
  const int64_t examples = std::min(a.examples, b.examples);
  const auto seeds = static_cast<double>(std::min(a.count(), b.count()));
  std::vector<ExampleValues> values_a = ValuesOf(a, examples);
  const std::vector<ExampleValues> values_b = ValuesOf(b, examples);
  if (!is_paired) {
    const Design singly = UnpairedDesign(SumsOf(values_a), SumsOf(values_b), examples, seeds);
    const Design blocks = UnpairedDesign(SumsOf(values_a, a.block_examples),
                                         SumsOf(values_b, b.block_examples), examples, seeds);
    return singly.components.examples > blocks.components.examples ? singly : blocks;
  }
  for (size_t s = 0; s < values_a.size(); ++s) {
    for (size_t i = 0; i < values_a[s].size(); ++i) values_a[s][i] -= values_b[s][i];
  }
  const CrossedMoments moments = MomentsOfRuns(values_a, a.block_examples);
  Design design{ComponentsOf(moments), examples, seeds};
  design.block_examples =
      static_cast<double>(moments.examples) / static_cast<double>(moments.blocks);
  return design;
}

std::optional<bool> RunIsAbove(const RowRuns& row, int64_t s, const RowRuns& baseline) {
  const bool is_higher_better = row.metric->traits().is_higher_better;
  if (IsExact(row)) {
    Discordance d = RunDiscordance(row, s, baseline);
    if (!is_higher_better) std::swap(d.only_a, d.only_b);
    return IsAbove(d);
  }
  RowRuns single = row;
  single.runs = {row.runs[s]};
  const std::optional<double> p = NotAboveP(single, baseline);
  return p ? std::optional<bool>(*p < kAboveLevel) : std::nullopt;
}

std::optional<double> NotAboveP(const RowRuns& row, const RowRuns& baseline) {
  Estimate d;
  if (row.has_examples() && baseline.has_examples()) {
    const int64_t examples = std::min(row.examples, baseline.examples);
    d = AboveBaseline(ValuesOf(row, examples), ValuesOf(baseline, examples)[0], row.block_examples);
  } else if (IsProportion(row) && !row.runs.empty()) {
    d = DifferenceOfEstimates(CountsEstimate(row), CountsEstimate(baseline));
  } else {
    return std::nullopt;
  }
  if (!row.metric->traits().is_higher_better) d.mean = -d.mean;
  return UpperP(d, 0);
}

}  // namespace lra
