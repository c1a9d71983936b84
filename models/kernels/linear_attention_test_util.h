// What tests of linear attention share: inputs, the forms that are held against the definition, and
// the cases.
#ifndef LRA_MODELS_KERNELS_LINEAR_ATTENTION_TEST_UTIL_H_
#define LRA_MODELS_KERNELS_LINEAR_ATTENTION_TEST_UTIL_H_

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/stack.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "models/base/kernel_path.h"
#include "models/base/near_test_util.h"
#include "models/kernels/causal_linear_attention.h"
#include "models/kernels/linear_attention_definition_test_util.h"

namespace lra::linear_attention_test {

inline constexpr int64_t kBatch = 2, kHeads = 3;

inline at::Tensor Normal(int64_t tokens, int64_t width) {
  return at::randn({kBatch, tokens, kHeads, width}, at::kDouble).transpose(1, 2);
}

struct Inputs {
  at::Tensor q, k, v, keep, upstream;

  Inputs(int64_t queries, int64_t keys, bool is_masked)
      : q(Normal(queries, 5)),
        k(Normal(keys, 5)),
        v(Normal(keys, 4)),
        upstream(Normal(queries, 4)) {
    if (!is_masked) return;
    keep = at::rand({kBatch, keys}) > 0.3;  // with holes
    keep[1].slice(0, keys / 2).fill_(false);
    keep.select(1, 0).fill_(true);
  }
};

struct Results {
  at::Tensor output, q, k, v, log_decay;
};

inline Results ByDefinition(const Inputs& in, LinearAttentionSpec spec) {
  const auto leaf = [](const at::Tensor& t) { return t.detach().clone().requires_grad_(); };
  std::vector<at::Tensor> leaves = {leaf(in.q), leaf(in.k), leaf(in.v)};
  if (spec.log_decay.defined()) {
    leaves.push_back(leaf(spec.log_decay));
    spec.log_decay = leaves[3];
  }
  const at::Tensor output = Definition(leaves[0], leaves[1], leaves[2], in.keep, spec);
  std::vector<at::Tensor> gradients = torch::autograd::grad({output}, leaves, {in.upstream});
  gradients.resize(4);
  return {output.detach(), gradients[0], gradients[1], gradients[2], gradients[3]};
}

inline Results ByChunk(const Inputs& in, const LinearAttentionSpec& spec) {
  const CausalState state = internal::CausalForwardByChunk(in.q, in.k, in.v, in.keep, spec);
  const CausalGradients g =
      internal::CausalBackwardByChunk(in.upstream, in.q, in.k, in.v, in.keep, spec, state);
  return {state.output, g.q, g.k, g.v, g.log_decay};
}

inline Results AtOnce(const Inputs& in, const LinearAttentionSpec& spec) {
  const CausalState state = internal::CausalForwardAtOnce(in.q, in.k, in.v, in.keep, spec);
  const CausalGradients g =
      internal::CausalBackwardAtOnce(in.upstream, in.q, in.k, in.v, in.keep, spec, state);
  return {state.output, g.q, g.k, g.v, g.log_decay};
}

inline Inputs InFloat32(Inputs in) {
  for (at::Tensor* t : {&in.q, &in.k, &in.v, &in.upstream}) *t = t->to(at::kFloat);
  return in;
}

// In float32, whatever path is forced on this process.
inline Results Tiled(const Inputs& wide, const LinearAttentionSpec& spec) {
  const ScopedKernelPath best(AvailableKernelPaths().back());
  const Inputs in = InFloat32(wide);
  LinearAttentionSpec single = spec;
  if (spec.log_decay.defined()) single.log_decay = spec.log_decay.to(at::kFloat);
  EXPECT_TRUE(internal::TakesCausalTiles(in.q, in.k, in.v, single));
  const CausalState state = internal::CausalForwardTiled(in.q, in.k, in.v, in.keep, single);
  const CausalGradients g =
      internal::CausalBackwardTiled(in.upstream, in.q, in.k, in.v, in.keep, single, state);
  return {state.output, g.q, g.k, g.v, g.log_decay};
}

inline Results Bidirectional(const Inputs& in, const LinearAttentionSpec& spec) {
  const LinearAttentionState state = internal::ForwardGeneric(in.q, in.k, in.v, in.keep, spec);
  const LinearAttentionGradients g =
      internal::BackwardGeneric(in.upstream, in.q, in.k, in.v, in.keep, spec, state);
  return {state.output, g.q, g.k, g.v, {}};
}

inline void ExpectSame(const Results& got, const Results& expected, double of = 1e-11) {
  for (const auto part : {&Results::output, &Results::q, &Results::k, &Results::v})
    ExpectNear(got.*part, expected.*part, of);
  if (expected.log_decay.defined()) ExpectNear(got.log_decay, expected.log_decay, of);
}

inline constexpr FeatureMap kMaps[] = {FeatureMap::kEluPlusOne, FeatureMap::kRelu,
                                       FeatureMap::kLeakyRelu, FeatureMap::kIdentity,
                                       FeatureMap::kUnit};
inline constexpr Denominator kDenominators[] = {Denominator::kPlus, Denominator::kClamp,
                                                Denominator::kSignedFloor, Denominator::kNone};

// Every feature map with every denominator; signed sums are kept away from zero.
inline std::vector<LinearAttentionSpec> MapsAndDenominators() {
  std::vector<LinearAttentionSpec> specs;
  for (const FeatureMap map : kMaps) {
    for (const Denominator denominator : kDenominators) {
      LinearAttentionSpec spec;
      spec.feature_map = map;
      spec.denominator = denominator;
      spec.leaky_slope = 0.2;
      spec.floor_ratio = 0.3;
      spec.epsilon = denominator == Denominator::kPlus ? 300 : 3;
      specs.push_back(spec);
    }
  }
  return specs;
}

inline at::Tensor Angles(int64_t n, bool is_by_example) {
  const at::Tensor angles = at::arange(n, at::kDouble) * 0.004;
  return is_by_example ? at::stack({angles, angles * 1.3}) : angles;
}

// run(spec, inputs, what) for N tokens, with and without angles, decays and masks.
template <class Run>
inline void ForCausalCases(int64_t n, Run run) {
  for (LinearAttentionSpec spec : MapsAndDenominators()) {
    spec.causal = true;
    for (const int bits : {0, 1, 2, 3, 4, 5, 6, 7}) {
      const bool is_rotated = bits & 1, decays = bits & 2, is_masked = bits & 4;
      spec.query_angles = spec.key_angles = is_rotated ? Angles(n, is_masked) : at::Tensor();
      spec.log_decay =
          decays ? -at::rand({is_masked ? kBatch : 1, kHeads, n}, at::kDouble) : at::Tensor();
      SCOPED_TRACE(testing::Message()
                   << "N " << n << ", map " << static_cast<int>(spec.feature_map)
                   << ", denominator " << static_cast<int>(spec.denominator) << ", angles "
                   << is_rotated << ", decays " << decays << ", mask " << is_masked);
      run(spec, Inputs(n, n, is_masked));
    }
  }
}

}  // namespace lra::linear_attention_test

#endif  // LRA_MODELS_KERNELS_LINEAR_ATTENTION_TEST_UTIL_H_
