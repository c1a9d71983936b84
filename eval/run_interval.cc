#include "eval/run_interval.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "eval/difference_text.h"
#include "eval/example_scores.h"
#include "eval/row_statistics.h"
#include "lra/status_macros.h"
#include "lra/task_files.h"

namespace lra {
namespace {

std::string WhatCounts(const RowRuns& row, const RowEstimate& estimate) {
  if (estimate.estimate.blocks == 0) return "";
  const std::string blocks = BlocksText(row.examples, row.block_examples);
  if (estimate.basis != Basis::kCounts) return blocks;
  return absl::StrCat(blocks, ", the widest that counts allow");
}

}  // namespace

std::optional<RunInterval> IntervalOfRun(const OneRun& run, double confidence,
                                         absl::Span<const int64_t> places) {
  const Metric& metric = *run.metric;
  if (run.examples < 1) return std::nullopt;
  // Sums may be read from a file that lacks them, or says that they are no share.
  if (metric.traits().is_proportion && !metric.RunInterval(run.sums, confidence))
    return std::nullopt;
  RowRuns row;
  row.metric = &metric;
  row.examples = CountedExamples(metric, run.sums, run.examples);
  row.block_examples = run.block_examples;
  RunScores& scores = row.runs.emplace_back();
  scores.value = metric.Value(run.sums);
  if (run.values) scores.examples = std::make_shared<const ExampleValues>(*run.values);
  const std::optional<RowEstimate> estimate = EstimateRow(row, places);
  if (!estimate) return std::nullopt;
  return RunInterval{RowInterval(row, *estimate, confidence),
                     places.empty() ? WhatCounts(row, *estimate) : ""};
}

absl::StatusOr<std::optional<RunInterval>> ReadRunInterval(absl::string_view directory,
                                                           absl::string_view task,
                                                           const SplitResult& result,
                                                           const Metric& metric,
                                                           double confidence) {
  LRA_ASSIGN_OR_RETURN(std::optional<ExampleValues> values,
                       ReadExampleScores(directory, result, metric));
  return IntervalOfRun({.metric = &metric,
                        .sums = result.sums(),
                        .examples = result.examples(),
                        .values = std::move(values),
                        .block_examples = BlockExamplesOf(task)},
                       confidence);
}

}  // namespace lra
