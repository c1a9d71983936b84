// What a forward pass depends on beside the batch.
#ifndef LRA_MODELS_BASE_FORWARD_CONTEXT_H_
#define LRA_MODELS_BASE_FORWARD_CONTEXT_H_

#include <cstdint>

namespace lra {

// What a batch norm normalises by; a layer norm has no such choice.
enum class BatchStatistics {
  kRunning,          // evaluation
  kOfBatch,          // the batch's; the running ones stay: a trial step
  kOfBatchAndLearn,  // the batch's, and the running ones move towards them: training
};

struct ForwardContext {
  bool training = false;  // dropout on
  uint32_t step = 0;      // optimiser step: keys the dropout masks
  // In training, whether the running statistics of batch norms learn from this batch. A trial pass
  // leaves them alone.
  bool updates_statistics = true;
};

}  // namespace lra

#endif  // LRA_MODELS_BASE_FORWARD_CONTEXT_H_
