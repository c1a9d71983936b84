// Statistics of batch norms for evaluation (evaluation.batch_statistics=PRECISE).
#ifndef LRA_TRAIN_BATCH_STATISTICS_H_
#define LRA_TRAIN_BATCH_STATISTICS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "datasets/split_view.h"
#include "models/classifier.h"

namespace lra {

// So many batches are measured; fewer where the split has not as many.
constexpr int64_t kMeasuredBatches = 32;

// Replaces the running statistics of the model's batch norms by the means of those of
// kMeasuredBatches batches without dropout (Wu & Johnson 2021, section 3; torch.optim.swa_utils.
// update_bn). Which examples they are depends on seed and split alone, so weights that are measured
// again get the same bits. ResourceExhausted when memory runs out.
absl::Status MeasureBatchStatistics(const Classifier& model, const SplitView& split, uint32_t seed,
                                    int64_t batch_examples);

}  // namespace lra

#endif  // LRA_TRAIN_BATCH_STATISTICS_H_
