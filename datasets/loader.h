// Batches of a split. The order of training batches is a pure function of (seed, epoch), so a
// position is two numbers and resuming needs no replay.
#ifndef LRA_DATASETS_LOADER_H_
#define LRA_DATASETS_LOADER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "datasets/host_batch.h"
#include "datasets/split_view.h"

namespace lra {

// Gathers and pads the given examples.
HostBatch MakeBatch(const SplitView& split, const std::vector<int64_t>& examples);

// The batches of one epoch: a seeded permutation, cut into windows of `window_batches` batches,
// sorted by length inside a window, cut into batches, and the batches shuffled. Every example
// occurs once; the last batch may be smaller.
std::vector<std::vector<int64_t>> PlanEpoch(const SplitView& split, uint32_t seed, int64_t epoch,
                                            int64_t batch_examples, int64_t window_batches);

// All examples below `limit` (0 = all) once, longest first, so that padding is small and the
// largest batch comes first. Never drops the last batch.
std::vector<std::vector<int64_t>> PlanEvaluation(const SplitView& split, int64_t batch_examples,
                                                 int64_t limit);

struct LoaderOptions {
  uint32_t seed = 0;
  int64_t batch_examples = 32;
  int64_t bucket_window_batches = 50;
  // Batches made ahead on a background thread.
  int64_t prefetch_batches = 4;
};

// Endless training batches with prefetch. One consumer thread.
class TrainLoader {
 public:
  struct Position {
    int64_t epoch = 0;
    int64_t batch = 0;  // batches of the epoch already consumed
  };
  // `split` must outlive the loader.
  TrainLoader(const SplitView& split, const LoaderOptions& options, Position start);
  ~TrainLoader();
  TrainLoader(const TrainLoader&) = delete;

  HostBatch Next();
  // Of the next batch that Next() will return.
  Position position() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lra

#endif  // LRA_DATASETS_LOADER_H_
