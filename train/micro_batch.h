// Gradient accumulation: a batch cut into parts that fit in memory.
#ifndef LRA_TRAIN_MICRO_BATCH_H_
#define LRA_TRAIN_MICRO_BATCH_H_

#include <vector>

#include "datasets/host_batch.h"

namespace lra {

// Parts of at most `examples` examples in order, each padded to its own longest; 0 = one part.
std::vector<HostBatch> SplitBatch(const HostBatch& batch, int64_t examples);

}  // namespace lra

#endif  // LRA_TRAIN_MICRO_BATCH_H_
