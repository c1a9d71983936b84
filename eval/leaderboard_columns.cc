// Which runs may stand in one column, and which columns make a table.
#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "eval/baseline_record.h"
#include "eval/leaderboard_internal.h"
#include "eval/setting_words.h"
#include "lra/fingerprint.h"
#include "lra/task_files.h"

namespace lra::internal {
namespace {

// --- Columns ---

// A column that is being filled; the first run of each setting stands for the others.
struct OpenColumn {
  ColumnRuns runs;
  std::map<std::string, const RunRecord*> settings;  // by fingerprint
};

bool Fits(const OpenColumn& column, const std::string& setting, const RunRecord& record) {
  if (column.settings.contains(setting)) return true;
  return std::all_of(column.settings.begin(), column.settings.end(), [&](const auto& other) {
    return SettingDifferences(*other.second, record).empty();
  });
}

// `setting` is the fingerprint of the run's.
void AddToColumn(const Entry& entry, const std::string& setting, std::vector<OpenColumn>* columns) {
  auto column = std::find_if(columns->begin(), columns->end(), [&](const OpenColumn& open) {
    return Fits(open, setting, entry.record());
  });
  if (column == columns->end()) {
    columns->push_back({{entry.record().data().task(), {}}, {}});
    column = std::prev(columns->end());
  }
  column->runs.entries.push_back(entry);
  column->settings.emplace(setting, &entry.record());
}

// --- Tables ---

// The columns of one metric, protocol and preset: by overrides, then by task, one column for each
// setting.
using Group = std::map<std::string, std::map<std::string, std::vector<OpenColumn>>>;

// The overrides under which a column stands that the run fits: its own, or others where the two
// differ in rules alone that one of them names and the protocol has anyway. Its own where there is
// no such column.
std::string OverridesOfGroup(const RunRecord& record, const std::string& setting,
                             const Group& group) {
  const std::string telling = TellingOverridesOf(record);
  const auto fits = [&](const OpenColumn& column) {
    return TellingOverridesOf(column.runs.entries.front().record()) == telling &&
           Fits(column, setting, record);
  };
  for (const auto& [overrides, tasks] : group) {
    const auto columns = tasks.find(record.data().task());
    if (columns != tasks.end() && std::any_of(columns->second.begin(), columns->second.end(), fits))
      return overrides;
  }
  return OverridesOf(record);
}

// Metric, protocol, preset.
using GroupKey = std::tuple<std::string, std::string, std::string>;

std::map<GroupKey, Group> GroupMeasured(const std::vector<Entry>& entries) {
  std::map<GroupKey, Group> groups;
  for (const Entry& entry : entries) {
    const RunRecord& record = entry.record();
    if (record.kind() != RunRecord::MEASURED) continue;
    Group& group =
        groups[{entry.metric->name(), record.config().protocol(), record.config().preset()}];
    const std::string setting = Fingerprint(SettingOf(record));
    AddToColumn(entry, setting,
                &group[OverridesOfGroup(record, setting, group)][record.data().task()]);
  }
  return groups;
}

// Overrides such as train.steps are often a task's own. A task that was run with one set of them
// only stands beside the other such tasks; those with several are told apart by them.
void UniteSingleTasks(Group* group) {
  std::map<std::string, int> settings_of_task;
  for (const auto& [overrides, tasks] : *group) {
    for (const auto& [task, columns] : tasks) ++settings_of_task[task];
  }
  std::map<std::string, std::vector<OpenColumn>>* target = nullptr;
  for (auto& [overrides, tasks] : *group) {
    for (auto it = tasks.begin(); it != tasks.end();) {
      const bool is_single = settings_of_task[it->first] == 1;
      if (is_single && target == nullptr) target = &tasks;
      if (!is_single || target == &tasks) {
        ++it;
        continue;
      }
      target->insert(tasks.extract(it++));
    }
  }
}

// The k-th column of every task of a group makes the group's k-th table.
std::vector<std::vector<ColumnRuns>> SplitIntoTables(std::map<GroupKey, Group> groups) {
  std::vector<std::vector<ColumnRuns>> tables;
  for (auto& [rules, group] : groups) {
    UniteSingleTasks(&group);
    for (const auto& [overrides, tasks] : group) {
      const size_t first = tables.size();
      for (const auto& [task, columns] : tasks) {
        for (size_t i = 0; i < columns.size(); ++i) {
          if (tables.size() <= first + i) tables.emplace_back();
          tables[first + i].push_back(columns[i].runs);
        }
      }
    }
  }
  return tables;
}

// A column of nothing but runs that were stopped or are still going says nothing.
void RemoveIfAllAreMissing(std::vector<ColumnRuns>* columns) {
  const auto is_missing = [](const Entry& entry) { return entry.is_missing; };
  columns->erase(std::remove_if(columns->begin(), columns->end(),
                                [&](const ColumnRuns& column) {
                                  return std::all_of(column.entries.begin(), column.entries.end(),
                                                     is_missing);
                                }),
                 columns->end());
}

// --- Baselines and external rows ---

std::string SplitFingerprint(const Entry& entry, const std::string& split) {
  const auto& splits = entry.record().data().split_fingerprint();
  const auto it = splits.find(split);
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

// `other` may stand beside `run`: the same examples are scored; and what reads its inputs (all but
// the majority class) saw what the run saw.
// Where the run's protocol leaves a last, smaller batch unscored, a row of the whole split still
// shows them (leaderboard_notes says so).
bool ShowsSameExamples(const Entry& other, const Entry& run) {
  const DataIdentity& a = other.record().data();
  const DataIdentity& b = run.record().data();
  const std::string fingerprint = SplitFingerprint(other, other.result->split());
  const bool same = other.metric->name() == run.metric->name() && a.task() == b.task() &&
                    !fingerprint.empty() &&
                    fingerprint == SplitFingerprint(run, other.result->split()) &&
                    (run.result == nullptr ||  // it failed: it would have been scored on these
                     other.result->examples() == run.result->examples() ||
                     (run.record().config().evaluation().drop_last() &&
                      other.result->examples() > run.result->examples()));
  const bool reads =
      other.record().kind() == RunRecord::EXTERNAL || other.record().method() != kMajorityMethod;
  return same && (!reads || SawTheSame(a, b));
}

// Rows that were not trained here, in the order in which they find their columns, whatever their
// folders are called: external rows first, because baselines join the columns that these open, and
// the majority class, which suits every view, last.
std::vector<const Entry*> OthersInOrder(const std::vector<Entry>& entries) {
  using Place = std::tuple<int, std::string, std::string, uint32_t>;
  std::vector<std::pair<Place, const Entry*>> others;
  for (const Entry& entry : entries) {
    const RunRecord& record = entry.record();
    if (record.kind() == RunRecord::MEASURED) continue;
    Place place = {record.method() == kMajorityMethod ? 2 : 1, "", "", 0};
    if (record.kind() == RunRecord::EXTERNAL)
      place = {0, record.method(), Fingerprint(record.data()), record.seed()};
    others.emplace_back(std::move(place), &entry);
  }
  std::stable_sort(others.begin(), others.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<const Entry*> sorted;
  for (const auto& [place, entry] : others) sorted.push_back(entry);
  return sorted;
}

// Baselines and external rows join every column with the same examples; those that find none get
// tables of their own.
void JoinOthers(const std::vector<Entry>& entries, std::vector<std::vector<ColumnRuns>>* tables) {
  const size_t measured_tables = tables->size();
  for (const Entry* other : OthersInOrder(entries)) {
    const Entry& entry = *other;
    bool joined = false;
    for (std::vector<ColumnRuns>& columns : *tables) {
      for (ColumnRuns& column : columns) {
        const Entry* const scored = column.first_scored();
        const Entry& run = scored == nullptr ? column.entries.front() : *scored;
        if (entry.result == nullptr || !ShowsSameExamples(entry, run)) continue;
        column.entries.push_back(entry);
        joined = true;
      }
    }
    if (joined) continue;
    // The first own table of its metric that lacks the task takes it.
    size_t t = measured_tables;
    const auto keeps_out = [&](const ColumnRuns& column) {
      return column.task == entry.record().data().task() ||
             column.metric().name() != entry.metric->name();
    };
    while (t < tables->size() && std::any_of((*tables)[t].begin(), (*tables)[t].end(), keeps_out))
      ++t;
    if (t == tables->size()) tables->emplace_back();
    (*tables)[t].push_back({entry.record().data().task(), {entry}});
  }
}

// By the order of the known tasks, and those that are not known by name after them.
void SortByTask(const std::vector<std::string>& order, std::vector<ColumnRuns>* columns) {
  const auto place = [&](const ColumnRuns& column) {
    return std::pair(std::find(order.begin(), order.end(), column.task), column.task);
  };
  std::sort(columns->begin(), columns->end(),
            [&](const ColumnRuns& a, const ColumnRuns& b) { return place(a) < place(b); });
}

// The table's column of the task; nullptr if it has none.
const ColumnRuns* ColumnOf(const std::vector<ColumnRuns>& table, const std::string& task) {
  const auto it = std::find_if(table.begin(), table.end(),
                               [&](const ColumnRuns& column) { return column.task == task; });
  return it == table.end() ? nullptr : &*it;
}

}  // namespace

const Entry* ColumnRuns::first_scored() const {
  const auto it = std::find_if(entries.begin(), entries.end(),
                               [](const Entry& entry) { return entry.result != nullptr; });
  return it == entries.end() ? nullptr : &*it;
}

std::vector<const Metric*> MetricsOf(const std::vector<ColumnRuns>& columns) {
  std::vector<const Metric*> metrics;
  for (const ColumnRuns& column : columns) metrics.push_back(&column.metric());
  return metrics;
}

std::vector<std::vector<ColumnRuns>> MakeTables(const std::vector<Entry>& entries) {
  std::vector<std::vector<ColumnRuns>> tables = SplitIntoTables(GroupMeasured(entries));
  for (std::vector<ColumnRuns>& table : tables) RemoveIfAllAreMissing(&table);
  JoinOthers(entries, &tables);
  tables.erase(std::remove_if(tables.begin(), tables.end(),
                              [](const std::vector<ColumnRuns>& table) { return table.empty(); }),
               tables.end());
  const std::vector<std::string> order = TasksInOrder();
  for (std::vector<ColumnRuns>& columns : tables) {
    SortByTask(order, &columns);
    for (ColumnRuns& column : columns) column.block_examples = BlockExamplesOf(column.task);
  }
  return tables;
}

std::string DescribeDifference(absl::Span<const std::vector<ColumnRuns>> earlier,
                               const std::vector<ColumnRuns>& other) {
  std::vector<std::string> sentences;
  if (earlier.front().front().metric().name() != other.front().metric().name())
    sentences.push_back(absl::StrCat("its metric is ", other.front().metric().name()));
  for (const ColumnRuns& column : other) {
    size_t t = 0;
    const ColumnRuns* reference = ColumnOf(earlier.front(), column.task);
    for (size_t back = 1; reference == nullptr && back < earlier.size(); ++back) {
      t = earlier.size() - back;
      reference = ColumnOf(earlier[t], column.task);
    }
    if (reference == nullptr) continue;
    sentences.push_back(absl::StrCat("on ", column.task, " it differs from ",
                                     t == 0 ? "the first" : absl::StrCat("table ", t + 1), " in ",
                                     DifferingFields(*reference, column)));
  }
  if (sentences.empty()) {
    return absl::StrCat("A table of its own: it shares no task with ",
                        earlier.size() == 1 ? "the first." : "those before it.");
  }
  return absl::StrCat("A table of its own: ", absl::StrJoin(sentences, "; "), ".");
}

}  // namespace lra::internal
