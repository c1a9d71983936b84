// A table of some of the rows there are, as its maker asks for them.
#ifndef LRA_EVAL_CHOSEN_ROWS_H_
#define LRA_EVAL_CHOSEN_ROWS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "eval/leaderboard.h"

namespace lra {

struct ChosenRows {
  FoundRuns found;
  std::vector<PublishedTable> published;
  // "Chosen by the maker of the table: tasks listops; methods linear (5 others are left out).";
  // empty where nothing was asked for.
  std::string note;
};

// Runs of options.tasks and, of measured, external and published rows, those of options.methods;
// empty = all. Baselines of these tasks stay: scores are held against them. InvalidArgument for a
// task or method of no run, with those there are.
absl::StatusOr<ChosenRows> ChooseRows(const FoundRuns& found,
                                      const std::vector<PublishedTable>& published,
                                      const LeaderboardOptions& options);

}  // namespace lra

#endif  // LRA_EVAL_CHOSEN_ROWS_H_
