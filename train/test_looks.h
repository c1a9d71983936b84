// The log of looks at the test split: RUN/test_looks.textproto, copied into the run's record.
#ifndef LRA_TRAIN_TEST_LOOKS_H_
#define LRA_TRAIN_TEST_LOOKS_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "eval/run_record.pb.h"

namespace lra {

// Command of the looks that training itself takes, at its end.
inline constexpr char kTrainLook[] = "train";

// Oldest first; none when nothing was logged. DataLoss for a damaged log: a look is never
// forgotten.
absl::StatusOr<std::vector<TestLook>> TestLooks(absl::string_view run_dir);

// Adds a look, before it is taken, to the log and to the run's record if there is one. Training's
// own look at a step is logged once, however often its end is interrupted. FailedPrecondition while
// another process writes the log.
absl::Status LogTestLook(absl::string_view run_dir, absl::string_view command, int64_t step);

}  // namespace lra

#endif  // LRA_TRAIN_TEST_LOOKS_H_
