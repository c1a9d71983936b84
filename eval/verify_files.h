// Holds the files of a run's folder against its record: digests, and what follows from other files.
#ifndef LRA_EVAL_VERIFY_FILES_H_
#define LRA_EVAL_VERIFY_FILES_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "eval/run_record.pb.h"
#include "eval/verification.h"
#include "eval/verify_token_scores.h"

namespace lra {

// The record, if it can be read. A broken seal is a change, whose byte is named from the JSON twin;
// so is a twin that says something else.
std::optional<RunRecord> VerifyRecord(const std::string& directory, Verification* verification);

enum class FileState { kMissing, kIntact, kChanged };

// Compares the file's SHA-256 and counts or names it. *problem says how the digests of a changed
// file differ, and the change is the caller's to add: it may know the byte.
FileState VerifyDigest(const std::string& path, absl::string_view sha256,
                       Verification* verification, std::string* problem);

// The logits [examples, C] of a result's predictions file, which is intact, and the labels of the
// scored examples. Either may be empty: not known.
struct KnownPredictions {
  absl::Span<const float> logits{};
  absl::Span<const int32_t> labels{};
  // The file holds float16, and the record's sums are those of float32.
  bool is_half = false;
  // Where tokens are guessed, what the checkpoint gives of some examples, and what counts as
  // rounding there (RoundingOf); null = not known.
  const SampledScores* remade = nullptr;
  double rounding = 0;
};
// Compares the digest of each file of scores of examples. Where predictions and labels are known,
// the record's sums and confusion matrix and what such a file holds, even with the right digest, is
// compared with what they give, and the byte of a changed file is named. Where the checkpoint's
// scores are known, they are compared with what the file holds (CompareTokenScores); where they are
// those of all examples, bit for bit, the record's sums are theirs, too.
void VerifyScores(const std::string& directory, const RunRecord& record, const SplitResult& result,
                  const KnownPredictions& known, Verification* verification);

}  // namespace lra

#endif  // LRA_EVAL_VERIFY_FILES_H_
