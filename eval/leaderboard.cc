#include "eval/leaderboard.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "eval/chosen_rows.h"
#include "eval/example_scores.h"
#include "eval/later_look.h"
#include "eval/leaderboard_internal.h"
#include "eval/run_folders.h"
#include "eval/run_record.h"
#include "lra/files.h"
#include "lra/fingerprint.h"
#include "lra/progress.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

using internal::ColumnRuns;
using internal::Entry;

// Why rows of several columns have no average.
std::string DescribeMissingAverages(const LeaderboardTable& table) {
  if (const std::string units = UnlikeUnits(table.metrics); !units.empty())
    return absl::StrCat("No average, because the tasks' units differ (", units,
                        "); rows are ordered by the first task of which they have a score.");
  std::vector<std::string> parts;
  for (const LeaderboardRow& row : table.rows) {
    if (row.missing_tasks.empty()) continue;
    parts.push_back(absl::StrCat(row.label, " (", absl::StrJoin(row.missing_tasks, ", "), ")"));
  }
  return parts.empty()
             ? ""
             : absl::StrCat("No average, because a task is missing: ", absl::StrJoin(parts, "; "),
                            ".");
}

// Why a run cannot be shown; empty if it can. A run that failed is shown without a result.
std::string ReasonToLeaveOut(const RunRecord& record, const SplitResult* result,
                             const absl::StatusOr<const Metric*>& metric,
                             const std::string& split) {
  if (result == nullptr && record.has_failure() && metric.ok()) return "";
  if (IsScoredAtTheEndAlone(record, split)) {
    return absl::StrCat("was scored on the ", split,
                        " split at its last checkpoint alone, which is not the selected one");
  }
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

// Records may be kept without their predictions, but not with others.
std::string DamageOf(const LocatedRecord& located, const SplitResult& result) {
  if (!FileExists(JoinPath(located.directory, result.predictions_file()))) return "";
  RunRecord only;
  only.mutable_spec()->set_classes(located.record.spec().classes());
  *only.add_results() = result;
  return std::string(CheckPredictions(located.directory, only).message());
}

// A table without some run would be another table, so a person decides.
absl::Status WithRemedy(const absl::Status& status, const std::string& run) {
  return absl::Status(status.code(),
                      absl::StrCat(status.message(), "; put back a copy of the file, or move ", run,
                                   " out of the folders that are read, to leave the run out"));
}

absl::StatusOr<std::shared_ptr<const ExampleValues>> ReadScores(const LocatedRecord& located,
                                                                const SplitResult& result,
                                                                const Metric& metric) {
  absl::StatusOr<std::optional<ExampleValues>> examples =
      ReadExampleScores(located.directory, result, metric);
  if (!examples.ok()) return WithRemedy(examples.status(), located.directory);
  if (!*examples) return nullptr;
  return std::make_shared<const ExampleValues>(**std::move(examples));
}

// Where another metric is shown, the task's own one tells which runs trained, if the record has it.
absl::Status AddOwnScores(Entry* entry) {
  const auto own = MetricOf(entry->record().spec());
  if (!own.ok() || (*own)->name() == entry->metric->name() || !(*own)->traits().tells_training)
    return absl::OkStatus();
  const Sums& sums = entry->result->sums();
  if (!CheckSums(**own, "what scored this run", NamesOf(sums)).ok() ||
      !std::isfinite((*own)->Value(sums)))
    return absl::OkStatus();
  LRA_ASSIGN_OR_RETURN(entry->own_examples, ReadScores(*entry->located, *entry->result, **own));
  entry->own_metric = *own;
  return absl::OkStatus();
}

absl::StatusOr<const Metric*> ShownMetric(const RunRecord& record,
                                          const LeaderboardOptions& options) {
  return MetricOf(record.spec(), options.metric);
}

// Runs with equal keys are of one cell: kind, method, settings without the seed, data.
using CellKey = std::tuple<int, std::string, std::string, std::string>;

CellKey KeyOf(const Entry& entry) {
  const RunRecord& record = entry.record();
  return {record.kind(), record.method(), CellFingerprintOf(record), Fingerprint(record.data())};
}

// The number of examples that most runs have; of several such numbers the largest.
int64_t UsualExamples(const std::map<int64_t, int>& runs_by_examples) {
  int64_t usual = 0;
  int most = 0;
  for (const auto& [examples, runs] : runs_by_examples) {
    if (runs >= most) usual = examples, most = runs;
  }
  return usual;
}

// Runs of one cell are scored on the same examples: one that has another number of them than most
// was changed, or comes from another build, and cannot be held against them.
void LeaveOutUnequal(const std::string& split, std::vector<Entry>* entries,
                     std::vector<std::string>* left_out) {
  std::map<CellKey, std::map<int64_t, int>> cells;
  for (const Entry& entry : *entries) {
    if (entry.result != nullptr) ++cells[KeyOf(entry)][entry.result->examples()];
  }
  std::vector<Entry> kept;
  for (Entry& entry : *entries) {
    const int64_t usual = entry.result == nullptr ? 0 : UsualExamples(cells.at(KeyOf(entry)));
    if (entry.result == nullptr || entry.result->examples() == usual) {
      kept.push_back(std::move(entry));
      continue;
    }
    left_out->push_back(absl::StrCat(entry.located->directory, ": ", kRecordFile, " has ",
                                     FormatCount(entry.result->examples()), " ", split,
                                     " examples, those of other runs of its cell have ",
                                     FormatCount(usual), "; it is not counted"));
  }
  *entries = std::move(kept);
}

// Columns of one table agree in protocol and preset.
std::string DescribeRules(const std::vector<ColumnRuns>& columns) {
  for (const ColumnRuns& column : columns) {
    const RunRecord& record = column.entries.front().record();  // measured ones come first
    if (record.kind() == RunRecord::MEASURED)
      return absl::StrCat("protocol ", record.config().protocol(), ", preset ",
                          record.config().preset());
  }
  return "";
}

// Why rows of a column that were compared have no letters; empty if they have.
std::string DescribeMissingLetters(const LeaderboardTable& table, size_t column) {
  const auto is_of_column = [&](const TableComparison& comparison) {
    return comparison.task == table.tasks[column];
  };
  if (std::none_of(table.comparisons.begin(), table.comparisons.end(), is_of_column)) return "";
  for (const LeaderboardRow& row : table.rows) {
    if (row.cells[column] && !row.cells[column]->letters.empty()) return "";
  }
  return absl::StrCat(table.tasks[column],
                      ": no letters, because too many sets of rows could not be told apart; JSON "
                      "has every comparison.");
}

// Rows, their statistics and comparisons.
void FillTable(const std::vector<ColumnRuns>& columns, const LeaderboardOptions& options,
               std::vector<std::string>* left_out, LeaderboardTable* table) {
  std::vector<internal::OpenRow> rows = internal::MakeRows(columns, options, left_out);
  internal::FillLearned(columns, &rows);
  internal::FillAverages(columns, options, &rows);
  table->comparisons = internal::CompareColumns(columns, options, &rows);
  for (internal::OpenRow& open : rows) table->rows.push_back(std::move(open.row));
}

}  // namespace

absl::StatusOr<std::vector<Entry>> internal::SelectEntries(const FoundRuns& found,
                                                           const LeaderboardOptions& options,
                                                           std::vector<std::string>* left_out) {
  std::vector<Entry> entries;
  for (const LocatedRecord& located : found.runs) {
    const SplitResult* result = FindResult(located.record, options.split);
    const auto metric = ShownMetric(located.record, options);
    const std::string reason = ReasonToLeaveOut(located.record, result, metric, options.split);
    if (!reason.empty()) {
      left_out->push_back(
          absl::StrCat(located.directory, ": ", located.record.method(), " ", reason));
      continue;
    }
    Entry entry{&located, result, *metric};
    if (result != nullptr) {
      LRA_ASSIGN_OR_RETURN(entry.examples, ReadScores(located, *result, **metric));
      LRA_RETURN_IF_ERROR(AddOwnScores(&entry));
      entry.damage = DamageOf(located, *result);
    }
    entries.push_back(std::move(entry));
  }
  for (const LocatedRecord& stopped : found.stopped) {
    const auto metric = ShownMetric(stopped.record, options);
    if (!metric.ok() || stopped.record.kind() != RunRecord::MEASURED) continue;
    entries.push_back({.located = &stopped, .metric = *metric, .is_missing = true});
  }
  LeaveOutUnequal(options.split, &entries, left_out);
  for (const std::string& message : found.damaged) left_out->push_back(message);
  for (const std::string& directory : found.unfinished)
    left_out->push_back(absl::StrCat(directory, ": ", kNoRecord));
  return entries;
}

absl::StatusOr<Leaderboard> BuildLeaderboard(const FoundRuns& found,
                                             const std::vector<PublishedTable>& published,
                                             const LeaderboardOptions& options) {
  if (!(options.confidence > 0 && options.confidence < 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("confidence ", options.confidence, " is not between 0 and 1, e.g. 0.95"));
  }
  if (!options.metric.empty()) LRA_RETURN_IF_ERROR(FindMetric(options.metric).status());
  Leaderboard board{options, {}, {}};
  LRA_ASSIGN_OR_RETURN(const std::vector<Entry> entries,
                       internal::SelectEntries(found, options, &board.left_out));
  if (std::none_of(entries.begin(), entries.end(),
                   [](const Entry& entry) { return !entry.is_missing; })) {
    return absl::FailedPreconditionError(absl::StrCat(
        "no run to show on the ", options.split, " split: ", absl::StrJoin(board.left_out, "; ")));
  }
  LRA_ASSIGN_OR_RETURN(const internal::ChosenRows chosen,
                       internal::ChooseRows(internal::MakeTables(entries),
                                            internal::ShownPublished(published), options));
  const std::vector<std::vector<ColumnRuns>>& tables = chosen.tables;
  std::set<std::string> left_out;  // a baseline may join several tables, its reason is told once
  for (const std::vector<ColumnRuns>& columns : tables) {
    LeaderboardTable table;
    for (const ColumnRuns& column : columns) {
      table.tasks.push_back(column.task);
      if (std::string builds = internal::DescribeBuilds(internal::WithoutRepeats(column));
          !builds.empty())
        table.builds.push_back(std::move(builds));
    }
    table.metrics = internal::MetricsOf(columns);
    table.metric = &MetricOfAll(table.metrics);
    table.rules = DescribeRules(columns);
    std::vector<std::string> refused;
    FillTable(columns, options, &refused, &table);
    left_out.insert(refused.begin(), refused.end());
    if (&columns != &tables.front())
      table.differs = internal::DescribeDifference(
          absl::MakeConstSpan(tables).first(board.tables.size()), columns);
    table.notes = internal::MakeNotes(columns, options);
    if (!chosen.note.empty()) table.notes.push_back(chosen.note);
    for (size_t c = 0; c < table.tasks.size(); ++c) {
      if (std::string missing = DescribeMissingLetters(table, c); !missing.empty())
        table.notes.push_back(std::move(missing));
    }
    if (std::string why = DescribeMissingAverages(table); !why.empty())
      table.notes.push_back(std::move(why));
    internal::AddPublished(chosen.published, options.split, columns, &table);
    board.tables.push_back(std::move(table));
  }
  board.left_out.insert(board.left_out.end(), left_out.begin(), left_out.end());
  return board;
}

}  // namespace lra
