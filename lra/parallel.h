// Parallel work whose results are committed in order (oneTBB), so that output does not depend on
// the number of threads.
#ifndef LRA_PARALLEL_H_
#define LRA_PARALLEL_H_

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/parallel_pipeline.h>
#include <oneapi/tbb/task_arena.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

namespace lra {

// Runs produce -> transform -> commit.
//   produce:   () -> absl::StatusOr<std::optional<In>>, called serially; nullopt ends the stream.
//   transform: (In) -> absl::StatusOr<Out>, called in parallel on up to `threads` threads (>= 1).
//   commit:    (Out) -> absl::Status, called serially in the order of production.
// Returns the error of the lowest-numbered item that failed; items before it were committed, none
// after it. At most 4 * threads items are in flight.
template <class In, class Out, class Produce, class Transform, class Commit>
absl::Status OrderedPipeline(int threads, Produce produce, Transform transform, Commit commit) {
  namespace tbb = oneapi::tbb;
  using Item = std::unique_ptr<absl::StatusOr<In>>;
  using Result = std::unique_ptr<absl::StatusOr<Out>>;
  absl::Status first_error;  // used by the serial last stage only
  std::atomic<bool> stop{false};
  bool produced_all = false;  // used by the serial first stage only
  auto read = [&](tbb::flow_control& control) -> Item* {
    if (stop.load(std::memory_order_relaxed) || produced_all) {
      control.stop();
      return nullptr;
    }
    absl::StatusOr<std::optional<In>> next = produce();
    if (next.ok() && !next->has_value()) {
      control.stop();
      return nullptr;
    }
    if (!next.ok()) {
      produced_all = true;  // the error is queued behind the items before it
      return new Item(std::make_unique<absl::StatusOr<In>>(next.status()));
    }
    return new Item(std::make_unique<absl::StatusOr<In>>(*std::move(*next)));
  };
  auto work = [&](Item* item) -> Result* {
    std::unique_ptr<Item> owned(item);
    if (!(*item)->ok()) return new Result(std::make_unique<absl::StatusOr<Out>>((*item)->status()));
    return new Result(std::make_unique<absl::StatusOr<Out>>(transform(*std::move(**item))));
  };
  auto write = [&](Result* result) {
    std::unique_ptr<Result> owned(result);
    if (!first_error.ok()) return;
    first_error = (*result)->ok() ? commit(*std::move(**result)) : (*result)->status();
    if (!first_error.ok()) stop = true;
  };
  tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
  tbb::task_arena arena(threads);
  arena.execute([&] {
    tbb::parallel_pipeline(
        4 * threads, tbb::make_filter<void, Item*>(tbb::filter_mode::serial_in_order, read) &
                         tbb::make_filter<Item*, Result*>(tbb::filter_mode::parallel, work) &
                         tbb::make_filter<Result*, void>(tbb::filter_mode::serial_in_order, write));
  });
  return first_error;
}

// Calls body(i) -> absl::Status for i in [0, n), in parallel. Returns the error of the lowest i
// that failed.
template <class Body>
absl::Status ParallelFor(int threads, int64_t n, Body body) {
  absl::Mutex mutex;
  absl::Status first_error;
  std::atomic<int64_t> first_index{n};
  oneapi::tbb::global_control limit(oneapi::tbb::global_control::max_allowed_parallelism, threads);
  oneapi::tbb::task_arena arena(threads);
  arena.execute([&] {
    oneapi::tbb::parallel_for(int64_t{0}, n, [&](int64_t i) {
      if (i > first_index.load(std::memory_order_relaxed)) return;
      absl::Status status = body(i);
      if (status.ok()) return;
      absl::MutexLock lock(&mutex);
      if (i < first_index.load()) {
        first_index = i;
        first_error = std::move(status);
      }
    });
  });
  return first_error;
}

// The numbers of the cores that this process may run on (the calling thread's affinity), rising;
// empty where the system does not tell.
std::vector<int> AllowedCores();
// How many cores this process may use: of these, and of its control group.
int AvailableCores();
// The given number of threads, or AvailableCores() for 0.
int ResolveThreads(int threads);

// How many threads may be asked for: kMaxThreadsPerCore for each of AvailableCores(). More are
// never faster, and beyond some thousands a process may not start them at all.
inline constexpr int kMaxThreadsPerCore = 16;
int MaxThreads();

}  // namespace lra

#endif  // LRA_PARALLEL_H_
