// `lra bench data`: preparing and verifying of whole data sets, by `lra data` in processes of its
// own, and what is said about reading.
#ifndef LRA_BENCH_DATA_TABLE_H_
#define LRA_BENCH_DATA_TABLE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace lra {

struct PreparePlan {
  std::string task;
  std::string raw;                // an archive; empty = generated
  std::vector<std::string> sets;  // of the task's options
  int threads = 0;
  int repetitions = 3;
  bool is_quiet = false;
  // Asked before and after each process; Cancelled where it says so. Nothing is left then either.
  std::function<bool()> should_stop = [] { return false; };
};

struct PrepareTimes {
  std::string task;
  int64_t examples = 0, bytes = 0;
  std::vector<double> prepare_seconds, prepare_cpu_seconds, verify_seconds, verify_cpu_seconds;
};

// Prepares and verifies into a temporary folder, again and again. What `lra data` says where it
// fails.
absl::StatusOr<PrepareTimes> MeasurePreparing(const PreparePlan& plan, const std::string& program);

std::string PrepareText(const PrepareTimes& times);
std::string PrepareJson(const PrepareTimes& times);

// Reading of batches, alone and between steps.
struct LoadingTimes {
  std::string what;  // "listops, linear, small"
  double batches_per_second = 0, tokens_per_second = 0, padding_share = 0;
  int64_t steps = 0;
  double step_seconds = 0, waiting_seconds = 0;  // sums over the steps
  double page_faults = 0;                        // a step
};
std::string LoadingText(const LoadingTimes& times);
std::string LoadingJson(const LoadingTimes& times);

}  // namespace lra

#endif  // LRA_BENCH_DATA_TABLE_H_
