// What the loader hands to a model: plain memory, no LibTorch.
#ifndef LRA_DATASETS_HOST_BATCH_H_
#define LRA_DATASETS_HOST_BATCH_H_

#include <cstdint>
#include <vector>

namespace lra {

// B examples, right-padded with id 0 to the longest of them, N tokens.
struct HostBatch {
  int64_t batch = 0;                 // B
  int64_t length = 0;                // N
  std::vector<int32_t> tokens;       // [B, N], row-major
  std::vector<int32_t> lengths;      // [B], real tokens of each row, 1 .. N
  std::vector<int32_t> labels;       // [B]
  std::vector<int64_t> example_ids;  // [B], index in the split: keys dropout, places predictions
};

}  // namespace lra

#endif  // LRA_DATASETS_HOST_BATCH_H_
