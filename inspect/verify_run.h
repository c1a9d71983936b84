// Holds runs against their records: every file's digest, and a sample of the predictions (where
// tokens are guessed, of the scores of examples), made anew from the checkpoints (`lra table
// --verify`). Nothing is written, and no score is made that was not on record, so this is no look
// at the test split.
#ifndef LRA_INSPECT_VERIFY_RUN_H_
#define LRA_INSPECT_VERIFY_RUN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "eval/verification.h"

namespace lra {

struct VerifyOptions {
  // How many predictions of each split and checkpoint are made anew, at least: whole batches of
  // training's size. 0 = all.
  int64_t examples = 64;
  int threads = 0;
  bool quiet = false;
};

// `directory` holds a run, finished or not. What cannot be compared is said in the result, whose
// changes are what differs.
Verification VerifyRun(const std::string& directory, const VerifyOptions& options);

// Every run at or below the given folders. The errors of FindRunFolders, NotFound when there is no
// run at all, and Cancelled after SIGINT or SIGTERM.
absl::StatusOr<std::vector<Verification>> VerifyRuns(absl::Span<const std::string> paths,
                                                     const VerifyOptions& options);

}  // namespace lra

#endif  // LRA_INSPECT_VERIFY_RUN_H_
