#include "eval/trained_runs.h"

#include "eval/leaderboard_internal.h"
#include "lra/status_macros.h"

namespace lra {

absl::StatusOr<TrainedRuns> FindTrainedRuns(const FoundRuns& found, const std::string& split,
                                            const std::string& metric) {
  if (!metric.empty()) LRA_RETURN_IF_ERROR(FindMetric(metric).status());
  LeaderboardOptions options;
  options.split = split;
  options.metric = metric;
  TrainedRuns runs;
  LRA_ASSIGN_OR_RETURN(const std::vector<internal::Entry> entries,
                       internal::SelectEntries(found, options, &runs.left_out));
  for (const std::vector<internal::ColumnRuns>& columns : internal::MakeTables(entries)) {
    for (const internal::ColumnRuns& column : columns) {
      const std::string unjudged = internal::WhyUnjudged(column);
      for (const internal::Entry& entry : column.entries) {
        if (entry.is_missing || entry.record().kind() != RunRecord::MEASURED) continue;
        const auto& fingerprints = entry.record().data().split_fingerprint();
        const auto fingerprint = fingerprints.find(split);
        TrainedRun& run = runs.by_directory[entry.located->directory];
        run.record = &entry.record();
        run.metric = entry.metric;
        if (fingerprint != fingerprints.end()) run.examples_fingerprint = fingerprint->second;
        run.block_examples = column.block_examples;
        run.scores = entry.examples;
        run.has_trained = internal::HasTrained(entry, column);
        run.has_diverged = entry.has_failed();
        run.unjudged = unjudged;
      }
    }
  }
  return runs;
}

}  // namespace lra
