#include "eval/leaderboard.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "eval/leaderboard_internal.h"
#include "lra/progress.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

using internal::ColumnRuns;
using internal::Entry;

// --- Published rows ---

PublishedRows::Row AlignRow(const PublishedRow& row, const std::vector<std::string>& tasks) {
  PublishedRows::Row aligned{row.method(), row.label(), row.note(),
                             std::vector<std::optional<double>>(tasks.size()), std::nullopt};
  size_t shown = 0;
  for (const PublishedCell& cell : row.cells()) {
    const auto it = std::find(tasks.begin(), tasks.end(), cell.task());
    if (it == tasks.end()) continue;
    aligned.percents[it - tasks.begin()] = cell.accuracy_percent();
    ++shown;
  }
  const bool same_tasks =
      shown == tasks.size() && static_cast<int>(shown) == row.cells_size() && shown > 1;
  if (same_tasks && row.average_percent() > 0) aligned.average_percent = row.average_percent();
  return aligned;
}

PublishedRows AlignPublished(const PublishedTable& table, const std::vector<std::string>& tasks) {
  PublishedRows published{table, {}};
  for (const PublishedRow& row : table.rows()) {
    PublishedRows::Row aligned = AlignRow(row, tasks);
    const auto is_set = [](const std::optional<double>& percent) { return percent.has_value(); };
    if (std::any_of(aligned.percents.begin(), aligned.percents.end(), is_set)) {
      published.rows.push_back(std::move(aligned));
    }
  }
  return published;
}

// --- Assembly ---

// Why rows of several columns have no average.
std::string DescribeIncomplete(const std::vector<LeaderboardRow>& rows) {
  std::vector<std::string> parts;
  for (const LeaderboardRow& row : rows) {
    if (row.missing_tasks.empty()) continue;
    parts.push_back(absl::StrCat(row.label, " (", absl::StrJoin(row.missing_tasks, ", "), ")"));
  }
  return parts.empty()
             ? ""
             : absl::StrCat("No average, because a task is missing: ", absl::StrJoin(parts, "; "),
                            ".");
}

// Why a run cannot be shown; empty if it can.
std::string ReasonToLeaveOut(const SplitResult* result, const absl::StatusOr<const Metric*>& metric,
                             const std::string& split) {
  if (result == nullptr || result->examples() == 0)
    return absl::StrCat("was not scored on the ", split, " split");
  if (!metric.ok()) return absl::StrCat("has no value: ", metric.status().message());
  const absl::Status known = CheckSums(**metric, "what scored this run", NamesOf(result->sums()));
  if (!known.ok()) return absl::StrCat("has no value: ", known.message());
  if (!std::isfinite((*metric)->Value(result->sums())))
    return absl::StrCat("has no value: its predictions do not give ", (*metric)->name());
  if (result->split_examples() == 0) return "";
  return absl::StrCat("was scored on the first ", FormatCount(result->examples()), " of ",
                      FormatCount(result->split_examples()), " ", split,
                      " examples only (evaluation.scored_examples)");
}

std::vector<Entry> SelectEntries(const FoundRuns& found, const LeaderboardOptions& options,
                                 std::vector<std::string>* left_out) {
  std::vector<Entry> entries;
  for (const LocatedRecord& located : found.runs) {
    const SplitResult* result = FindResult(located.record, options.split);
    const absl::StatusOr<const Metric*> metric =
        options.metric.empty() ? MetricOf(located.record.spec()) : FindMetric(options.metric);
    const std::string reason = ReasonToLeaveOut(result, metric, options.split);
    if (reason.empty()) {
      entries.push_back({&located, result, *metric});
    } else {
      left_out->push_back(
          absl::StrCat(located.directory, ": ", located.record.method(), " ", reason));
    }
  }
  for (const std::string& directory : found.unfinished) {
    left_out->push_back(
        absl::StrCat(directory, ": has no record; it failed, was stopped or is still going"));
  }
  return entries;
}

}  // namespace

absl::StatusOr<Leaderboard> BuildLeaderboard(const FoundRuns& found,
                                             const std::vector<PublishedTable>& published,
                                             const LeaderboardOptions& options) {
  for (double confidence : {options.confidence, options.mark_confidence}) {
    if (confidence > 0 && confidence < 1) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("confidence ", confidence, " is not between 0 and 1, e.g. 0.95"));
  }
  if (!options.metric.empty()) LRA_RETURN_IF_ERROR(FindMetric(options.metric).status());
  Leaderboard board{options, {}, {}};
  const std::vector<Entry> entries = SelectEntries(found, options, &board.left_out);
  if (entries.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "no run to show on the ", options.split, " split: ", absl::StrJoin(board.left_out, "; ")));
  }
  const std::vector<std::vector<ColumnRuns>> tables = internal::MakeTables(entries);
  std::set<std::string> left_out;  // a baseline may join several tables, its reason is told once
  for (const std::vector<ColumnRuns>& columns : tables) {
    LeaderboardTable table;
    table.metric = &columns.front().metric();
    for (const ColumnRuns& column : columns) table.tasks.push_back(column.task);
    std::vector<std::string> refused;
    table.rows = internal::MakeRows(columns, options, &refused);
    left_out.insert(refused.begin(), refused.end());
    for (const PublishedTable& source : published) {
      if (table.metric->name() != kAccuracy) break;  // what is published here is accuracy
      PublishedRows rows = AlignPublished(source, table.tasks);
      if (!rows.rows.empty()) table.published.push_back(std::move(rows));
    }
    if (&columns != &tables.front())
      table.differs = internal::DescribeDifference(tables.front(), columns);
    table.notes = internal::MakeNotes(columns, options);
    const std::string incomplete = DescribeIncomplete(table.rows);
    if (!incomplete.empty()) table.notes.push_back(incomplete);
    board.tables.push_back(std::move(table));
  }
  board.left_out.insert(board.left_out.end(), left_out.begin(), left_out.end());
  return board;
}

}  // namespace lra
