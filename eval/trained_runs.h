// Runs with the score of every example, and whether they trained: what contrasts across settings
// are made of, whose runs stand in different tables.
#ifndef LRA_EVAL_TRAINED_RUNS_H_
#define LRA_EVAL_TRAINED_RUNS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "eval/crossed.h"
#include "eval/metric.h"
#include "eval/run_record.h"

namespace lra {

struct TrainedRun {
  const RunRecord* record = nullptr;  // among the FoundRuns
  const Metric* metric = nullptr;
  // Content fingerprint of the split.
  std::string examples_fingerprint;
  int64_t block_examples = 1;  // as RowRuns of its task have it (row_statistics.h)
  // Null of a run that diverged, and where scores of examples are not on record.
  std::shared_ptr<const ExampleValues> scores;
  // It counts as trained in leaderboards: it did not diverge and is above the majority class on the
  // same examples, where that is among the records and the metric tells (MetricTraits).
  bool has_trained = false;
  bool has_diverged = false;
  // Why it counts as trained without being judged (WhyUnjudged in eval/leaderboard_internal.h).
  std::string unjudged;
};

struct TrainedRuns {
  std::map<std::string, TrainedRun> by_directory;
  // Why records cannot be used, each with its folder.
  std::vector<std::string> left_out;
};

// The runs among `found` that were scored on the split, or that diverged, with pointers to their
// records there. `metric` empty = each task's. `notes`, if wanted, become what tables of the same
// records say of how they were obtained: what all tables say, once, then the rest of each.
// InvalidArgument for an unknown metric, DataLoss for scores that were changed.
absl::StatusOr<TrainedRuns> FindTrainedRuns(const FoundRuns& found, const std::string& split,
                                            const std::string& metric,
                                            std::vector<std::string>* notes = nullptr);

}  // namespace lra

#endif  // LRA_EVAL_TRAINED_RUNS_H_
