// For tests that a fast form gives what its oracle gives: numbers to try, and how near results are.
#ifndef LRA_MODELS_BASE_NEAR_TEST_UTIL_H_
#define LRA_MODELS_BASE_NEAR_TEST_UTIL_H_

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/sin.h>
#include <c10/util/accumulate.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace lra {

// Numbers without a pattern, the same each time: float64 of `shape`, between -1 and 1.
inline at::Tensor Sines(at::IntArrayRef shape, double phase) {
  return at::sin(phase + 1.7 * at::arange(c10::multiply_integers(shape), at::kDouble)).view(shape);
}

// Returns the largest difference of two tensors of one shape.
inline double Worst(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

// Expects that `actual` differs from `expected` by at most `tolerance` times the largest expected
// magnitude, or times 1 where that is less. Both are undefined, or of one shape; neither has NaN.
inline void ExpectNear(const at::Tensor& actual, const at::Tensor& expected, double tolerance,
                       const std::string& what = "") {
  ASSERT_EQ(actual.defined(), expected.defined()) << what;
  if (!expected.defined()) return;
  ASSERT_EQ(actual.sizes(), expected.sizes()) << what;
  const at::Tensor wanted = expected.to(at::kDouble);
  const double scale = std::max(1.0, wanted.abs().max().item<double>());
  EXPECT_LE((actual.to(at::kDouble) - wanted).abs().max().item<double>(), tolerance * scale)
      << what;
}

// Expects it of each pair.
inline void ExpectNear(const std::vector<at::Tensor>& actual,
                       const std::vector<at::Tensor>& expected, double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i)
    ExpectNear(actual[i], expected[i], tolerance, std::to_string(i));
}

}  // namespace lra

#endif  // LRA_MODELS_BASE_NEAR_TEST_UTIL_H_
