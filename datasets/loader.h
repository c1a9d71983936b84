// Batches of a split. The order of training batches is a function of (seed, epoch) alone, so a
// position is two numbers, and a resumed run need not repeat earlier batches.
#ifndef LRA_DATASETS_LOADER_H_
#define LRA_DATASETS_LOADER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "datasets/host_batch.h"
#include "datasets/split_view.h"
#include "lra/config.pb.h"
#include "lra/random.h"

namespace lra {

// What decides, beside an example's number, which of its tokens are hidden (view.target=MASKED):
// in training (seed, epoch), in evaluation nothing.
struct HiddenDraw {
  uint32_t seed = 0;
  int64_t epoch = -1;  // -1 = evaluation
};

// Gathers the given examples and pads them as the view says, each column of a pair by itself.
HostBatch MakeBatch(const SplitView& split, const std::vector<int64_t>& examples,
                    const HiddenDraw& draw = {});

struct LoaderOptions {
  uint32_t seed = 0;
  // Orders of different domains have nothing to do with each other.
  RandomDomain order = RandomDomain::kExampleOrder;
  int64_t batch_examples = 32;
  int64_t bucket_window_batches = 50;
  TrainConfig::Shuffle shuffle = TrainConfig::EXAMPLES;
  bool drop_last = false;
  // How many batches a background thread makes in advance.
  int64_t prefetch_batches = 4;
};

// The loading options in `train`; `seed` is the experiment's.
LoaderOptions MakeLoaderOptions(const TrainConfig& train, uint32_t seed,
                                RandomDomain order = RandomDomain::kExampleOrder);

// The batches of one epoch, a function of (options, epoch). Every example occurs at most once.
//   EXAMPLES: a random permutation is cut into windows of bucket_window_batches batches. Each
//   window is sorted by length and cut into batches, and the batches are shuffled.
//   WHOLE_BATCHES: the stored order is cut into batches, which are shuffled; nothing is sorted.
// The last batch may be smaller. With drop_last it is left out: the end of the permutation (another
// one in each epoch), or of the stored order. A split smaller than one batch is one batch in any
// case.
std::vector<std::vector<int64_t>> PlanEpoch(const SplitView& split, const LoaderOptions& options,
                                            int64_t epoch);

// How many examples the first `batches` batches hold, over all epochs that they take.
int64_t CountExamples(const SplitView& split, const LoaderOptions& options, int64_t batches);

// How many examples an evaluation scores: the first `limit` (0 = all) in data-set order. With
// drop_last, only those of them that fill whole batches, unless they do not even fill one.
int64_t EvaluatedExamples(int64_t split_examples, int64_t batch_examples, int64_t limit,
                          bool drop_last);

// The first `examples` examples, each once, longest first, so that there is little padding and the
// largest batch comes first. The last batch may be smaller.
std::vector<std::vector<int64_t>> PlanEvaluation(const SplitView& split, int64_t batch_examples,
                                                 int64_t examples);

// Endless training batches with prefetching, for one consumer thread.
class TrainLoader {
 public:
  // Both at least 0.
  struct Position {
    int64_t epoch = 0;
    int64_t batch = 0;  // how many batches of the epoch were consumed
  };
  // `split` must outlive the loader.
  TrainLoader(const SplitView& split, const LoaderOptions& options, Position start);
  ~TrainLoader();
  TrainLoader(const TrainLoader&) = delete;

  HostBatch Next();
  // The position of the batch that Next() will return.
  Position position() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lra

#endif  // LRA_DATASETS_LOADER_H_
