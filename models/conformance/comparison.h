// Inputs and comparisons of the conformance suite.
#ifndef LRA_MODELS_CONFORMANCE_COMPARISON_H_
#define LRA_MODELS_CONFORMANCE_COMPARISON_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "models/base/parameters.h"
#include "models/interface/attention.h"

namespace lra {

// Standard normal numbers that depend on (stream, shape) only.
at::Tensor RandomTensor(uint32_t stream, const std::vector<int64_t>& shape, at::ScalarType type);

// The larger one; infinite where either is not a number, which std::max may drop.
double Worse(double a, double b);

// Largest |a - b|; infinite where either is not finite or shapes differ.
double MaxDifference(const at::Tensor& a, const at::Tensor& b);
// MaxDifference relative to the largest |b| (at least `floor`); infinite where that is.
double RelativeDifference(const at::Tensor& a, const at::Tensor& b, double floor);

// q, k, v, keep and the upstream gradient of one comparison; lengths = real tokens of each example
// (right padding).
struct AttentionCase {
  AttentionInput input;
  at::Tensor upstream;  // [B, H, N, D]

  // Random input, E = LayerInputWidth(heads, width); keep undefined. Tensors of heads lie in memory
  // as [B, N, H, D], as layers hand them over.
  AttentionCase(uint32_t stream, int64_t batch, int64_t heads, int64_t queries, int64_t keys,
                int64_t width, at::ScalarType type = at::kDouble);
  // Masks all keys from lengths[b] on, and in self-attention the upstream gradient of the queries
  // there.
  void MaskFromLengths(const std::vector<int64_t>& lengths);
  // Masks about a third of the keys at random, never the first.
  void MaskRandomly(uint32_t stream);
  // Lays them out as [B, H, N, D].
  void MakeContiguous();
  // Example b alone, its first `tokens` queries and keys.
  AttentionCase Example(int64_t b, int64_t tokens) const;
};

// E of the layer inputs of the suite: not H D, so that one cannot stand for the other.
constexpr int64_t LayerInputWidth(int64_t heads, int64_t width) { return heads * width + 3; }

// Output and gradients of sum(output * upstream); dx only where the attention uses x.
struct AttentionOutcome {
  at::Tensor output, dq, dk, dv, dx;
  std::vector<at::Tensor> parameters;  // what it owns
};

// What an attention owns in a type, without gradients, for as long as this lives.
class ParametersIn {
 public:
  ParametersIn(at::ScalarType type, const ParameterStore& owned);
  ~ParametersIn();
  ParametersIn(const ParametersIn&) = delete;
  ParametersIn& operator=(const ParametersIn&) = delete;
  // On the CPU; zeros for one that the backward did not reach.
  std::vector<at::Tensor> Gradients() const;

 private:
  std::vector<at::Tensor> values_, kept_;
};

enum class Form {
  kFast,
  kOracle,
  // The fast form as an encoder layer calls it where numerics.precision is BF16: under autocast, q,
  // k and v from bfloat16 products and the output into one, so that they and their gradients are
  // rounded on the way. Inputs float32.
  kBfloat16,
  // The same on a processor without bfloat16 products in tiles.
  kBfloat16WithoutProducts,
};
// Runs on `device`, where the attention is, and brings the outcome back to the CPU, where cases
// are; `owned`, what it owns, is in the case's type meanwhile. x is withheld from attentions that
// do not claim to use it. Throws what the attention does, or CheckOutput()
// (models/interface/attend.h).
AttentionOutcome RunAttention(const Attention& attention, Form form, const AttentionCase& c,
                              at::Device device = at::kCPU,
                              const ParameterStore& owned = ParameterStore(1));
// The tensors of a case's input on a device; keys of dropout stay on the CPU.
AttentionInput OnDevice(AttentionInput input, at::Device device);

// Rows whose upstream gradient is not masked, of an output-shaped tensor; the rest is set to 0
// ("unspecified").
at::Tensor RealRows(const at::Tensor& output, const AttentionCase& c);

// Worst relative difference over output (real rows) and gradients, of parameters as well.
double OutcomeDifference(const AttentionOutcome& a, const AttentionOutcome& b,
                         const AttentionCase& c);

}  // namespace lra

#endif  // LRA_MODELS_CONFORMANCE_COMPARISON_H_
