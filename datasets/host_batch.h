// What the loader hands to a model: plain memory, no LibTorch.
#ifndef LRA_DATASETS_HOST_BATCH_H_
#define LRA_DATASETS_HOST_BATCH_H_

#include <cstdint>
#include <vector>

namespace lra {

// B examples, right-padded with id 0 to N tokens: to the longest of them, or to fixed_length. Pairs
// have a second text of their own length; views of real numbers have `values` instead of `tokens`.
struct HostBatch {
  int64_t batch = 0;                 // B
  int64_t length = 0;                // N
  std::vector<int32_t> tokens;       // [B, N], row-major
  std::vector<int32_t> lengths;      // [B], real tokens of each row, 1 .. N
  int64_t length_b = 0;              // N of the second texts
  std::vector<int32_t> tokens_b;     // [B, N_b]; empty unless there are pairs
  std::vector<int32_t> lengths_b;    // [B]
  std::vector<float> values;         // [B, N]; empty unless the view is of real numbers
  std::vector<int32_t> labels;       // [B]
  std::vector<int64_t> example_ids;  // [B], index in the split: keys dropout, places predictions
  int64_t fixed_length = 0;          // what view.pad_to pads every text to; 0 = the longest one
};

}  // namespace lra

#endif  // LRA_DATASETS_HOST_BATCH_H_
