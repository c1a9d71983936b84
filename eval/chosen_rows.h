// A table of some of the rows there are, as whoever makes it asks for them. Private to the
// leaderboard.
#ifndef LRA_EVAL_CHOSEN_ROWS_H_
#define LRA_EVAL_CHOSEN_ROWS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "eval/leaderboard_internal.h"

namespace lra::internal {

struct ChosenRows {
  std::vector<std::vector<ColumnRuns>> tables;
  std::vector<PublishedTable> published;
  // "Chosen: methods linear (of 3). ..."; empty where nothing was left out.
  std::string note;
};

// Columns of options.tasks and, of measured, external and published rows, those of options.methods;
// empty = all. Baselines stay in columns where a chosen row is: scores are held against them. What
// shares a table is decided before, so a choice unites no columns that are apart without it.
// InvalidArgument for a task or method of no row, with those there are; FailedPrecondition where no
// row is left.
absl::StatusOr<ChosenRows> ChooseRows(std::vector<std::vector<ColumnRuns>> tables,
                                      std::vector<PublishedTable> published,
                                      const LeaderboardOptions& options);

}  // namespace lra::internal

#endif  // LRA_EVAL_CHOSEN_ROWS_H_
