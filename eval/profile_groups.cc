// Which runs stand in one profile, and in which rows.
#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "eval/data_identity.h"
#include "eval/leaderboard_internal.h"
#include "eval/profile_board.h"
#include "lra/fingerprint.h"
#include "lra/status_macros.h"
#include "lra/suggest.h"

namespace lra {
namespace {

using internal::ColumnRuns;
using internal::Entry;

// Task, metric, the split's examples, and how they are seen.
using GroupKey = std::tuple<std::string, std::string, std::string, std::string>;

GroupKey KeyOf(const ColumnRuns& column, const std::string& split) {
  const RunRecord& record = column.entries.front().record();
  // Whoever opens the data says what is wrong with a record that does not say how it was seen.
  const DataView view = ViewOfRun(record, "").value_or(DataView());
  const auto& fingerprints = record.data().split_fingerprint();
  const auto it = fingerprints.find(split);
  return GroupKey{column.task, column.metric().name(), it == fingerprints.end() ? "" : it->second,
                  Fingerprint(view)};
}

// The entries of a row that have scores of examples. Why others have none goes to `left_out`.
ProfiledRow MakeRow(const internal::RowKey& key, const std::vector<Entry>& entries,
                    std::vector<std::string>* left_out) {
  ProfiledRow row;
  row.label = internal::LabelOf(key);
  std::vector<Entry> scored;
  for (const Entry& entry : entries) {
    if (entry.examples != nullptr) {
      scored.push_back(entry);
    } else {
      left_out->push_back(
          absl::StrCat(entry.located->directory, ": the scores of its examples are not on record"));
    }
  }
  // A baseline is recorded beside every suite, and a copy of it says nothing.
  std::vector<std::string> copies;
  const bool is_baseline = entries.front().record().kind() == RunRecord::BASELINE;
  for (const Entry& entry :
       internal::OnePerSeed(std::move(scored), is_baseline ? &copies : left_out)) {
    row.kind = entry.record().kind();
    row.runs.push_back(entry.located);
    row.scores.push_back(entry.examples);
  }
  return row;
}

// InvalidArgument unless there are runs of each chosen method.
absl::Status CheckMethods(const std::vector<Entry>& entries,
                          const std::vector<std::string>& methods) {
  std::set<std::string> known;
  for (const Entry& entry : entries) {
    if (entry.record().kind() != RunRecord::BASELINE) known.insert(entry.record().method());
  }
  for (const std::string& method : methods) {
    if (!known.contains(method))
      return UnknownNameError("method of these rows", method, {known.begin(), known.end()});
  }
  return absl::OkStatus();
}

double MeanOf(const ProfiledRow& row) {
  double sum = 0, count = 0;
  for (const auto& scores : row.scores) {
    for (int64_t i = 0; i < row.examples(); ++i) sum += (*scores)[i];
    count += static_cast<double>(row.examples());
  }
  return count > 0 ? sum / count : 0;
}

// Baselines rise to the best, others fall.
void Sort(const Metric& metric, ProfiledSetting* setting) {
  std::stable_sort(setting->rows.begin(), setting->rows.end(),
                   [&](const ProfiledRow& a, const ProfiledRow& b) {
                     return a.kind == RunRecord::BASELINE ? metric.Better(MeanOf(b), MeanOf(a))
                                                          : metric.Better(MeanOf(a), MeanOf(b));
                   });
}

// Baselines join every column with the same examples; each is shown once.
ProfileGroup MakeGroup(const std::vector<const ColumnRuns*>& columns, const std::string& split,
                       std::vector<std::string>* left_out) {
  ProfileGroup group;
  group.task = columns.front()->task;
  group.split = split;
  group.metric = &columns.front()->metric();
  group.data = &columns.front()->entries.front().record();
  group.max_length_tokens = ViewOfRun(*group.data, "").value_or(DataView()).max_length_tokens();
  ProfiledSetting baselines;
  std::set<std::string> known;
  for (const ColumnRuns* column : columns) {
    ProfiledSetting setting{internal::DescribeSetting(*column, columns), {}};
    for (const auto& [key, entries] : internal::RowsOfColumn(*column)) {
      const bool is_baseline = entries.front().record().kind() == RunRecord::BASELINE;
      if (is_baseline && !known.insert(internal::LabelOf(key)).second) continue;
      ProfiledRow row = MakeRow(key, entries, left_out);
      if (!row.runs.empty()) (is_baseline ? baselines : setting).rows.push_back(std::move(row));
    }
    if (!setting.rows.empty()) group.settings.push_back(std::move(setting));
  }
  if (!baselines.rows.empty()) group.settings.insert(group.settings.begin(), std::move(baselines));
  for (ProfiledSetting& setting : group.settings) Sort(*group.metric, &setting);
  return group;
}

}  // namespace

int64_t ProfiledRow::examples() const {
  size_t least = scores.empty() ? 0 : scores.front()->size();
  for (const auto& run : scores) least = std::min(least, run->size());
  return static_cast<int64_t>(least);
}

absl::StatusOr<std::vector<ProfileGroup>> GroupForProfiles(const FoundRuns& found,
                                                           const std::string& split,
                                                           const std::vector<std::string>& methods,
                                                           std::vector<std::string>* left_out) {
  LeaderboardOptions options;
  options.split = split;
  LRA_ASSIGN_OR_RETURN(std::vector<Entry> entries,
                       internal::SelectEntries(found, options, left_out));
  LRA_RETURN_IF_ERROR(CheckMethods(entries, methods));
  const auto unfit = [&](const Entry& entry) {
    const bool is_chosen = methods.empty() || entry.record().kind() == RunRecord::BASELINE ||
                           absl::c_linear_search(methods, entry.record().method());
    if (!is_chosen) return true;
    if (entry.result != nullptr && entry.record().spec().guesses_tokens()) {
      left_out->push_back(absl::StrCat(entry.located->directory,
                                       ": guesses tokens (view.target); profiles are of labels"));
    }
    return entry.result == nullptr || entry.record().spec().guesses_tokens();
  };
  entries.erase(std::remove_if(entries.begin(), entries.end(), unfit), entries.end());
  const std::vector<std::vector<ColumnRuns>> tables = internal::MakeTables(entries);
  std::vector<std::pair<GroupKey, std::vector<const ColumnRuns*>>> columns_of;  // as tables come
  for (const std::vector<ColumnRuns>& columns : tables) {
    for (const ColumnRuns& column : columns) {
      const GroupKey key = KeyOf(column, split);
      auto group = std::find_if(columns_of.begin(), columns_of.end(),
                                [&](const auto& known) { return known.first == key; });
      if (group == columns_of.end())
        group = columns_of.insert(group, {key, std::vector<const ColumnRuns*>()});
      group->second.push_back(&column);
    }
  }
  std::vector<ProfileGroup> groups;
  for (const auto& [key, columns] : columns_of) {
    ProfileGroup group = MakeGroup(columns, split, left_out);
    if (!group.settings.empty()) groups.push_back(std::move(group));
  }
  if (groups.empty()) {
    return absl::FailedPreconditionError(absl::StrCat("no run to profile on the ", split,
                                                      " split: ", absl::StrJoin(*left_out, "; ")));
  }
  return groups;
}

}  // namespace lra
