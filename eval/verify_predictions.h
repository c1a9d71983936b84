// Holds a run's stored predictions against those that its checkpoint gives.
#ifndef LRA_EVAL_VERIFY_PREDICTIONS_H_
#define LRA_EVAL_VERIFY_PREDICTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "eval/run_record.pb.h"
#include "eval/verification.h"
#include "lra/task_spec.pb.h"

namespace lra {

struct LogitsOfFile {
  std::vector<float> logits;  // [examples, C]
  bool is_half = false;       // as the file holds them
};
// Reads the predictions file of a result; its digest is not looked at. The errors of
// ReadPredictions().
absl::StatusOr<LogitsOfFile> ReadLogitsFile(const std::string& path, const SplitResult& result,
                                            const TaskSpec& spec);

// The logits of some examples of a split, as PredictSample() (eval/evaluator.h) makes them.
struct SampledLogits {
  std::vector<int64_t> examples;  // indices in the split, in no particular order
  std::vector<float> logits;      // [examples, C]
};

// Compares them with the stored ones of the same examples and counts how each pair stands. A guess
// or a logit that rounding does not explain is a change of `path` that names the example, as is an
// example that is not stored; of many, the first ten are named.
void ComparePredictions(const std::string& path, const LogitsOfFile& stored,
                        const SampledLogits& remade, int classes, double rounding,
                        Verification* verification);

// What of a changed predictions file differs from what the checkpoint gives; begins with "; ".
// `logits` are those of all scored examples. Where they give the recorded digest, that is the byte;
// elsewhere (another machine rounds otherwise) the first example further away than rounding.
std::string PlaceInPredictions(const std::string& path, const SplitResult& result,
                               absl::Span<const float> logits, const TaskSpec& spec,
                               double rounding);

}  // namespace lra

#endif  // LRA_EVAL_VERIFY_PREDICTIONS_H_
