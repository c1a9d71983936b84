// The form that CUDA computes, on the CPU, against the generic form, which its own test proves.
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "models/base/near_test_util.h"
#include "models/kernels/softmax_attention.h"

namespace lra {
namespace {

using internal::SoftmaxInput;

struct FusedOutcome {
  at::Tensor output;
  std::vector<at::Tensor> gradients;  // of q, k, v
};

FusedOutcome Differentiate(SoftmaxInput input, at::ScalarType type, const at::Tensor& upstream,
                           const std::function<at::Tensor(const SoftmaxInput&)>& function) {
  for (at::Tensor* t : {&input.q, &input.k, &input.v})
    *t = t->detach().to(type).set_requires_grad(true);
  const at::Tensor output = function(input);
  (output * upstream.to(type)).sum().backward();
  return {output.detach(), {input.q.grad(), input.k.grad(), input.v.grad()}};
}

at::Tensor Generic(const SoftmaxInput& in) {
  return SoftmaxAttention(in.q, in.k, in.v, in.keep, in.weight_dropout, in.causal, in.bias,
                          in.distance_slopes);
}

SoftmaxInput Random(int64_t queries, int64_t keys) {
  SoftmaxInput input;
  input.q = at::randn({3, 2, queries, 16});
  input.k = at::randn({3, 2, keys, 16});
  input.v = at::randn({3, 2, keys, 16});
  return input;
}

void ExpectIsGeneric(const SoftmaxInput& input) {
  ASSERT_TRUE(internal::CanFuseSoftmax(input));
  const at::Tensor upstream = at::randn({3, 2, input.q.size(2), 16}, at::kDouble);
  const FusedOutcome fused = Differentiate(input, at::kFloat, upstream, internal::SoftmaxFused);
  const FusedOutcome generic = Differentiate(input, at::kDouble, upstream, Generic);
  ExpectNear(fused.output, generic.output, 1e-5);
  for (size_t i = 0; i < 3; ++i) ExpectNear(fused.gradients[i], generic.gradients[i], 1e-5);
}

TEST(SoftmaxAttentionFusedTest, IsTheGenericFormWithoutMask) {
  at::manual_seed(1);
  ExpectIsGeneric(Random(70, 70));
  ExpectIsGeneric(Random(30, 90));
  SoftmaxInput causal = Random(70, 70);
  causal.causal = true;
  ExpectIsGeneric(causal);
}

// The last example has no keys; what is masked is not a number.
void ExpectIsGenericWithAMask(SoftmaxInput input) {
  const at::Tensor lengths = at::tensor({70, 33, 0}, at::kLong);
  for (const bool is_scattered : {false, true}) {
    input.keep = at::arange(70, at::kLong) < lengths.unsqueeze(1);
    if (is_scattered) input.keep = input.keep.logical_and(at::rand({3, 70}) < 0.5);
    const at::Tensor hidden = input.keep.logical_not().unsqueeze(1).unsqueeze(-1);
    for (at::Tensor* t : {&input.k, &input.v})
      *t = t->nan_to_num().masked_fill(hidden, std::numeric_limits<double>::quiet_NaN());
    ExpectIsGeneric(input);
  }
}

TEST(SoftmaxAttentionFusedTest, IsTheGenericFormWithAMask) {
  at::manual_seed(2);
  ExpectIsGenericWithAMask(Random(50, 70));
}

// Where the first keys are hidden, the first queries see none.
TEST(SoftmaxAttentionFusedTest, IsTheGenericCausalFormWithAMask) {
  at::manual_seed(3);
  SoftmaxInput input = Random(70, 70);
  input.causal = true;
  ExpectIsGenericWithAMask(input);
}

TEST(SoftmaxAttentionFusedTest, LeavesTheRestToTheGenericForm) {
  const SoftmaxInput input = Random(8, 8);
  const auto with = [&](const std::function<void(SoftmaxInput*)>& change) {
    SoftmaxInput changed = input;
    change(&changed);
    return internal::CanFuseSoftmax(changed);
  };
  EXPECT_TRUE(with([](SoftmaxInput*) {}));
  EXPECT_FALSE(with([](SoftmaxInput* in) { in->bias = at::randn({2, 8, 8}); }));
  EXPECT_FALSE(with([](SoftmaxInput* in) { in->distance_slopes = at::rand({2}); }));
  EXPECT_FALSE(with([](SoftmaxInput* in) {
    in->weight_dropout = {0.1, 1, 2, 3, at::arange(3, at::kLong)};
  }));
  EXPECT_FALSE(with([](SoftmaxInput* in) { in->q = in->q.to(at::kDouble); }));
  EXPECT_FALSE(with([](SoftmaxInput* in) { in->q = in->k = in->v = at::randn({3, 2, 8, 12}); }));
  EXPECT_FALSE(with([](SoftmaxInput* in) {  // a mask of 36 MB
    in->causal = true;
    in->q = in->k = in->v = at::randn({9, 1, 1000, 8});
    in->keep = at::rand({9, 1000}) < 0.5;
  }));
  EXPECT_FALSE(with([](SoftmaxInput* in) {
    in->causal = true;
    in->k = in->v = at::randn({3, 2, 9, 16});
  }));
}

}  // namespace
}  // namespace lra
