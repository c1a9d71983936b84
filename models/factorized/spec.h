// The family of linear attentions, factorised into three axes: feature map x re-weighting x
// normaliser.
//
//   o_i = sum_j w_ij v_j / n_i,   w_ij = phi(q_i) . phi(k_j) r(i, j)
//
// Named methods (linear, relu, identity, leaky_relu, cosformer, cottention, performer, rfa) are
// points of it; the plug-in "factorized" makes every other point. What is known of a feature map or
// a normaliser stands in tables.h.
#ifndef LRA_MODELS_FACTORIZED_SPEC_H_
#define LRA_MODELS_FACTORIZED_SPEC_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace lra {

enum class FactorizedFeature {
  kIdentity,
  kRelu,
  kLeakyRelu,
  kEluPlusOne,
  kUnit,              // x / sqrt(|x|^2 + norm_epsilon)
  kSquaredRelu,       // relu(x)^2
  kReluPlusFloor,     // relu(x) + feature_floor
  kExp,               // e^x, channel by channel
  kPositiveRandom,    // exp(w . x' - |x'|^2 / 2), x' = x D^-1/4 (Performer)
  kHyperbolicRandom,  // the same of w and -w
  kTrigonometric,     // M^-1/2 [sin(w . x^), cos(w . x^)], x^ = sigma x / |x| (RFA)
  kArcCosine,         // M^-1/2 relu(w . x^)
};

enum class Reweighting {
  kNone,
  kCosine,  // mean over f of cos(f pi (i - j) / 2M)
  kDecay,   // exp(log_decay |i - j|) of each head
  kGate,    // prod_{j < s <= i} g_s (1 - g_j), g = sigmoid(W x + b) of each head; causal
};

enum class RowNormalizer {
  kPlus,         // sum_j w_ij + epsilon
  kClamp,        // max(sum_j w_ij, epsilon)
  kSignedFloor,  // Denominator::kSignedFloor (models/kernels/linear_attention.h)
  // max(sum_j w_ij, epsilon sum_j r(i, j)): without re-weighting epsilon * number of keys seen. Not
  // with kCosine.
  kCountFloor,
  kNone,         // 1
  kKeyCount,     // number of keys seen
  kLengthPower,  // (number of keys seen)^sigmoid(m) of each head
};

struct FactorizedSpec {
  FactorizedFeature feature = FactorizedFeature::kIdentity;
  double leaky_slope = 0;       // kLeakyRelu
  double norm_epsilon = 0;      // kUnit
  double feature_floor = 0;     // kReluPlusFloor
  at::Tensor projection;        // w: [M, D], not trained; features of random directions
  at::Tensor projection_scale;  // sigma: [H, D]; kTrigonometric, kArcCosine

  Reweighting reweighting = Reweighting::kNone;
  // M of kCosine: scale_tokens, or each example's own length where 0, or learned for each head:
  // M = scale_tokens (1 + exp(learned_scale)), [H].
  int64_t scale_tokens = 0;
  std::vector<double> frequencies = {1.0};
  // log g of kDecay: [H], below 0; where it is learned, of its start: log g = log_decay
  // exp(-learned_scale).
  at::Tensor log_decay;
  at::Tensor learned_scale;           // [H] or undefined; kCosine, kDecay
  at::Tensor gate_weight, gate_bias;  // [H, E], [H]; kGate

  RowNormalizer normalizer = RowNormalizer::kPlus;
  double epsilon = 0;
  double floor_ratio = 0;      // kSignedFloor
  at::Tensor length_exponent;  // m: [H]; kLengthPower
  // kLengthPower, causal: values are divided by the power of their own position, not sums by the
  // query's.
  bool scales_values = false;
};

}  // namespace lra

#endif  // LRA_MODELS_FACTORIZED_SPEC_H_
