#include "models/nominal_cost.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "lra/config.h"
#include "lra/pretrain_budget.h"
#include "lra/status_macros.h"
#include "models/attention_facts.h"
#include "models/block_facts.h"

namespace lra {
namespace {

// A forward and a backward pass, for each parameter of a product and token.
constexpr double kOperationsPerParameter = 6;
// Weights, and their sum of values.
constexpr double kProductsOfWeights = 2;

absl::StatusOr<bool> IsQuadratic(const ExperimentConfig& config) {
  if (config.attention().name() == kNoAttention) return false;
  LRA_ASSIGN_OR_RETURN(
      const AttentionFacts facts,
      DescribeAttention(config.attention().name(), config.attention().options(), SizesOf(config)));
  return absl::StartsWith(facts.traits.time_order, "N^2");
}

}  // namespace

absl::StatusOr<double> NominalOperations(const ExperimentConfig& config, int64_t tokens) {
  LRA_ASSIGN_OR_RETURN(const BlockFacts block, DescribeBlock(config, BatchSize{1, tokens}));
  LRA_ASSIGN_OR_RETURN(const bool is_quadratic, IsQuadratic(config));
  const double weights =
      is_quadratic ? kProductsOfWeights * static_cast<double>(tokens) * config.model().qkv_width()
                   : 0;
  const double of_token = kOperationsPerParameter * config.model().layers() *
                          (static_cast<double>(block.parameters) + weights);
  const int64_t steps =
      config.train().steps() + (config.has_pretrain() ? PretrainSteps(config) : 0);
  const int trials = std::max(1, config.search().budget_trials());
  return of_token * static_cast<double>(tokens) * static_cast<double>(steps) *
         config.train().batch_examples() * trials;
}

}  // namespace lra
