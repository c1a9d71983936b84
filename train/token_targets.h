// What a model guesses when it is pretrained on the task's own inputs (Amos et al., "Never Train
// from Scratch", 2023): hidden tokens from all others (MASKED), or each token from the earlier ones
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
  // [S], what to guess there.
  std::vector<int64_t> ids;
};

// Of the only or first texts (column 0), or of the second texts of pairs (1). MASKED: each real
// token is hidden with probability masked_fraction, at least one in each text; which ones depends
// on (seed, step, example id, column, token) only. CAUSAL: token n guesses token n + 1, nothing is
// hidden; a text of one token guesses nothing.
TokenTargets MakeTokenTargets(const HostBatch& batch, int column, const PretrainConfig& config,
                              uint32_t seed, uint32_t step);

}  // namespace lra

#endif  // LRA_TRAIN_TOKEN_TARGETS_H_
