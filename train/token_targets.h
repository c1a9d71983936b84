// What a model guesses when it is pretrained on the task's own inputs (Amos et al., "Never Train
// from Scratch", 2023): hidden tokens from all others (MASKED), or each token from the earlier ones
// (CAUSAL).
#ifndef LRA_TRAIN_TOKEN_TARGETS_H_
#define LRA_TRAIN_TOKEN_TARGETS_H_

#include <cstdint>
#include <vector>

#include "datasets/host_batch.h"
#include "lra/config.pb.h"

namespace lra {

struct TokenTargets {
  // [B, N] of the batch's tokens: 1 where the input is hidden; empty for CAUSAL.
  std::vector<uint8_t> hidden;
  // Places b * N + n whose output guesses, ascending, and the ids to guess.
  std::vector<int64_t> positions;
  std::vector<int64_t> ids;
};

// Of the first texts of pairs. MASKED: each real token is hidden with probability masked_fraction,
// at least one in each example; which ones depends on (seed, step, example id, token) only. CAUSAL:
// token n guesses token n + 1; an example of one token guesses nothing.
TokenTargets MakeTokenTargets(const HostBatch& batch, const PretrainConfig& config, uint32_t seed,
                              uint32_t step);

}  // namespace lra

#endif  // LRA_TRAIN_TOKEN_TARGETS_H_
