// Steps of BuildLeaderboard; private to eval/leaderboard*.cc.
#ifndef LRA_EVAL_LEADERBOARD_INTERNAL_H_
#define LRA_EVAL_LEADERBOARD_INTERNAL_H_

#include <map>
#include <string>
#include <vector>

#include "eval/leaderboard.h"

namespace lra::internal {

// A scored run that takes part.
struct Entry {
  const LocatedRecord* located = nullptr;
  const SplitResult* result = nullptr;  // of the options' split
  const Metric* metric = nullptr;       // by which it is shown
  const RunRecord& record() const { return located->record; }
  double Value() const { return metric->Value(result->sums()); }
};

// One task with one setting and one metric: all its runs may stand in one column. Never empty.
struct ColumnRuns {
  std::string task;
  std::vector<Entry> entries;  // measured first, then baselines and external rows that joined
  const Metric& metric() const { return *entries.front().metric; }
};

// What makes two runs of one task comparable: config without attention, seed and the learning rate
// that a search found, and the data. A record that holds nothing else.
RunRecord SettingOf(const RunRecord& record);

// "train.steps=150, model.pooling=CLS": the settings that come neither from protocol nor preset nor
// attention.
std::string OverridesOf(const RunRecord& record);
// The same of what protocol and preset say about this method alone, attention.* aside. Runs of one
// column may differ in it: the rules are the same.
std::string MethodRulesOf(const RunRecord& record);

// leaderboard_columns.cc: tables of columns of one metric, in the order of the benchmark's tasks.
// Baselines and
// external rows join every column with the same examples; those that find none get tables of their
// own.
std::vector<std::vector<ColumnRuns>> MakeTables(const std::vector<Entry>& entries);
// Names the fields in which a table's columns differ from the first table's.
std::string DescribeDifference(const std::vector<ColumnRuns>& first,
                               const std::vector<ColumnRuns>& other);

// leaderboard_cells.cc: rows of a table from its columns; repeats that cannot be counted go to
// `left_out`.
std::vector<LeaderboardRow> MakeRows(const std::vector<ColumnRuns>& columns,
                                     const LeaderboardOptions& options,
                                     std::vector<std::string>* left_out);

// leaderboard_notes.cc: how the rows were obtained.
std::vector<std::string> MakeNotes(const std::vector<ColumnRuns>& columns,
                                   const LeaderboardOptions& options);

}  // namespace lra::internal

#endif  // LRA_EVAL_LEADERBOARD_INTERNAL_H_
