// What a forward pass depends on beside the batch.
#ifndef LRA_MODELS_BASE_FORWARD_CONTEXT_H_
#define LRA_MODELS_BASE_FORWARD_CONTEXT_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace lra {

// What a batch norm normalises by; a layer norm has no such choice.
struct BatchStatistics {
  enum class Kind { kRunning, kOfBatch, kOfBatchAndLearn };
  Kind kind = Kind::kRunning;
  double share = 0.1;  // of the difference that the running ones move by; PyTorch's momentum

  static const BatchStatistics kRunning;          // evaluation
  static const BatchStatistics kOfBatch;          // the running ones stay: a trial step
  static const BatchStatistics kOfBatchAndLearn;  // the running ones move towards them: training
};
inline constexpr BatchStatistics BatchStatistics::kRunning = {Kind::kRunning};
inline constexpr BatchStatistics BatchStatistics::kOfBatch = {Kind::kOfBatch};
inline constexpr BatchStatistics BatchStatistics::kOfBatchAndLearn = {Kind::kOfBatchAndLearn};

class UploadSlots;

struct ForwardContext {
  bool training = false;  // dropout on
  uint32_t step = 0;      // optimiser step: keys the dropout masks
  // In training, whether the running statistics of batch norms learn from this batch. A trial pass
  // leaves them alone.
  bool updates_statistics = true;
  // Outside of training, above 0: batch norms normalise by this batch, both texts of pairs
  // together, and the running statistics move by this share of the difference.
  double measured_share = 0;
  // What the model reads of the batch (Classifier::OnHost), on its device; null: the pass copies it
  // there itself.
  const std::vector<at::Tensor>* moved = nullptr;
  // The step where dropout masks are drawn on a device, int64 [], so that who repeats the work of a
  // pass can change it; undefined: `step`.
  at::Tensor step_on_device = {};
  // What copies a batch to a device; null: copies that share nothing (CopyTogether).
  UploadSlots* uploads = nullptr;
};

}  // namespace lra

#endif  // LRA_MODELS_BASE_FORWARD_CONTEXT_H_
