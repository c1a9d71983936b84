// Per-example scores: small files beside a record, so that every statistic of a table can be made
// from what is committed with it. docs/results_format.md.
#ifndef LRA_EVAL_EXAMPLE_SCORES_H_
#define LRA_EVAL_EXAMPLE_SCORES_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "eval/crossed.h"
#include "eval/metric.h"
#include "eval/run_record.pb.h"

namespace lra {

// Returns "accuracy-validation.npy" for the predictions file "predictions-validation.npy".
std::string ExampleScoresFile(absl::string_view metric, absl::string_view predictions_file);

// The file as a whole. Values of a proportion are 0 or 1.
std::string EncodeExampleScores(const ExampleValues& values, bool is_proportion);

// Writes one file for each metric of `metrics` whose value is a mean over examples, called after
// the predictions file (which need not be there), and names them in the result.
absl::Status StoreExampleScores(absl::string_view directory, absl::string_view predictions_file,
                                absl::Span<const Metric* const> metrics, const ExampleSums& sums,
                                SplitResult* result);

// What a file holds of so many examples, whatever its digest. DataLoss, which names it, for another
// size or type.
absl::StatusOr<ExampleValues> DecodeExampleScores(const std::string& path, int64_t examples,
                                                  bool is_proportion);

// The stored values [examples], or those of another metric that give them (Metric::ValuesFrom).
// nullopt if the record names no file of such a metric, or if the file is not there; DataLoss,
// which names it, if it was changed or does not give the result's own value.
absl::StatusOr<std::optional<ExampleValues>> ReadExampleScores(absl::string_view directory,
                                                               const SplitResult& result,
                                                               const Metric& metric);

}  // namespace lra

#endif  // LRA_EVAL_EXAMPLE_SCORES_H_
