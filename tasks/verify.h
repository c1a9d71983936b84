// `lra data verify`: is a data set what its manifest says, and are its labels right?
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
  // Every split is the pinned one.
  bool canonical = false;
  // Labels that the task's oracle evaluated anew; 0 when `notes` says why not.
  int64_t labels_checked = 0;
  std::vector<DuplicateExamples> duplicates;
  std::vector<SharedDocuments> shared_documents;
  // Sentences. No problem: the data is valid. Notes are what a reader should know about valid data.
  std::vector<std::string> problems;
  std::vector<std::string> notes;

  bool ok() const { return problems.empty(); }
};

// An error (DataLoss names the file) when bytes are damaged or missing, or the manifest breaks its
// rules. A report otherwise: size, SHA-256, ids, labels, lengths and offsets are then right, and
// `problems` says whether contents are.
absl::StatusOr<VerifyReport> VerifyDataset(absl::string_view directory,
                                           const VerifyOptions& options);

}  // namespace lra

#endif  // LRA_TASKS_VERIFY_H_
