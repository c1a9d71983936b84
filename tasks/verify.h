// `lra data verify`: checks that a data set is what its manifest says, and that its labels are
// right.
#ifndef LRA_TASKS_VERIFY_H_
#define LRA_TASKS_VERIFY_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "datasets/manifest.pb.h"

namespace lra {

struct VerifyOptions {
  int threads = 0;
  bool quiet = false;
};

struct VerifyReport {
  Manifest manifest;
  // Whether every split is the pinned one.
  bool canonical = false;
  // How many labels the task's oracle evaluated; if 0, `notes` says why.
  int64_t labels_checked = 0;
  std::vector<DuplicateExamples> duplicates;
  std::vector<SharedDocuments> shared_documents;
  // Full sentences. The data is valid if there are no problems. Notes are what a reader should know
  // about valid data.
  std::vector<std::string> problems;
  std::vector<std::string> notes;

  bool ok() const { return problems.empty(); }
};

// An error (DataLoss names the file) if bytes are damaged or missing, or the manifest breaks its
// rules. Otherwise a report: size, SHA-256, ids, labels, lengths and offsets are right, and
// `problems` says whether the contents are, too.
absl::StatusOr<VerifyReport> VerifyDataset(absl::string_view directory,
                                           const VerifyOptions& options);

}  // namespace lra

#endif  // LRA_TASKS_VERIFY_H_
