// Records to tables: a pure function of a folder of records. Rows are methods, columns are tasks.
//
// Unlike numbers never share a column: runs share one only if data, view, protocol, preset and
// every setting apart from attention and seed are the same (what the protocol itself says about one
// method, and what a search found, may differ). Columns share a table if protocol and preset agree.
// Otherwise several tables are made, each saying what sets it apart. A table has one metric: values
// of another are never averaged or ordered with its own. Baselines and external rows join every
// table that shows the same examples.
#ifndef LRA_EVAL_LEADERBOARD_H_
#define LRA_EVAL_LEADERBOARD_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "eval/metric.h"
#include "eval/published.pb.h"
#include "eval/run_record.h"
#include "eval/statistics.h"

namespace lra {

struct LeaderboardOptions {
  std::string split = "test";
  // Registered name of the metric to show; empty = that of each run's task.
  std::string metric{};
  // Confidence of the intervals in cells.
  double confidence = 0.95;
  // Confidence of the marks "above the majority class" and "learned".
  double mark_confidence = 0.99;
  // What a measured method is, by name, for the notes; methods without one go without.
  std::map<std::string, std::string> descriptions;
};

enum class Verdict { kUnknown, kNo, kYes };  // kUnknown: no baseline to compare with

struct LeaderboardCell {
  double value = 0;  // of the table's metric; the mean over seeds
  // The metric's; unset where it has none of a single run.
  std::optional<Interval> interval;
  // One run each, ascending. With one, the interval is about the sampling of examples only. With
  // more it is about the seeds.
  std::vector<uint32_t> seeds;
  std::vector<std::string> directories;
  int64_t examples = 0;
  // By the metric's interval, in every seed: better than the majority class; better than each of
  // the task's shortcuts as well ("learned"). Unknown, too, where one run has no interval.
  Verdict above_majority = Verdict::kUnknown;
  Verdict learned = Verdict::kUnknown;
  // Runs whose score is not shown to be better than the majority class's; unset where that cannot
  // be told.
  std::optional<int> at_chance_runs;
  // Mean score of the last checkpoints, where one was scored beside the selected one.
  std::optional<double> last_value;
  // Runs that an early stop ended before train.steps.
  int early_stopped_runs = 0;
  // Steps without labels before training; 0 = none.
  int64_t pretrain_steps = 0;
  // (parameters - the transformer's) / the transformer's at the same configuration; unset where a
  // record does not say.
  std::optional<double> parameter_excess;
  // The trials of a search, e.g. "3 trials: 0.0001, 0.0003 (seeds 0, 2), 0.001 (seed 1)"; empty
  // without one.
  std::string tuning;
};

// Models that are larger than the transformer by more are marked.
inline constexpr double kParameterAllowance = 0.10;

struct LeaderboardRow {
  RunRecord::Kind kind = RunRecord::MEASURED;
  std::string method;
  // The method, with the options that tell variants apart where a table has several.
  std::string label;
  std::vector<std::optional<LeaderboardCell>> cells;  // by column
  // Only where all of several columns are filled.
  std::optional<double> average;
  // Why there is none; empty with a single column.
  std::vector<std::string> missing_tasks;
};

struct PublishedRows {
  PublishedTable table;  // source, protocol, notes
  struct Row {
    std::string method, label, note;
    std::vector<std::optional<double>> percents;  // by column, as printed
    // The printed average, set only if the columns are exactly the tasks that it averages.
    std::optional<double> average_percent;
  };
  std::vector<Row> rows;
};

struct LeaderboardTable {
  const Metric* metric = nullptr;  // of all columns
  std::vector<std::string> tasks;  // columns
  // Baselines, then measured rows, then external ones; best first.
  std::vector<LeaderboardRow> rows;
  std::vector<PublishedRows> published;
  // Why this is not part of the first table; empty for the first.
  std::string differs;
  // How the rows were obtained, a sentence each.
  std::vector<std::string> notes;
};

struct Leaderboard {
  LeaderboardOptions options;
  std::vector<LeaderboardTable> tables;
  // Runs that no table shows, with the reason.
  std::vector<std::string> left_out;
};

// InvalidArgument for a confidence outside (0, 1) and an unknown metric, FailedPrecondition if no
// record has the split.
absl::StatusOr<Leaderboard> BuildLeaderboard(const FoundRuns& found,
                                             const std::vector<PublishedTable>& published,
                                             const LeaderboardOptions& options);

}  // namespace lra

#endif  // LRA_EVAL_LEADERBOARD_H_
