// The interval of one run, about new examples: that of the cell of a table in which this run stands
// alone (docs/statistics.md).
#ifndef LRA_EVAL_RUN_INTERVAL_H_
#define LRA_EVAL_RUN_INTERVAL_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "eval/crossed.h"
#include "eval/metric.h"
#include "eval/run_record.pb.h"
#include "eval/statistics.h"

namespace lra {

// What is known of the run.
struct OneRun {
  const Metric* metric = nullptr;
  Sums sums;                            // of all its examples
  int64_t examples = 0;                 // how many these are
  std::optional<ExampleValues> values;  // the metric's, of each of them, where on record
  int64_t block_examples = 1;           // neighbours that count as one (RowRuns)
};

struct RunInterval {
  Interval interval;
  // What took the place of examples in a whole split, "313 blocks of 80 examples"; empty where each
  // counts by itself.
  std::string of;
};

// `places` are those of EstimateRow(). nullopt where nothing can be said: without examples, of a
// metric that is no share without the examples' values, and of sums that say that they are none.
std::optional<RunInterval> IntervalOfRun(const OneRun& run, double confidence,
                                         absl::Span<const int64_t> places = {});

// The same of a split's result, of which the scores of examples lie in `directory`, and the file of
// the task says which neighbours count as one. DataLoss for scores that were changed.
absl::StatusOr<std::optional<RunInterval>> ReadRunInterval(absl::string_view directory,
                                                           absl::string_view task,
                                                           const SplitResult& result,
                                                           const Metric& metric, double confidence);

}  // namespace lra

#endif  // LRA_EVAL_RUN_INTERVAL_H_
