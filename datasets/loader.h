// Batches of a split. The order of training batches is a pure function of (seed, epoch), so a
// position is two numbers and resuming needs no replay.
#ifndef LRA_DATASETS_LOADER_H_
#define LRA_DATASETS_LOADER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "datasets/host_batch.h"
#include "datasets/split_view.h"
#include "lra/config.pb.h"

namespace lra {

// Gathers the given examples and pads them as the view says, each text of a pair by itself.
HostBatch MakeBatch(const SplitView& split, const std::vector<int64_t>& examples);

struct LoaderOptions {
  uint32_t seed = 0;
  int64_t batch_examples = 32;
  int64_t bucket_window_batches = 50;
  TrainConfig::Shuffle shuffle = TrainConfig::EXAMPLES;
  bool drop_last = false;
  // Batches made ahead on a background thread.
  int64_t prefetch_batches = 4;
};

// What `train` says about loading; `seed` is the experiment's.
LoaderOptions MakeLoaderOptions(const TrainConfig& train, uint32_t seed);

// The batches of one epoch, a function of (options, epoch); every example occurs at most once.
//   EXAMPLES: a seeded permutation, cut into windows of bucket_window_batches batches, sorted by
//   length inside a window, cut into batches, and the batches shuffled.
//   WHOLE_BATCHES: the stored order cut into batches, and these shuffled; nothing is sorted.
// The last batch cut may be smaller. Under drop_last there is none such: the end of the permutation
// (another one every epoch), or of the stored order, is left out. A split that is smaller than a
// batch is one batch all the same.
std::vector<std::vector<int64_t>> PlanEpoch(const SplitView& split, const LoaderOptions& options,
                                            int64_t epoch);

// How many examples an evaluation scores: the first `limit` (0 = all) in data-set order; under
// drop_last those of them that fill whole batches, where they fill one at all.
int64_t EvaluatedExamples(int64_t split_examples, int64_t batch_examples, int64_t limit,
                          bool drop_last);

// The first `examples` examples once, longest first, so that padding is small and the largest batch
// comes first. The last batch may be smaller.
std::vector<std::vector<int64_t>> PlanEvaluation(const SplitView& split, int64_t batch_examples,
                                                 int64_t examples);

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
