// Computes what an objective adds to the gradients of its parameters.
#ifndef LRA_TESTS_OBJECTIVE_GRADIENTS_H_
#define LRA_TESTS_OBJECTIVE_GRADIENTS_H_

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "datasets/loader.h"
#include "train/objective.h"

namespace lra {

// The examples 0 .. count - 1.
inline HostBatch FirstExamples(const SplitView& split, int64_t count) {
  std::vector<int64_t> ids(count);
  std::iota(ids.begin(), ids.end(), int64_t{0});
  return MakeBatch(split, ids);
}

// The gradients of the parts of one batch at step 3, added one after the other from zero.
inline at::Tensor Gradients(const Objective& objective, const HostBatch& batch,
                            int64_t micro_batch_examples, BatchResult* result) {
  for (const Parameter& parameter : objective.parameters().parameters())
    at::Tensor(parameter.value).mutable_grad() = at::Tensor();
  const auto added =
      objective.AddGradient(batch, micro_batch_examples, {.training = true, .step = 3});
  EXPECT_TRUE(added.ok()) << added.status();
  *result = *added;
  std::vector<at::Tensor> all;
  for (const Parameter& parameter : objective.parameters().parameters()) {
    const at::Tensor& gradient = parameter.value.grad();
    all.push_back(gradient.defined() ? gradient.flatten() : parameter.value.new_zeros({0}));
  }
  return at::cat(all);
}

// Dropout may be on, because its masks are keyed by example.
inline void ExpectPartsAddUp(const Objective& objective, const HostBatch& batch) {
  BatchResult whole, parts;
  const at::Tensor expected = Gradients(objective, batch, 0, &whole);
  const double norm = at::linalg_vector_norm(expected).item<double>();
  ASSERT_GT(norm, 0.01);
  for (const int64_t examples : {int64_t{1}, int64_t{5}, batch.batch / 2}) {
    const at::Tensor actual = Gradients(objective, batch, examples, &parts);
    EXPECT_LT(at::linalg_vector_norm(actual - expected).item<double>(), 1e-5 * norm)
        << "in parts of " << examples;
    EXPECT_NEAR(parts.loss_sum, whole.loss_sum, 1e-6 * whole.loss_sum);
    EXPECT_EQ(parts.guesses, whole.guesses);
    EXPECT_EQ(parts.tokens, whole.tokens);
  }
}

}  // namespace lra

#endif  // LRA_TESTS_OBJECTIVE_GRADIENTS_H_
