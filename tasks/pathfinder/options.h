// Fills in the options of Pathfinder that follow from the difficulty, and checks which options make
// sense together.
#ifndef LRA_TASKS_PATHFINDER_OPTIONS_H_
#define LRA_TASKS_PATHFINDER_OPTIONS_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tasks/pathfinder/pathfinder.pb.h"

namespace lra::pathfinder {

// The options with contour_paddles, distractor_paddles and distractors set from difficulty and side
// where they are unset. InvalidArgument for an unset field, a value out of range, a list that is
// empty or holds a bad value, and options that leave no room for a contour.
absl::StatusOr<PathfinderOptions> ResolveOptions(const PathfinderOptions& options);

// InvalidArgument for resolved options under which lines hide discs, so that `verify` would not
// find these in every picture that is drawn. Data that was made with such options can still be
// read.
absl::Status CheckDiscsShow(const PathfinderOptions& options);

}  // namespace lra::pathfinder

#endif  // LRA_TASKS_PATHFINDER_OPTIONS_H_
