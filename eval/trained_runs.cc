#include "eval/trained_runs.h"

#include <algorithm>
#include <iterator>

#include "eval/leaderboard_internal.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

using NoteList = std::vector<std::string>;

// Tables of one design differ in few of their notes, and repeat the others.
NoteList MergedNotes(const std::vector<NoteList>& tables) {
  const auto is_in_all = [&](const std::string& note) {
    return std::all_of(tables.begin(), tables.end(), [&](const NoteList& notes) {
      return std::find(notes.begin(), notes.end(), note) != notes.end();
    });
  };
  NoteList merged;
  if (tables.empty()) return merged;
  std::copy_if(tables.front().begin(), tables.front().end(), std::back_inserter(merged), is_in_all);
  for (const NoteList& notes : tables) {
    std::copy_if(notes.begin(), notes.end(), std::back_inserter(merged),
                 [&](const std::string& note) { return !is_in_all(note); });
  }
  return merged;
}

}  // namespace

absl::StatusOr<TrainedRuns> FindTrainedRuns(const FoundRuns& found, const std::string& split,
                                            const std::string& metric,
                                            std::vector<std::string>* notes) {
  if (!metric.empty()) LRA_RETURN_IF_ERROR(FindMetric(metric).status());
  LeaderboardOptions options;
  options.split = split;
  options.metric = metric;
  TrainedRuns runs;
  LRA_ASSIGN_OR_RETURN(const std::vector<internal::Entry> entries,
                       internal::SelectEntries(found, options, &runs.left_out));
  std::vector<NoteList> notes_of_tables;
  for (const std::vector<internal::ColumnRuns>& columns : internal::MakeTables(entries)) {
    if (notes != nullptr) notes_of_tables.push_back(internal::MakeNotes(columns, options));
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
  if (notes != nullptr) *notes = MergedNotes(notes_of_tables);
  return runs;
}

}  // namespace lra
