// Options that are a number of tokens, against the sequences there are.
#ifndef LRA_TRAIN_LENGTHS_H_
#define LRA_TRAIN_LENGTHS_H_

#include "absl/status/status.h"
#include "lra/config.h"
#include "lra/task_spec.pb.h"

namespace lra {

// InvalidArgument for an attention's option that is marked (lra.is_length), was given by --set or
// by a run file, and is above the longest sequence of the task: a mistake of whoever gave it. What
// a config file says may be longer than a short task, which then is one block.
absl::Status CheckLengths(const ResolvedConfig& resolved, const TaskSpec& spec);

}  // namespace lra

#endif  // LRA_TRAIN_LENGTHS_H_
