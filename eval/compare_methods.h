// `lra compare`: two rows, task by task, on the runs that trained.
#ifndef LRA_EVAL_COMPARE_METHODS_H_
#define LRA_EVAL_COMPARE_METHODS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "eval/power.h"
#include "eval/row_statistics.h"
#include "eval/run_record.h"

namespace lra {

inline constexpr double kDefaultMarginPoints = 1;

struct CompareRequest {
  // A row as a table names it (method, or method with its variant), or a folder of its runs.
  std::string a, b;
  // Folders in which rows that are named are looked for.
  std::vector<std::string> runs = {"runs"};
  std::string task{};  // empty: every task that both rows have
  std::string split = "test";
  std::string metric{};  // empty: the task's
  double confidence = 0.95;
  // "Equal" is a difference within this, in the unit in which the metric is shown; stated before
  // results are seen. Unset: kDefaultMarginPoints for metrics in points; others are not tested,
  // because no margin is right for all of them.
  std::optional<double> margin;
  // Runs of equal seed form pairs: only where the suite declares that they share what a seed draws.
  bool is_paired = false;
  // Adds what is known of runs without a record (run_folder/); unset: they are not counted.
  std::function<absl::Status(FoundRuns*)> add_stopped{};
};

// The column of a table that a comparison is about.
struct ComparedColumn {
  std::string task;
  // "protocol fair@1, preset small, model.positions=SINUSOID"; empty where all columns of the
  // comparison stand in one table.
  std::string setting;
  size_t table = 0;  // its place among the tables of all runs
  const Metric* metric = nullptr;
  int64_t block_examples = 1;  // as RowRuns of the column have it
  // Adds the setting to what the column is called: "listops (protocol fair@1, preset small)".
  std::string WithSetting(absl::string_view name) const;
};

// Such a column of which nothing can be said, because no run of a row trained, for one.
struct UncomparedColumn : ComparedColumn {
  std::string reason;
};

// A - B in one column.
struct TaskDifference : ComparedColumn {
  std::string a, b;  // labels of the rows here
  // Runs that trained, of those counted.
  int64_t trained_a = 0, runs_a = 0, trained_b = 0, runs_b = 0;
  std::vector<uint32_t> paired_seeds;  // that trained in both rows, which alone are compared
  // One run trained: what is said is about that model, whatever other seeds do. Not of baselines,
  // which have no seeds.
  bool is_single_a = false, is_single_b = false;
  int64_t examples = 0;
  RowDifference difference;
  double corrected_p = 1;  // Holm, over the columns compared
  bool is_told_apart = false;
  // Seen with a probability of kShownPower, whatever other columns say; nullopt if none is.
  std::optional<double> smallest_difference;
  std::optional<double> margin;  // of the equivalence, in the metric's unit
  std::optional<Equivalence> equivalence;
  // Fisher's exact p for how many runs trained; set where some did not.
  std::optional<double> learn_rate_p;
  // What a new comparison would have, where both rows have at least two runs whose examples'
  // scores are known.
  std::optional<Design> design;
};

inline constexpr double kShownPower = 0.8;

struct MethodComparison {
  // Labels; what was asked for where a row goes by several.
  std::string a, b;
  CompareRequest request;
  std::vector<TaskDifference> tasks;
  std::vector<UncomparedColumn> not_compared;
  // Over all tasks, with equal weights; set with more than one, all compared and of one table.
  std::optional<RowDifference> average{};
  std::string why_no_average{};  // of several columns
};

// NotFound, which lists the rows that there are, for a row that no record has; FailedPrecondition
// if the rows were never scored under equal settings on the same examples (it names what differs);
// InvalidArgument for a name of several variants, and for a margin, confidence or metric that
// cannot be. Columns in which no run of a row trained, or too few that can be paired, are not
// compared: an error only if there is no other.
absl::StatusOr<MethodComparison> CompareMethods(const CompareRequest& request);

// The design of a comparison in one column. InvalidArgument, which names them, if there are
// several, FailedPrecondition if the rows have too few runs or no scores of examples.
absl::StatusOr<Design> OnlyDesign(const MethodComparison& comparison);

// InvalidArgument unless the confidence lies between 0 and 1.
absl::Status CheckConfidence(const CompareRequest& request);

// A line for each column, and one for the average.
std::string WriteComparison(const MethodComparison& comparison);
std::string WriteComparisonJson(const MethodComparison& comparison);

}  // namespace lra

#endif  // LRA_EVAL_COMPARE_METHODS_H_
