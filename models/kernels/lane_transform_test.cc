#include "models/kernels/lane_transform.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <vector>

#include "models/base/kernel_path.h"

namespace lra {
namespace {

using Complex = std::complex<double>;

// A sequence of its own for each lane.
std::vector<float> Values(int64_t length, double phase) {
  std::vector<float> z(static_cast<size_t>(length * kLaneValue));
  for (size_t i = 0; i < z.size(); ++i)
    z[i] = static_cast<float>(std::sin(phase + 1.3 * static_cast<double>(i)));
  return z;
}

Complex At(const std::vector<float>& z, int64_t j, int64_t lane) {
  const float* value = z.data() + j * kLaneValue + lane;
  return {value[0], value[kTransformLanes]};
}

const int64_t kLengths[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 96, 128, 512, 768};

TEST(LaneTransformTest, LengthsAreTheNextTwoOrThreeTimesAPowerOfTwo) {
  const std::pair<int64_t, int64_t> cases[] = {
      {1, 1},  {2, 2},       {3, 3},       {5, 6},       {7, 8},
      {9, 12}, {1000, 1024}, {1025, 1536}, {4000, 4096}, {16384, 16384}};
  for (const auto& [least, length] : cases) EXPECT_EQ(LaneTransform::Of(least).length(), length);
  EXPECT_EQ(&LaneTransform::Of(5), &LaneTransform::Of(6));
}

// Products of spectra are circular convolutions, in every lane and on every path.
TEST(LaneTransformTest, ProductsOfSpectraAreCircularConvolutions) {
  for (const KernelPath path : AvailableKernelPaths()) {
    const ScopedKernelPath forced(path);
    for (const int64_t n : kLengths) {
      const LaneTransform transform(n);
      const std::vector<float> a = Values(n, 0.2), b = Values(n, 0.9);
      std::vector<float> product = a, factor = b;
      transform.Forward(product.data());
      transform.Forward(factor.data());
      MultiplyLanes(n, factor.data(), product.data());
      transform.Inverse(product.data());
      for (const int64_t lane : {0, 7, 15}) {
        for (int64_t i = 0; i < n; i += std::max<int64_t>(1, n / 16)) {
          Complex expected = 0;
          for (int64_t j = 0; j < n; ++j) expected += At(a, j, lane) * At(b, (i - j + n) % n, lane);
          const Complex found = At(product, i, lane) / static_cast<double>(n);
          EXPECT_LT(std::abs(found - expected), 1e-6 * static_cast<double>(n) + 1e-6)
              << KernelPathName(path) << ", length " << n << ", value " << i;
        }
      }
    }
  }
}

// Frequencies stand in an order of the transform's own, but there they are.
TEST(LaneTransformTest, ForwardHoldsTheFourierCoefficients) {
  for (const int64_t n : kLengths) {
    const std::vector<float> a = Values(n, 0.4);
    std::vector<float> z = a;
    LaneTransform(n).Forward(z.data());
    std::vector<bool> is_used(static_cast<size_t>(n), false);
    for (int64_t k = 0; k < n; ++k) {
      Complex expected = 0;
      for (int64_t j = 0; j < n; ++j) {
        expected += At(a, j, 3) * std::polar(1.0, -2 * M_PI * static_cast<double>(j * k % n) /
                                                      static_cast<double>(n));
      }
      int64_t place = 0;
      while (place < n &&
             (is_used[static_cast<size_t>(place)] || std::abs(At(z, place, 3) - expected) > 1e-4))
        ++place;
      ASSERT_LT(place, n) << "length " << n << ": frequency " << k << " is missing";
      is_used[static_cast<size_t>(place)] = true;
    }
  }
}

TEST(LaneTransformTest, LoopsOverLanes) {
  const std::vector<float> z = Values(2, 0.1), w = Values(2, 0.8);
  std::vector<float> conjugate = z, sums = Values(2, 2.0), turned = z;
  const std::vector<float> before = sums;
  MultiplyConjugateLanes(2, w.data(), conjugate.data());
  AddConjugateProducts(2, z.data(), w.data(), sums.data());
  const float turns[] = {0.6f, -0.8f, 0.0f, 1.0f};
  TurnLanes(2, turns, true, turned.data());
  for (int64_t j = 0; j < 2; ++j) {
    for (int64_t l = 0; l < kTransformLanes; ++l) {
      const Complex a = At(z, j, l), b = At(w, j, l);
      EXPECT_LT(std::abs(At(conjugate, j, l) - a * std::conj(b)), 1e-6);
      EXPECT_LT(std::abs(At(sums, j, l) - At(before, j, l) - std::conj(a) * b), 1e-6);
      EXPECT_LT(std::abs(At(turned, j, l) - a * Complex(turns[2 * j], -turns[2 * j + 1])), 1e-6);
    }
  }
}

}  // namespace
}  // namespace lra
