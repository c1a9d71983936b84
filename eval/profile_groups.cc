// Which runs stand in one profile, and in which rows.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "eval/data_identity.h"
#include "eval/example_scores.h"
#include "eval/leaderboard_internal.h"
#include "eval/profile_board.h"
#include "eval/setting_words.h"
#include "lra/status_macros.h"
#include "lra/suggest.h"

namespace lra {
namespace {

using internal::ColumnRuns;
using internal::Entry;

// Task, metric, view, and the examples of every split.
using GroupKey = std::tuple<std::string, std::string, std::string, std::string>;

GroupKey KeyOf(const ColumnRuns& column) {
  const DataIdentity& data = column.entries.front().record().data();
  const std::map<std::string, std::string> splits(data.split_fingerprint().begin(),
                                                  data.split_fingerprint().end());
  return {column.task, column.metric().name(), data.view_fingerprint(),
          absl::StrJoin(splits, ",", absl::PairFormatter("="))};
}

// Why a run is not among those of a row; empty where it is.
std::string WhyLeftOut(const Entry& entry) {
  if (entry.is_missing) return "was stopped or is still going";
  if (entry.result == nullptr) return "failed";
  if (entry.examples == nullptr) {
    return absl::StrCat("the scores of its examples are not on record (",
                        ExampleScoresFile(entry.metric->name(), "predictions.npy"),
                        " beside the record; `lra eval` makes a record that has them)");
  }
  return entry.damage;
}

ProfiledRow MakeRow(const internal::RowKey& key, std::vector<Entry> entries,
                    const ColumnRuns& column, std::vector<std::string>* left_out) {
  ProfiledRow row;
  row.label = internal::LabelOf(key);
  row.kind = entries.front().record().kind();
  const auto missing = std::stable_partition(entries.begin(), entries.end(),
                                             [](const Entry& entry) { return !entry.is_missing; });
  for (auto entry = missing; entry != entries.end(); ++entry)
    left_out->push_back(absl::StrCat(entry->located->directory, ": ", WhyLeftOut(*entry)));
  entries.erase(missing, entries.end());
  entries = internal::OnePerSeed(std::move(entries), left_out);
  const auto has_trained = [&](const Entry& run) { return internal::HasTrained(run, column); };
  row.all = static_cast<int64_t>(entries.size());
  row.trained = absl::c_count_if(entries, has_trained);
  for (const Entry& run : entries) {
    const std::string why = WhyLeftOut(run);
    if (!why.empty()) left_out->push_back(absl::StrCat(run.located->directory, ": ", why));
    if (!why.empty() || (row.trained > 0 && !has_trained(run))) continue;
    row.runs.push_back(run.located);
    row.scores.push_back(run.examples);
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
  double sum = 0;
  for (const auto& scores : row.scores) sum += Mean({scores->data(), scores->size()});
  return sum / static_cast<double>(row.scores.size());
}

// Baselines rise to the best, others fall.
void Sort(const Metric& metric, ProfiledSetting* setting) {
  const bool rises = setting->kind == RunRecord::BASELINE;
  absl::c_stable_sort(setting->rows, [&](const ProfiledRow& a, const ProfiledRow& b) {
    return rises ? metric.Better(MeanOf(b), MeanOf(a)) : metric.Better(MeanOf(a), MeanOf(b));
  });
}

// A baseline is recorded beside every suite: repeats with equal bits are no news.
void DropCopies(std::vector<std::string>* left_out) {
  left_out->erase(std::remove_if(left_out->begin(), left_out->end(),
                                 [](const std::string& why) {
                                   return absl::StrContains(why, ": is a copy of ");
                                 }),
                  left_out->end());
}

// Adds a column's rows: of its baselines those that are not there yet, since they join every column
// that shows the same examples. What was measured is a setting of its own: names of a few fields
// need not tell two columns apart.
void AddColumn(const ColumnRuns& column, const internal::SettingWords& words,
               std::map<RunRecord::Kind, std::set<std::string>>* known,
               std::vector<ProfiledSetting>* settings, std::vector<std::string>* left_out) {
  const size_t earlier = settings->size();
  for (const auto& [key, entries] : internal::RowsOfColumn(column)) {
    std::vector<std::string> why;
    ProfiledRow row = MakeRow(key, entries, column, &why);
    const bool joins = row.kind != RunRecord::MEASURED;
    if (joins) DropCopies(&why);
    const bool is_new = !joins || (*known)[row.kind].insert(row.label).second;
    if (!is_new) continue;
    left_out->insert(left_out->end(), why.begin(), why.end());
    if (row.runs.empty()) continue;
    const auto first = settings->begin() + static_cast<int64_t>(joins ? 0 : earlier);
    auto setting = std::find_if(first, settings->end(),
                                [&](const ProfiledSetting& one) { return one.kind == row.kind; });
    if (setting == settings->end()) {
      settings->push_back({row.kind,
                           joins ? "" : words.rules,
                           joins ? std::vector<std::string>() : words.fields,
                           {}});
      setting = settings->end() - 1;
    }
    setting->rows.push_back(std::move(row));
  }
}

// The columns of each group, in the order of the tables.
std::vector<std::vector<const ColumnRuns*>> ColumnsByGroup(
    const std::vector<std::vector<ColumnRuns>>& tables) {
  std::map<GroupKey, size_t> places;
  std::vector<std::vector<const ColumnRuns*>> groups;
  for (const std::vector<ColumnRuns>& columns : tables) {
    for (const ColumnRuns& column : columns) {
      const auto [place, is_new] = places.try_emplace(KeyOf(column), groups.size());
      if (is_new) groups.emplace_back();
      groups[place->second].push_back(&column);
    }
  }
  return groups;
}

ProfileGroup MakeGroup(const std::vector<const ColumnRuns*>& columns, const std::string& split,
                       std::vector<std::string>* left_out) {
  ProfileGroup group;
  group.task = columns.front()->task;
  group.split = split;
  group.metric = &columns.front()->metric();
  group.block_examples = columns.front()->block_examples;
  group.data = &columns.front()->entries.front().record();
  group.max_length_tokens = ViewOfRun(*group.data, "").value_or(DataView()).max_length_tokens();
  std::map<RunRecord::Kind, std::set<std::string>> known;
  for (const ColumnRuns* column : columns) {
    AddColumn(*column, internal::SettingWordsOf(*column, columns), &known, &group.settings,
              left_out);
  }
  const auto order = [](const ProfiledSetting& setting) {
    return setting.kind == RunRecord::BASELINE ? 0 : setting.kind == RunRecord::MEASURED ? 1 : 2;
  };
  absl::c_stable_sort(group.settings, [&](const ProfiledSetting& a, const ProfiledSetting& b) {
    return order(a) < order(b);
  });
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
    if (!entry.record().spec().guesses_tokens()) return false;
    left_out->push_back(WhyNoProfile(entry.located->directory));
    return true;
  };
  entries.erase(std::remove_if(entries.begin(), entries.end(), unfit), entries.end());
  const std::vector<std::vector<ColumnRuns>> tables = internal::MakeTables(entries);
  std::vector<ProfileGroup> groups;
  std::map<std::string, std::vector<ColumnRuns>> first_of;  // column of the first group, by task
  for (const std::vector<const ColumnRuns*>& columns : ColumnsByGroup(tables)) {
    ProfileGroup group = MakeGroup(columns, split, left_out);
    if (group.settings.empty()) continue;
    const std::vector<ColumnRuns> column = {*columns.front()};
    const auto [first, is_first] = first_of.try_emplace(group.task, column);
    if (!is_first)
      group.differs = internal::DescribeDifference(absl::MakeConstSpan(&first->second, 1), column);
    groups.push_back(std::move(group));
  }
  if (groups.empty()) {
    return absl::FailedPreconditionError(absl::StrCat("no run to profile on the ", split,
                                                      " split: ", absl::StrJoin(*left_out, "; ")));
  }
  return groups;
}

}  // namespace lra
