// Rows that a command line names, and their runs in the columns of tables; private to
// eval/compare_*.cc.
#ifndef LRA_EVAL_WANTED_ROWS_H_
#define LRA_EVAL_WANTED_ROWS_H_

#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "eval/compare_methods.h"
#include "eval/leaderboard_internal.h"

namespace lra::internal {

// A row that was asked for: by its name, or by the folders of its runs.
struct WantedRow {
  std::string name;
  std::set<std::string> directories;  // empty: by name
};
// A folder stands for the runs below it. The errors of FindRunRecords.
absl::StatusOr<WantedRow> FindWantedRow(const std::string& name);

// The runs of the request's folders and of rows that are folders, in the columns in which they may
// be compared. Columns point into `found`; the object may be moved, not copied.
struct ComparableRuns {
  FoundRuns found;
  std::vector<std::vector<ColumnRuns>> tables;
};
absl::StatusOr<ComparableRuns> FindComparableRuns(const CompareRequest& request,
                                                  const std::vector<std::string>& rows);

// The runs of a wanted row in one column, one a seed; empty if it has none there. Sets *label to
// the name that the row goes by in tables. InvalidArgument for a name of several variants.
absl::StatusOr<std::vector<Entry>> RunsIn(const ColumnRuns& column, const WantedRow& wanted,
                                          std::string* label);

std::vector<const Entry*> TrainedOf(const std::vector<Entry>& runs, const ColumnRuns& column);

// The columns of a comparison, each with the place of its table, as ComparedColumn names them.
std::vector<ComparedColumn> NameColumns(
    const std::vector<std::pair<size_t, const ColumnRuns*>>& columns);

// Why a comparison of these columns has no average; empty where it has one, and of one column.
std::string WhyNoAverage(const std::vector<ComparedColumn>& columns,
                         const std::vector<UncomparedColumn>& not_compared);

// "text (protocol fair@1, preset small): no run of cosformer trained (0 of 2); image: ...".
std::string DescribeUncompared(const std::vector<UncomparedColumn>& columns);

// NotFound: lists the rows that there are.
absl::Status NoRunOf(const std::string& row, const CompareRequest& request,
                     const std::vector<std::vector<ColumnRuns>>& tables);

}  // namespace lra::internal

#endif  // LRA_EVAL_WANTED_ROWS_H_
