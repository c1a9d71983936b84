// Which checkpoint a path stands for.
#ifndef LRA_RUN_FOLDER_FIND_CHECKPOINT_H_
#define LRA_RUN_FOLDER_FIND_CHECKPOINT_H_

#include <string>

#include "absl/status/statusor.h"

namespace lra {

// The checkpoint folder that a path stands for: itself, or for a run folder its selected checkpoint
// or, while unfinished, its latest. A weights file stands for the checkpoint folder that it lies in
// or, outside of one, for itself. NotFound names the path; InvalidArgument for another file.
absl::StatusOr<std::string> FindCheckpoint(const std::string& path);
// Says of a path that stands for the newest checkpoint of a run without a selected one why that is
// so: "runs/a is unfinished: its newest checkpoint, step 20 of 60, is taken"; empty of other paths.
std::string DescribeUnselected(const std::string& path, const std::string& checkpoint);
// RUN of RUN/checkpoint/step-N; for a lone weights file, its folder.
std::string RunOf(const std::string& checkpoint);

}  // namespace lra

#endif  // LRA_RUN_FOLDER_FIND_CHECKPOINT_H_
