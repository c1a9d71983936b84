// A layer of attention and MLP is an attention core between two differentiable pieces. Each piece
// has a generic composition of LibTorch's operations (every device and type; the oracle) and a
// tiled form for float32 on the CPU, behind one function: nothing else knows which one runs.
//
//   x [B, N, E] --NormQkv--> q, k, v [B, H, N, D] --attention--> a [B, H, N, D]
//   OutputMlp(a, x):  h = x + drop(a Wo + bo);  y = h + drop(drop(f(LN(h) W1 + b1)) W2 + b2)
#ifndef LRA_MODELS_LAYERS_LAYER_PIECES_H_
#define LRA_MODELS_LAYERS_LAYER_PIECES_H_

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "models/kernels/dropout.h"
#include "models/kernels/linear_map.h"
#include "models/kernels/rows.h"
#include "models/layers/norm.h"

namespace lra {

struct NormQkvParameters {
  NormMap norm;
  // [H D, E]. Without a key map, k = q; without any, q = k = v = the normalised x.
  LinearMap query, key, value;
  int64_t heads = 1;
  bool returns_input = false;  // Qkv::x
};

struct OutputMlpParameters {
  LinearMap output;  // [E, H D]; without weight: none, and H D = E
  NormMap norm;
  LinearMap hidden;      // [M, E]
  LinearMap projection;  // [E, M]
  ActivationKind activation = ActivationKind::kGeluErf;
};

struct OutputMlpDropout {
  DropoutKey attention_output, hidden, mlp_output;
};

struct Qkv {
  at::Tensor q, k, v;  // [B, H, N, D], laid out [B, N, H, D]
  at::Tensor x;        // [B, N, E], normalised; only with returns_input
};

Qkv NormQkv(const at::Tensor& x, const NormQkvParameters& parameters);
at::Tensor OutputMlp(const at::Tensor& attended, const at::Tensor& residual,
                     const OutputMlpParameters& parameters, const OutputMlpDropout& dropout);

// The parts of the two pieces, for layers that normalise in another way or at another place.
// Projects y to q, k, v; Qkv::x is then y.
Qkv ProjectQkv(const at::Tensor& y, const NormQkvParameters& parameters);
// a [B, H, N, D] -> a Wo + bo [B, N, E]; without weight the heads side by side;
at::Tensor ProjectOutput(const at::Tensor& attended, const LinearMap& output);
// y [B, N, E] -> drop(f(y W1 + b1)) W2 + b2, which has two forms, too.
at::Tensor Mlp(const at::Tensor& y, const OutputMlpParameters& parameters,
               const DropoutKey& hidden_dropout);

namespace internal {

// The two forms, for tests that hold one against the other.
Qkv NormQkvGeneric(const at::Tensor& x, const NormQkvParameters& parameters);
Qkv NormQkvTiled(const at::Tensor& x, const NormQkvParameters& parameters);
at::Tensor MlpGeneric(const at::Tensor& y, const OutputMlpParameters& parameters,
                      const DropoutKey& hidden_dropout);
at::Tensor MlpTiled(const at::Tensor& y, const OutputMlpParameters& parameters,
                    const DropoutKey& hidden_dropout);
at::Tensor OutputMlpGeneric(const at::Tensor& attended, const at::Tensor& residual,
                            const OutputMlpParameters& parameters, const OutputMlpDropout& dropout);
at::Tensor OutputMlpTiled(const at::Tensor& attended, const at::Tensor& residual,
                          const OutputMlpParameters& parameters, const OutputMlpDropout& dropout);

}  // namespace internal
}  // namespace lra

#endif  // LRA_MODELS_LAYERS_LAYER_PIECES_H_
