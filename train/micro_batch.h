// Gradient accumulation: divides a batch into parts that fit in memory.
#ifndef LRA_TRAIN_MICRO_BATCH_H_
#define LRA_TRAIN_MICRO_BATCH_H_

#include <cstdint>
#include <vector>

#include "datasets/host_batch.h"

namespace lra {

// Parts of at most `examples` examples in order, with all columns of the batch; 0 = one part. A
// part is as long as its own longest sequence. It is as long as the batch if the batch is padded to
// a fixed length, or if keeps_length is set, for models whose result depends on padding
// (Classifier::depends_on_padding()).
std::vector<HostBatch> SplitBatch(const HostBatch& batch, int64_t examples,
                                  bool keeps_length = false);

// Examples `first`, first + step, ... of the batch, with all its columns and padding as above; an
// empty batch if there is none.
HostBatch EveryNth(const HostBatch& batch, int64_t first, int64_t step, bool keeps_length = false);

// The number of real tokens, in both texts of pairs.
int64_t CountTokens(const HostBatch& batch);

// Pads each column to a multiple of so many tokens, but to no more than `most`, nor where the view
// fixes the length.
HostBatch PadToMultiple(HostBatch batch, int64_t multiple, int64_t most);

// Removes the padding that every example of the batch has.
HostBatch TrimPadding(HostBatch batch);

}  // namespace lra

#endif  // LRA_TRAIN_MICRO_BATCH_H_
