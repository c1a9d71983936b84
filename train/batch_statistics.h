// Statistics of batch norms for evaluation (evaluation.batch_statistics=PRECISE).
#ifndef LRA_TRAIN_BATCH_STATISTICS_H_
#define LRA_TRAIN_BATCH_STATISTICS_H_

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "datasets/split_view.h"
#include "lra/config.pb.h"
#include "models/classifier.h"

namespace lra {

// How many batches of a split of this size are measured before each validation: 0 where the
// configuration asks for no such thing, otherwise 32, or as many as there are.
int64_t MeasuredBatches(const ExperimentConfig& config, int64_t split_examples);

// Replaces the running statistics of the model's batch norms by the means of those of so many
// batches without dropout (PreciseBN of Wu & Johnson 2021, section 3, as
// torch.optim.swa_utils.update_bn computes it). Which examples they are depends on seed and split
// alone, so weights that are measured again get the same bits. `should_stop` is asked before every
// batch. Cancelled when it should stop; ResourceExhausted when memory runs out.
absl::Status MeasureBatchStatistics(const Classifier& model, const SplitView& split, uint32_t seed,
                                    int64_t batch_examples,
                                    const std::function<bool()>& should_stop);

}  // namespace lra

#endif  // LRA_TRAIN_BATCH_STATISTICS_H_
