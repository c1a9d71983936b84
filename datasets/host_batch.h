// A batch as the loader hands it to a model: plain memory, without LibTorch.
#ifndef LRA_DATASETS_HOST_BATCH_H_
#define LRA_DATASETS_HOST_BATCH_H_

#include <algorithm>
#include <cstdint>
#include <vector>

namespace lra {

// B examples, right-padded with id 0 to N tokens: to the longest of them, or to fixed_length. Pairs
// have a second column with its own length. Views of real numbers fill `values` instead of
// `tokens`.
struct HostBatch {
  int64_t batch = 0;               // B
  int64_t length = 0;              // N
  std::vector<int32_t> tokens;     // [B, N], row-major
  std::vector<int32_t> lengths;    // [B], real tokens of each row, 1 .. N
  int64_t length_b = 0;            // N_b, the length of the second column
  std::vector<int32_t> tokens_b;   // [B, N_b]; empty unless there are pairs
  std::vector<int32_t> lengths_b;  // [B]
  std::vector<float> values;       // [B, N]; empty unless the view yields real numbers
  // [G] what is to be guessed, example by example: each one's label, or (where there are prompts)
  // its tokens behind the prompt, or (where some are hidden) its hidden tokens
  std::vector<int32_t> labels;
  // [B] how many tokens of each row are given; empty where labels are guessed
  std::vector<int32_t> prompts;
  // [B, N] 1 where a token is hidden: `tokens` has the mask's id there; empty under any other
  // target than MASKED
  std::vector<uint8_t> hidden;
  std::vector<int64_t> example_ids;  // [B], index in the split: keys dropout and orders predictions
  // the length that view.pad_to pads every sequence to; 0 = the longest of the batch
  int64_t fixed_length = 0;
};

// How many of batch.labels are of row b.
inline int64_t TargetsOf(const HostBatch& batch, int64_t b) {
  if (!batch.hidden.empty()) {
    const auto row = batch.hidden.begin() + b * batch.length;
    return std::count(row, row + batch.length, uint8_t{1});
  }
  if (batch.prompts.empty()) return 1;
  return batch.lengths[b] > batch.prompts[b] ? batch.lengths[b] - batch.prompts[b] : 0;
}

}  // namespace lra

#endif  // LRA_DATASETS_HOST_BATCH_H_
