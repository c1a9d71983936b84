// Records to tables: a pure function of a folder of records. Rows are methods, columns are tasks.
// Statistics: docs/statistics.md.
//
// Unlike numbers never share a column: runs share one only if data, view, protocol, preset and
// every setting apart from attention and seed are the same (what the protocol itself says about one
// method, and what a search found, may differ). Columns share a table if protocol and preset agree.
// Otherwise several tables are made, each saying what sets it apart. A table has one metric: values
// of another are never averaged or ordered with its own. Baselines and external rows join every
// table that shows the same examples.
#ifndef LRA_EVAL_LEADERBOARD_H_
#define LRA_EVAL_LEADERBOARD_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "eval/all_runs.h"
#include "eval/metric.h"
#include "eval/published_rows.h"
#include "eval/row_statistics.h"
#include "eval/run_record.h"

namespace lra {

struct LeaderboardOptions {
  std::string split = "test";
  // Registered name of the metric to show; empty = that of each run's task.
  std::string metric{};
  // Confidence of the intervals.
  double confidence = 0.95;
  // Whether tables for people have a column of what the runs of each row took.
  bool shows_cost = false;
  // What a measured method is, by name, for the notes; methods without one go without.
  std::map<std::string, std::string> descriptions;
  std::vector<std::string> tasks{}, methods{};  // eval/chosen_rows.h; empty = all
};

enum class Verdict { kUnknown, kNo, kYes };  // kUnknown: no baseline to compare with

// How a cell's method compares with the baselines of its column, on the same examples.
struct LearnedCell {
  Verdict verdict = Verdict::kUnknown;
  // What is made use of: the bars that the row is above, each by itself (eval/bars.h).
  std::vector<std::string> above;
  // Runs that are above every required baseline singly; unset where that cannot be told.
  std::optional<int> runs_above;
  // One-sided p of "not above every required baseline"; of cells with at least two trained runs,
  // and corrected over these (Holm).
  std::optional<double> p, corrected_p;
};

struct LeaderboardCell {
  // In the table's metric: the mean over the runs that trained. Where none did, over all scored
  // ones; NaN without any.
  double value = 0;
  // The interval of `value`; unset where none can be given. With one run it is about that trained
  // model only, otherwise about the method: new seeds and new examples.
  std::optional<Interval> interval;
  Basis basis = Basis::kExamples;
  // How the interval was made (IntervalMethod); "none" without one.
  std::string method = "none";
  std::optional<Estimate> estimate;
  std::optional<CrossedMoments> moments;
  // One run each, ascending; those that failed, too.
  std::vector<uint32_t> seeds;
  std::vector<std::string> directories;
  int64_t examples = 0;
  // Runs that trained. A run that diverged did not, nor one that is not above the majority class;
  // without a majority class on record every scored run counts as trained, and so it does by
  // sequence_accuracy, which says little of what was learned.
  int64_t trained = 0;
  // Runs that were stopped or are still going; not among the seeds.
  int64_t missing = 0;
  // The mean over all runs, failures scored as guessing. Set in columns where some run failed; it
  // orders rows and enters averages there.
  std::optional<MeanOfAll> all_runs;
  // Rows of a column that share a letter could not be told apart; empty for rows with fewer than
  // two trained runs.
  std::string letters;
  std::vector<int> letter_groups;  // what `letters` writes (LetterText), ascending
  LearnedCell learned;
  // Mean score of the last checkpoints, where one was scored beside the selected one.
  std::optional<double> last_value;
  // Runs that an early stop ended before train.steps.
  int early_stopped_runs = 0;
  // Steps without labels before training; 0 = none.
  int64_t pretrain_steps = 0;
  // Examples seen in these; 0 = none, or an older record.
  int64_t pretrain_examples = 0;
  // How many runs began from another run, by what they took of it (eval/starting_run.h).
  std::map<std::string, int> starts;
  // (parameters - the transformer's) / the transformer's at the same configuration; unset where a
  // record does not say.
  std::optional<double> parameter_excess;
  // What the fastest run took, of those that made the most steps: CPU time of all training, or wall
  // time times threads where no record has it, or times processes on a device. Unset where no run
  // says, and where only some runs were on a device.
  std::optional<double> core_hours, device_hours;
  bool has_cpu_time = false;  // in core_hours
  // How many times as much the slowest of these used.
  std::optional<double> slowest_over_fastest;
  // Energy of the machine's processors during the fastest; only where that run counted it.
  std::optional<double> joules;
  // The trials of a search, e.g. "3 trials: 0.0001, 0.0003 (seeds 0, 2), 0.001 (seed 1)"; empty
  // without one.
  std::string tuning;

  int64_t runs() const { return static_cast<int64_t>(seeds.size()); }
  // Whether `interval` rests on less than scores of examples would have given it.
  bool lacks_examples() const;
  // Some run failed, and what a failure counts for is not known: no majority class is on record.
  // The survivors' mean then orders no rows and enters no average.
  bool is_unranked() const { return trained < runs() && !all_runs; }
  // What orders rows; NaN where nothing can.
  double rank_value() const {
    if (is_unranked()) return std::numeric_limits<double>::quiet_NaN();
    return all_runs ? all_runs->mean : value;
  }
};

// Models that are larger than the transformer by more are marked.
inline constexpr double kParameterAllowance = 0.10;

struct LeaderboardRow {
  RunRecord::Kind kind = RunRecord::MEASURED;
  std::string method;
  // The method, with the options that tell variants apart where a table has several.
  std::string label;
  std::vector<std::optional<LeaderboardCell>> cells;  // by column
  // Only where all of several columns are filled, and in one unit. The tasks are fixed: the
  // interval is about seeds and examples.
  std::optional<double> average;
  // Unset where a cell has no interval, or where none of its runs trained.
  std::optional<Interval> average_interval;
  // In some cell one run only trained: the interval is about trained models.
  bool average_has_single_runs = false;
  // Why there may be none: tasks without a score, those on which it is unranked; empty of one task.
  std::vector<std::string> missing_tasks, unranked_tasks;
};

// Two rows of one column, each with at least two trained runs, which are compared.
struct TableComparison {
  std::string task, a, b;  // labels of the rows
  RowDifference difference;
  double corrected_p = 1;  // Holm, over the column
  bool is_told_apart = false;
  // Fisher's exact p for how many runs trained; set where some run of the column failed.
  std::optional<double> learn_rate_p;
};

// Rows of a column are told apart at this level, corrected over its pairs.
inline constexpr double kLetterLevel = 0.05;

struct LeaderboardTable {
  const Metric* metric = nullptr;  // of all columns
  std::vector<std::string> tasks;  // columns
  // `metric` in the unit of each column's task; empty where it has one unit.
  std::vector<const Metric*> metrics{};
  // "protocol fair@1, preset small" of the measured rows; empty where there are none.
  std::string rules;
  // Baselines, then measured rows, then external ones; best first.
  std::vector<LeaderboardRow> rows;
  std::vector<TableComparison> comparisons;
  std::vector<PublishedRows> published;
  // Why this is not part of the first table; empty for the first.
  std::string differs;
  // Which rows come from which build, where a column has several; these are among the notes, too.
  std::vector<std::string> builds;
  // How the rows were obtained, a sentence each.
  std::vector<std::string> notes;

  // Whether a row that fills all columns has an average.
  bool has_average() const { return tasks.size() > 1 && UnlikeUnits(metrics).empty(); }
  const Metric& metric_of(size_t column) const {
    return metrics.empty() ? *metric : *metrics[column];
  }
};

struct Leaderboard {
  LeaderboardOptions options;
  std::vector<LeaderboardTable> tables;
  std::vector<std::string> left_out;  // runs that no table shows, with the reason
};

// Reads the scores of examples that the records name. InvalidArgument for a confidence outside
// (0, 1), an unknown metric, a chosen task or method of no run, FailedPrecondition if no record has
// the split, DataLoss for scores of examples that were changed.
absl::StatusOr<Leaderboard> BuildLeaderboard(const FoundRuns& found,
                                             const std::vector<PublishedTable>& published,
                                             const LeaderboardOptions& options);

}  // namespace lra

#endif  // LRA_EVAL_LEADERBOARD_H_
