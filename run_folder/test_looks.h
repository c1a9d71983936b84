// The log of looks at the test split: RUN/test_looks.textproto, copied into the run's record.
#ifndef LRA_RUN_FOLDER_TEST_LOOKS_H_
#define LRA_RUN_FOLDER_TEST_LOOKS_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "eval/run_record.pb.h"

namespace lra {

// The command recorded for the looks that training itself takes at its end.
inline constexpr char kTrainLook[] = "train";

// The looks, oldest first; empty if nothing was logged. A damaged log is an error (DataLoss), so
// that no look is forgotten.
absl::StatusOr<std::vector<TestLook>> TestLooks(absl::string_view run_dir);

// Logs a look before it is taken, in the log and in the run's record if there is one. The look of
// training at a step is logged once, however often its end is interrupted. Waits while another
// process writes the log; FailedPrecondition where that lasts ten seconds. `weights_sha256` says
// which of a folder's weights files was looked at; empty in the folder of a run.
absl::Status LogTestLook(absl::string_view run_dir, absl::string_view command, int64_t step,
                         absl::string_view weights_sha256 = "");

// Writes the run's record with all looks that are logged; none is logged in between. The errors of
// TestLooks and WriteRunRecord, and of waiting for another process as above.
absl::Status WriteRecordWithLooks(absl::string_view run_dir, RunRecord record);

}  // namespace lra

#endif  // LRA_RUN_FOLDER_TEST_LOOKS_H_
