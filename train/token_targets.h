// What a model predicts when it is pretrained on the task's own inputs (Amos et al., "Never Train
// from Scratch", 2023): masked tokens from all others (MASKED), or each token from the earlier ones
// (CAUSAL).
#ifndef LRA_TRAIN_TOKEN_TARGETS_H_
#define LRA_TRAIN_TOKEN_TARGETS_H_

#include <cstdint>
#include <vector>

#include "datasets/host_batch.h"
#include "lra/config.pb.h"
#include "models/token_model.h"

namespace lra {

struct TokenTargets {
  TokenPlaces places;
  // [S], the ids to predict at these positions.
  std::vector<int64_t> ids;
};

// For the only or first texts (column 0), or the second texts of pairs (1). MASKED: each real token
// is masked with probability masked_fraction, at least one in each text; which ones depends only on
// (seed, step, example id, column, token). CAUSAL: token n predicts token n + 1, and nothing is
// masked; a text of one token predicts nothing.
TokenTargets MakeTokenTargets(const HostBatch& batch, int column, const PretrainConfig& config,
                              uint32_t seed, uint32_t step);

}  // namespace lra

#endif  // LRA_TRAIN_TOKEN_TARGETS_H_
