// The facts about each feature map and each normaliser: a row of a table for every one, read by the
// fast form, the traits and the options. The dense forms are not here: oracle.cc writes each from
// its definition, so that it can catch a wrong row.
#ifndef LRA_MODELS_FACTORIZED_TABLES_H_
#define LRA_MODELS_FACTORIZED_TABLES_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"
#include "models/factorized/spec.h"
#include "models/kernels/linear_attention.h"

namespace lra::factorized {

// Which features of phi(x) can be below 0.
enum class Signs {
  kNone,
  kSlope,  // those of inputs below 0, times leaky_slope
  kEven,   // about as many, and as large, as those above: their products cancel
};

// phi(x) of the definition: x [B, H, N, D] -> [B, H, N, F]; differentiated by autograd.
using FeatureFunction = at::Tensor (*)(const FactorizedSpec& spec, const at::Tensor& x);

struct FeatureRow {
  FactorizedFeature feature;
  const char* name;  // FactorizedOptions.FeatureMap has the same where it is an option
  FeatureFunction phi;
  // The core applies the map itself, with a backward by hand; otherwise it gets phi(x).
  std::optional<FeatureMap> core = std::nullopt;
  // log phi(x), without factors that a row sum cancels, for features that are powers of e.
  FeatureFunction log_phi = nullptr;
  Signs signs = Signs::kNone;
  // F / M of features of M random directions w (FactorizedSpec::projection); 0 without directions.
  int64_t features_per_direction = 0;
  // models/kernels/fused_random_features.h has a fused form.
  bool is_fused = false;
};

const FeatureRow& RowOf(FactorizedFeature feature);
// A name that no row has is a mistake of the program.
const FeatureRow& FeatureNamed(absl::string_view name);

struct NormalizerRow {
  RowNormalizer normalizer;
  const char* name;  // as FeatureRow::name
  // What the core divides by; kNone where the factor is applied to its output.
  Denominator core;
  // The divisor is the plain row sum but for an epsilon: weights must not cancel in it.
  bool is_sum = false;
};

const NormalizerRow& RowOf(RowNormalizer normalizer);
const NormalizerRow& NormalizerNamed(absl::string_view name);

// Features are e to some power and their row sum divides them: constants of a key channel and of
// a query cancel, and are used to keep the powers small.
bool IsStabilised(const FactorizedSpec& spec);

// D^-1/4, which queries and keys [B, H, N, D] are multiplied by: exp(q . k / sqrt(D)).
double KernelScale(const at::Tensor& x);

}  // namespace lra::factorized

#endif  // LRA_MODELS_FACTORIZED_TABLES_H_
