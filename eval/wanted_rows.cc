#include "eval/wanted_rows.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "eval/setting_words.h"
#include "lra/status_macros.h"

namespace lra::internal {
namespace {

bool IsFolder(const std::string& name) {
  std::error_code ignored;
  return std::filesystem::is_directory(name, ignored);
}

// Everything that a row may be made of.
absl::StatusOr<FoundRuns> FindAll(const CompareRequest& request,
                                  const std::vector<std::string>& rows) {
  std::vector<std::string> paths;
  for (const std::string& name : rows) {
    if (IsFolder(name)) paths.push_back(name);
  }
  // Baselines, too, come from here: they say which runs trained. A missing default folder is no
  // error where all rows are folders.
  const bool is_needed = paths.size() < rows.size();
  for (const std::string& folder : request.runs) {
    if (is_needed || IsFolder(folder)) paths.push_back(folder);
  }
  return FindRunRecords(paths);
}

}  // namespace

absl::StatusOr<WantedRow> FindWantedRow(const std::string& name) {
  if (!IsFolder(name)) return WantedRow{name, {}};
  LRA_ASSIGN_OR_RETURN(const FoundRuns found, FindRunRecords({name}));
  WantedRow wanted{name, {found.unfinished.begin(), found.unfinished.end()}};
  for (const LocatedRecord& run : found.runs) wanted.directories.insert(run.directory);
  return wanted;
}

absl::StatusOr<ComparableRuns> FindComparableRuns(const CompareRequest& request,
                                                  const std::vector<std::string>& rows) {
  if (!request.metric.empty()) LRA_RETURN_IF_ERROR(FindMetric(request.metric).status());
  ComparableRuns runs;
  LRA_ASSIGN_OR_RETURN(runs.found, FindAll(request, rows));
  if (request.add_stopped) LRA_RETURN_IF_ERROR(request.add_stopped(&runs.found));
  LeaderboardOptions options;
  options.split = request.split;
  options.metric = request.metric;
  options.confidence = request.confidence;
  std::vector<std::string> left_out;  // a table names them
  LRA_ASSIGN_OR_RETURN(const std::vector<Entry> entries,
                       SelectEntries(runs.found, options, &left_out));
  runs.tables = MakeTables(entries);
  return runs;
}

absl::StatusOr<std::vector<Entry>> RunsIn(const ColumnRuns& column, const WantedRow& wanted,
                                          std::string* label) {
  std::vector<Entry> runs;
  std::vector<std::string> labels;
  for (const auto& [key, entries] : RowsOfColumn(column)) {
    const std::string here = LabelOf(key);
    std::vector<Entry> kept;
    for (const Entry& entry : entries) {
      const bool is_wanted = wanted.directories.empty()
                                 ? wanted.name == here || wanted.name == entry.record().method()
                                 : wanted.directories.contains(entry.located->directory);
      if (is_wanted && !entry.is_missing) kept.push_back(entry);
    }
    if (kept.empty()) continue;
    labels.push_back(here);
    if (runs.empty() || wanted.name == here) runs = std::move(kept);
  }
  const bool is_exact = std::find(labels.begin(), labels.end(), wanted.name) != labels.end();
  if (labels.size() > 1 && !is_exact) {
    return absl::InvalidArgumentError(absl::StrCat("\"", wanted.name, "\" is several rows on ",
                                                   column.task, ": ", absl::StrJoin(labels, "; "),
                                                   "; name one of them, or a folder of its runs"));
  }
  if (!labels.empty()) *label = is_exact ? wanted.name : labels.front();
  std::vector<std::string> repeats;  // the table names them
  return OnePerSeed(std::move(runs), &repeats);
}

std::vector<const Entry*> TrainedOf(const std::vector<Entry>& runs, const ColumnRuns& column) {
  std::vector<const Entry*> trained;
  for (const Entry& run : runs) {
    if (HasTrained(run, column)) trained.push_back(&run);
  }
  return trained;
}

std::vector<ComparedColumn> NameColumns(
    const std::vector<std::pair<size_t, const ColumnRuns*>>& columns) {
  std::set<size_t> tables;
  std::vector<const ColumnRuns*> all;
  for (const auto& [table, column] : columns) {
    tables.insert(table);
    all.push_back(column);
  }
  std::vector<ComparedColumn> names;
  for (const auto& [table, column] : columns) {
    ComparedColumn& name = names.emplace_back();
    name.task = column->task;
    if (tables.size() > 1) name.setting = DescribeSetting(*column, all);
    name.table = table;
    name.metric = &column->metric();
    name.block_examples = column->block_examples;
  }
  return names;
}

std::string WhyNoAverage(const std::vector<ComparedColumn>& columns,
                         const std::vector<UncomparedColumn>& not_compared) {
  if (columns.size() < 2) return "";
  std::map<std::string, int> settings_of_task;
  std::vector<const Metric*> metrics;
  bool has_one_table = true;
  for (const ComparedColumn& column : columns) {
    ++settings_of_task[column.task];
    metrics.push_back(column.metric);
    has_one_table &= column.table == columns.front().table;
  }
  std::set<std::string> repeated, missing;
  for (const auto& [task, settings] : settings_of_task) {
    if (settings > 1) repeated.insert(task);
  }
  for (const UncomparedColumn& column : not_compared) missing.insert(column.task);
  if (!repeated.empty()) {
    return absl::StrCat("several settings of ", absl::StrJoin(repeated, ", "),
                        " are not averaged; folders of one setting's runs in --runs choose it");
  }
  if (!has_one_table) return "the tasks' rules, settings or metrics differ";
  if (const std::string units = UnlikeUnits(metrics); !units.empty())
    return absl::StrCat("the tasks' units differ (", units, ")");
  if (missing.empty()) return "";
  return absl::StrCat(absl::StrJoin(missing, ", "), missing.size() == 1 ? " is" : " are",
                      " not compared");
}

std::string DescribeUncompared(const std::vector<UncomparedColumn>& columns) {
  return absl::StrJoin(columns, "; ", [](std::string* out, const UncomparedColumn& column) {
    absl::StrAppend(out, column.WithSetting(column.task), ": ", column.reason);
  });
}

absl::Status NoRunOf(const std::string& row, const CompareRequest& request,
                     const std::vector<std::vector<ColumnRuns>>& tables) {
  std::set<std::string> rows;
  for (const auto& columns : tables) {
    for (const ColumnRuns& column : columns) {
      for (const auto& [key, entries] : RowsOfColumn(column)) rows.insert(LabelOf(key));
    }
  }
  const std::string below = absl::StrCat(" below ", absl::StrJoin(request.runs, ", "));
  if (rows.empty()) {
    return absl::NotFoundError(absl::StrCat(
        "no run of \"", row, "\": no run", below, " is scored on the ", request.split, " split",
        request.metric.empty() ? "" : absl::StrCat(" and has ", request.metric)));
  }
  return absl::NotFoundError(absl::StrCat(
      "no run of \"", row, "\"", request.task.empty() ? "" : absl::StrCat(" on ", request.task),
      request.metric.empty() ? "" : absl::StrCat(" with ", request.metric), below,
      "; there are: ", absl::StrJoin(rows, ", ")));
}

}  // namespace lra::internal
