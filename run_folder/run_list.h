// What runs there are and how far they are: `lra runs`.
#ifndef LRA_RUN_FOLDER_RUN_LIST_H_
#define LRA_RUN_FOLDER_RUN_LIST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "run_folder/run_folder.h"

namespace lra {

struct ListedRun {
  std::string directory;
  // Its config is empty before the first checkpoint.
  RunFolder folder;
  // In place of the folder's state, for a run of a suite that waits or failed, and for the record
  // of an evaluation; otherwise empty.
  std::string state{};
};

// Every run at or below the given folders, sorted by path, each once, whatever part of it is under
// way (its pretraining, a trial of its search), without those whose record, curve or checkpoint
// cannot be read: `damaged` gets what is wrong with each. The errors of FindRunRecords.
absl::StatusOr<std::vector<ListedRun>> ListRuns(absl::Span<const std::string> paths,
                                                std::vector<std::string>* damaged);

// A table with a line a run: folder, task, method, protocol, preset, seed, step, state, and the
// score on the test split or, before there is one, the best on validation.
std::string RunListText(const std::vector<ListedRun>& runs);
// An array with an object a run; what is not known is left out.
std::string RunListJson(const std::vector<ListedRun>& runs);

}  // namespace lra

#endif  // LRA_RUN_FOLDER_RUN_LIST_H_
