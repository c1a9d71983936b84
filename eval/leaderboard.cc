#include "eval/leaderboard.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "eval/baseline_record.h"
#include "eval/leaderboard_internal.h"
#include "lra/config.h"
#include "lra/fingerprint.h"

namespace lra {
namespace internal {

RunRecord SettingOf(const RunRecord& record) {
  RunRecord setting;
  *setting.mutable_config() = record.config();
  setting.mutable_config()->clear_attention();
  setting.mutable_config()->clear_seed();
  *setting.mutable_data() = record.data();
  return setting;
}

std::string OverridesOf(const RunRecord& record) {
  static const std::set<std::string>& names =
      *new std::set<std::string>{"task", "protocol", "preset", "seed"};
  std::vector<std::string> overrides;
  for (const auto& [path, value] : LeafFields(record.config())) {
    const auto origin = record.provenance().find(path);
    if (origin == record.provenance().end() || names.contains(path) ||
        absl::StartsWith(path, "attention."))
      continue;
    const bool is_fragment = absl::StartsWith(origin->second, "protocol ") ||
                             absl::StartsWith(origin->second, "preset ") ||
                             absl::StartsWith(origin->second, "= ") || origin->second == "default";
    if (!is_fragment) overrides.push_back(absl::StrCat(path, "=", value));
  }
  return absl::StrJoin(overrides, ", ");
}

}  // namespace internal

namespace {

using internal::ColumnRuns;
using internal::Entry;
using internal::SettingOf;

// Columns by (protocol, preset, overrides): settings that make sense across tasks. Within one key
// each task has a column for each setting.
using Groups = std::map<std::vector<std::string>, std::map<std::string, std::vector<ColumnRuns>>>;

void AddToColumn(const Entry& entry, std::vector<ColumnRuns>* columns) {
  const std::string setting = Fingerprint(SettingOf(entry.record()));
  for (ColumnRuns& column : *columns) {
    if (Fingerprint(SettingOf(column.entries.front().record())) == setting) {
      column.entries.push_back(entry);
      return;
    }
  }
  columns->push_back({entry.record().data().task(), {entry}});
}

Groups GroupMeasured(const std::vector<Entry>& entries) {
  Groups groups;
  for (const Entry& entry : entries) {
    if (entry.record().kind() != RunRecord::MEASURED) continue;
    const ExperimentConfig& config = entry.record().config();
    auto& tasks =
        groups[{config.protocol(), config.preset(), internal::OverridesOf(entry.record())}];
    AddToColumn(entry, &tasks[entry.record().data().task()]);
  }
  return groups;
}

// The k-th column of every task of a group makes the group's k-th table.
std::vector<std::vector<ColumnRuns>> SplitIntoTables(const Groups& groups) {
  std::vector<std::vector<ColumnRuns>> tables;
  for (const auto& [key, tasks] : groups) {
    const size_t first = tables.size();
    for (const auto& [task, columns] : tasks) {
      for (size_t i = 0; i < columns.size(); ++i) {
        if (tables.size() <= first + i) tables.emplace_back();
        tables[first + i].push_back(columns[i]);
      }
    }
  }
  return tables;
}

std::string SplitFingerprint(const Entry& entry) {
  const auto& splits = entry.record().data().split_fingerprint();
  const auto it = splits.find(entry.result->split());
  return it == splits.end() ? "" : it->second;
}

// Whether both were learnt from the same examples, chosen on the same ones, and read them alike.
bool SawTheSame(const DataIdentity& a, const DataIdentity& b) {
  const std::map<std::string, std::string> splits_a(a.split_fingerprint().begin(),
                                                    a.split_fingerprint().end());
  const std::map<std::string, std::string> splits_b(b.split_fingerprint().begin(),
                                                    b.split_fingerprint().end());
  return a.view_fingerprint() == b.view_fingerprint() && splits_a == splits_b;
}

// `other` may stand beside `run`: the same examples are scored; and a baseline that reads its
// inputs (all but the majority class) saw what the run saw.
bool ShowsSameExamples(const Entry& other, const Entry& run) {
  const DataIdentity& a = other.record().data();
  const DataIdentity& b = run.record().data();
  const bool same = a.task() == b.task() && !SplitFingerprint(other).empty() &&
                    SplitFingerprint(other) == SplitFingerprint(run) &&
                    other.result->examples() == run.result->examples();
  const bool reads =
      other.record().kind() == RunRecord::BASELINE && other.record().method() != kMajorityMethod;
  return same && (!reads || SawTheSame(a, b));
}

// Baselines and external rows join every column with the same examples; those that find none get
// tables of their own.
void JoinOthers(const std::vector<Entry>& entries, std::vector<std::vector<ColumnRuns>>* tables) {
  const size_t measured_tables = tables->size();
  for (const Entry& entry : entries) {
    if (entry.record().kind() == RunRecord::MEASURED) continue;
    bool joined = false;
    for (std::vector<ColumnRuns>& columns : *tables) {
      for (ColumnRuns& column : columns) {
        if (!ShowsSameExamples(entry, column.entries.front())) continue;
        column.entries.push_back(entry);
        joined = true;
      }
    }
    if (joined) continue;
    // The first own table that lacks the task takes it.
    size_t t = measured_tables;
    const auto has_task = [&](const ColumnRuns& column) {
      return column.task == entry.record().data().task();
    };
    while (t < tables->size() && std::any_of((*tables)[t].begin(), (*tables)[t].end(), has_task))
      ++t;
    if (t == tables->size()) tables->emplace_back();
    (*tables)[t].push_back({entry.record().data().task(), {entry}});
  }
}

// Names the fields in which a table's columns differ from the first table's.
std::string DescribeDifference(const std::vector<ColumnRuns>& first,
                               const std::vector<ColumnRuns>& other) {
  std::vector<std::string> sentences;
  for (const ColumnRuns& column : other) {
    for (const ColumnRuns& reference : first) {
      if (reference.task != column.task) continue;
      std::vector<std::string> fields;
      for (const FieldDifference& d : DiffRecords(SettingOf(reference.entries.front().record()),
                                                  SettingOf(column.entries.front().record()))) {
        fields.push_back(absl::StrCat(d.path, " (", d.a, " there, ", d.b, " here)"));
      }
      sentences.push_back(
          absl::StrCat("on ", column.task, " it differs from the first in ",
                       fields.empty() ? "its overrides' origin" : absl::StrJoin(fields, ", ")));
    }
  }
  if (sentences.empty()) return "A table of its own: it shares no task with the first.";
  return absl::StrCat("A table of its own: ", absl::StrJoin(sentences, "; "), ".");
}

// --- Published rows
// --------------------------------------------------------------------------------------------------

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

// --- Assembly
// --------------------------------------------------------------------------------------------------------

std::vector<Entry> SelectEntries(const FoundRuns& found, const LeaderboardOptions& options,
                                 std::vector<std::string>* left_out) {
  std::vector<Entry> entries;
  for (const LocatedRecord& located : found.runs) {
    const SplitResult* result = FindResult(located.record, options.split);
    if (result != nullptr && result->examples() > 0) {
      entries.push_back({&located, result});
    } else {
      left_out->push_back(absl::StrCat(located.directory, ": ", located.record.method(),
                                       " was not scored on the ", options.split, " split"));
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
  Leaderboard board{options, {}, {}};
  const std::vector<Entry> entries = SelectEntries(found, options, &board.left_out);
  if (entries.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "no run to show on the ", options.split, " split: ", absl::StrJoin(board.left_out, "; ")));
  }
  std::vector<std::vector<ColumnRuns>> tables = SplitIntoTables(GroupMeasured(entries));
  JoinOthers(entries, &tables);
  std::set<std::string> left_out;  // a baseline may join several tables, its reason is told once
  for (const std::vector<ColumnRuns>& columns : tables) {
    LeaderboardTable table;
    for (const ColumnRuns& column : columns) table.tasks.push_back(column.task);
    std::vector<std::string> refused;
    table.rows = internal::MakeRows(columns, options, &refused);
    left_out.insert(refused.begin(), refused.end());
    for (const PublishedTable& source : published) {
      PublishedRows rows = AlignPublished(source, table.tasks);
      if (!rows.rows.empty()) table.published.push_back(std::move(rows));
    }
    if (&columns != &tables.front()) table.differs = DescribeDifference(tables.front(), columns);
    table.notes = internal::MakeNotes(columns, options);
    board.tables.push_back(std::move(table));
  }
  board.left_out.insert(board.left_out.end(), left_out.begin(), left_out.end());
  return board;
}

}  // namespace lra
