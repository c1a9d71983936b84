// A split's result as the program's commands print it.
#ifndef LRA_EVAL_SCORE_TEXT_H_
#define LRA_EVAL_SCORE_TEXT_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "eval/metric.h"
#include "eval/run_interval.h"
#include "eval/run_record.h"
#include "eval/run_record.pb.h"
#include "eval/sequences.h"
#include "lra/status_macros.h"

namespace lra {

// "34.50 % (690 of 2,000)"; "(..., the first of 10,000)" where a part of the split was scored, and
// "..., sequence_accuracy 12.50 % (160 of 1,280)" behind it where sequences are counted.
std::string DescribeScore(const Metric& metric, const SplitResult& result);

// Where a result comes from.
struct ScoredRun {
  std::string directory;  // of the record, with the scores of examples beside it
  std::string task;
};
// With the run's interval, where it has one (eval/run_interval.h): "34.50 % (690 of 2,000; 95 %
// interval 32.42-36.63, this run)", "85.36 % (21,340 of 25,000; 95 % interval 84.82-85.90 of 313
// blocks of 80 examples, this run)". DataLoss for scores of examples that were changed.
absl::StatusOr<std::string> DescribeScoreWithInterval(const Metric& metric,
                                                      const SplitResult& result,
                                                      const ScoredRun& run, double confidence);

// The share of sequences that are right as a whole; nullopt where they are not counted.
std::optional<double> SequenceAccuracyOf(const SplitResult& result);

// Adds examples, every sum by its name, the metric's name and its value to a JSON object, and
// sequence_accuracy where sequences are counted.
template <class Json>
void AddScore(const Metric& metric, const SplitResult& result, Json* json) {
  (*json)["examples"] = result.examples();
  if (result.split_examples() > 0) (*json)["split_examples"] = result.split_examples();
  for (const std::string& name : NamesOf(result.sums())) {
    const auto count = result.sums().counts().find(name);
    if (count != result.sums().counts().end()) {
      (*json)[name] = count->second;
    } else {
      (*json)[name] = TotalOf(result.sums(), name);
    }
  }
  (*json)["metric"] = metric.name();
  (*json)["value"] = metric.Value(result.sums());
  if (const std::optional<double> sequences = SequenceAccuracyOf(result))
    (*json)[kSequenceAccuracy] = *sequences;
}

// Also adds `interval`, [low, high], where the run has one; fails as DescribeScoreWithInterval().
template <class Json>
absl::Status AddScoreWithInterval(const Metric& metric, const SplitResult& result,
                                  const ScoredRun& run, double confidence, Json* json) {
  AddScore(metric, result, json);
  LRA_ASSIGN_OR_RETURN(const std::optional<RunInterval> interval,
                       ReadRunInterval(run.directory, run.task, result, metric, confidence));
  if (interval) (*json)["interval"] = {interval->interval.low, interval->interval.high};
  return absl::OkStatus();
}

// Adds what `lra train --json` prints of a run: its folder, method, seed, selected step, and the
// scores of the selected checkpoint by split.
template <class Json>
void AddRun(const Metric& metric, const RunRecord& record, const std::string& folder, Json* json) {
  (*json)["run"] = folder;
  (*json)["method"] = record.method();
  (*json)["seed"] = record.seed();
  (*json)["selected_step"] = record.selected_step();
  for (const SplitResult& result : record.results()) {
    if (result.checkpoint() == kSelectedCheckpoint)
      AddScore(metric, result, &(*json)[result.split()]);
  }
}

}  // namespace lra

#endif  // LRA_EVAL_SCORE_TEXT_H_
