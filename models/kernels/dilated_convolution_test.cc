#include "models/kernels/dilated_convolution.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "models/base/kernel_path.h"
#include "models/base/runtime.h"

namespace lra {
namespace {

struct DilatedCase {
  int64_t tokens, in, out, taps, dilation;
  std::vector<int64_t> lengths;  // of the examples; -1 = no lengths are given
};

void PrintTo(const DilatedCase& c, std::ostream* os) {
  *os << absl::StrCat("N = ", c.tokens, ", E = ", c.in, ", F = ", c.out, ", W = ", c.taps,
                      ", d = ", c.dilation);
}

struct Tensors {
  at::Tensor x, weight, bias, upstream;
};

Tensors Draw(const DilatedCase& c) {
  at::manual_seed(3);
  const int64_t batch = static_cast<int64_t>(c.lengths.size());
  return {at::randn({batch, c.tokens, c.in}, at::kDouble),
          at::randn({c.out, c.taps * c.in}, at::kDouble), at::randn({c.out}, at::kDouble),
          at::randn({batch, c.tokens, c.out}, at::kDouble)};
}

at::Tensor LengthsOf(const DilatedCase& c) {
  return c.lengths[0] < 0 ? at::Tensor() : at::tensor(c.lengths, at::kLong);
}

// Output, and the gradients of sum(y * upstream), one product after the other.
struct Sums {
  at::Tensor y, dx, dweight, dbias;
};

Sums SumByHand(const DilatedCase& c, const Tensors& t, const DilatedTaps& taps) {
  Sums sums = {at::zeros_like(t.upstream), at::zeros_like(t.x), at::zeros_like(t.weight),
               at::zeros_like(t.bias)};
  const auto x = t.x.accessor<double, 3>(), upstream = t.upstream.accessor<double, 3>();
  const auto weight = t.weight.accessor<double, 2>();
  auto y = sums.y.accessor<double, 3>(), dx = sums.dx.accessor<double, 3>();
  auto dweight = sums.dweight.accessor<double, 2>();
  auto dbias = sums.dbias.accessor<double, 1>();
  for (int64_t b = 0; b < t.x.size(0); ++b) {
    const int64_t length = c.lengths[b] < 0 ? c.tokens : c.lengths[b];
    for (int64_t n = 0; n < length; ++n) {
      for (int64_t f = 0; f < c.out; ++f) {
        y[b][n][f] = t.bias[f].item<double>();
        dbias[f] += upstream[b][n][f];
        for (int64_t tap = 0; tap < c.taps; ++tap) {
          int64_t m = n + (tap - taps.own) * c.dilation;
          while (taps.is_circular && m < 0) m += length;
          while (taps.is_circular && m >= length) m -= length;
          if (m < 0 || m >= length) continue;
          for (int64_t e = 0; e < c.in; ++e) {
            y[b][n][f] += weight[f][tap * c.in + e] * x[b][m][e];
            dx[b][m][e] += weight[f][tap * c.in + e] * upstream[b][n][f];
            dweight[f][tap * c.in + e] += x[b][m][e] * upstream[b][n][f];
          }
        }
      }
    }
  }
  return sums;
}

using Form = at::Tensor (*)(const at::Tensor&, const LinearMap&, const at::Tensor&,
                            const DilatedTaps&);

Sums Differentiate(Form form, const DilatedCase& c, const Tensors& t, const DilatedTaps& taps,
                   at::ScalarType type) {
  const auto leaf = [&](const at::Tensor& value) {
    return value.to(type).clone().requires_grad_();
  };
  const at::Tensor x = leaf(t.x), weight = leaf(t.weight), bias = leaf(t.bias);
  const at::Tensor y = form(x, {weight, bias}, LengthsOf(c), taps);
  y.backward(t.upstream.to(type));
  return {y.detach(), x.grad(), weight.grad(), bias.grad()};
}

void ExpectEqual(const Sums& sums, const Sums& expected, double tolerance) {
  const auto expect = [&](const at::Tensor& a, const at::Tensor& b, const char* what) {
    const double error = (a.to(at::kDouble) - b).abs().max().item<double>();
    EXPECT_LE(error, tolerance * (1 + b.abs().max().item<double>())) << what;
  };
  expect(sums.y, expected.y, "y");
  expect(sums.dx, expected.dx, "dx");
  expect(sums.dweight, expected.dweight, "gradient of the weights");
  expect(sums.dbias, expected.dbias, "gradient of the bias");
}

at::Tensor ByColumns(const at::Tensor& x, const LinearMap& map, const at::Tensor& lengths,
                     const DilatedTaps& taps) {
  return internal::DilatedConvolutionBy(internal::ConvolutionForm::kColumns, x, map, lengths, taps);
}

at::Tensor ByConvolution(const at::Tensor& x, const LinearMap& map, const at::Tensor& lengths,
                         const DilatedTaps& taps) {
  return internal::DilatedConvolutionBy(internal::ConvolutionForm::kConvolution, x, map, lengths,
                                        taps);
}

class DilatedConvolutionTest : public testing::TestWithParam<DilatedCase> {
 protected:
  static std::vector<DilatedTaps> AllTaps() {
    const DilatedCase& c = GetParam();
    return {{c.taps, c.taps / 2, c.dilation, true},
            {c.taps, c.taps / 2, c.dilation, false},
            {c.taps, c.taps - 1, c.dilation, false}};
  }
};

TEST_P(DilatedConvolutionTest, IsItsSum) {
  const Tensors t = Draw(GetParam());
  for (const DilatedTaps& taps : AllTaps()) {
    SCOPED_TRACE(absl::StrCat("own ", taps.own, taps.is_circular ? ", circular" : ""));
    const Sums expected = SumByHand(GetParam(), t, taps);
    for (const Form form : {&ByColumns, &ByConvolution})
      ExpectEqual(Differentiate(form, GetParam(), t, taps, at::kDouble), expected, 1e-13);
    for (const KernelPath path : AvailableKernelPaths()) {
      const ScopedKernelPath use(path);
      SCOPED_TRACE(KernelPathName(path));
      ExpectEqual(Differentiate(DilatedConvolution, GetParam(), t, taps, at::kFloat), expected,
                  2e-5);
    }
  }
}

// Dilations below, at and beyond the length; examples of one token and of none; several tiles.
INSTANTIATE_TEST_SUITE_P(Shapes, DilatedConvolutionTest,
                         testing::Values(DilatedCase{9, 3, 4, 3, 2, {-1, -1}},
                                         DilatedCase{8, 5, 5, 3, 4, {8, 4, 1, 0}},
                                         DilatedCase{7, 4, 3, 5, 16, {7, 5, 3}},
                                         DilatedCase{5, 6, 2, 1, 3, {5, 2}},
                                         DilatedCase{5, 3, 2, 3, 1, {5, 2, 0}},
                                         DilatedCase{531, 16, 16, 3, 256, {531, 300, 257}}));

// Under autocast on the CPU the products are of bfloat16, and the result is float32 again.
TEST(DilatedConvolutionAutocastTest, ProductsAreLowered) {
  const DilatedCase c = {9, 8, 8, 3, 2, {-1, -1}};
  const Tensors t = Draw(c);
  const DilatedTaps taps = {3, 1, 2, true};
  const Sums expected = SumByHand(c, t, taps);
  const AutocastScope autocast(true, at::kCPU);
  for (const Form form : {&ByColumns, &ByConvolution}) {
    const Sums sums = Differentiate(form, c, t, taps, at::kFloat);
    EXPECT_EQ(sums.y.scalar_type(), at::kFloat);
    EXPECT_GT((sums.y.to(at::kDouble) - expected.y).abs().max().item<double>(), 1e-4);
    ExpectEqual(sums, expected, 2e-2);
  }
}

TEST(DilatedConvolutionEmptyTest, NoExamplesGiveNone) {
  const LinearMap map = {at::randn({2, 9}), at::randn({2})};
  for (const Form form : {&ByColumns, &ByConvolution}) {
    const at::Tensor x = at::zeros({0, 4, 3}).requires_grad_();
    const at::Tensor y = form(x, map, at::Tensor(), {3, 1, 1, true});
    EXPECT_EQ(y.sizes(), at::IntArrayRef({0, 4, 2}));
    y.sum().backward();
    EXPECT_EQ(x.grad().sizes(), at::IntArrayRef({0, 4, 3}));
  }
}

// What stands behind an example, and how much of it, does not change a bit of its own rows.
TEST(DilatedConvolutionBitsTest, NeitherPaddingNorTheBatchCounts) {
  const DilatedCase c = {700, 16, 16, 3, 64, {400, 700}};
  const Tensors t = Draw(c);
  const DilatedTaps taps = {3, 1, 64, true};
  const LinearMap map = {t.weight.to(at::kFloat), t.bias.to(at::kFloat)};
  at::Tensor x = t.x.to(at::kFloat);
  x[0].narrow(0, 400, 300).fill_(std::numeric_limits<float>::quiet_NaN());
  const at::Tensor batch = DilatedConvolution(x, map, LengthsOf(c), taps);
  const at::Tensor alone =
      DilatedConvolution(x.narrow(0, 0, 1).narrow(1, 0, 400), map, at::Tensor(), taps);
  EXPECT_TRUE(batch[0].narrow(0, 0, 400).equal(alone[0]));
  EXPECT_EQ(batch[0].narrow(0, 400, 300).abs().max().item<float>(), 0);
}

// Token n reads n - 2 and n + 2 of the five tokens of a circle.
TEST(DilatedConvolutionBitsTest, TheEndsAreNeighbours) {
  const at::Tensor x = at::tensor({1.0f, 2.0f, 4.0f, 8.0f, 16.0f, 99.0f}).view({1, 6, 1});
  const LinearMap map = {at::tensor({100.0f, 0.0f, 1.0f}).view({1, 3}), at::Tensor()};
  const at::Tensor y = DilatedConvolution(x, map, at::tensor({5}, at::kLong), {3, 1, 2, true});
  EXPECT_TRUE(y.flatten().equal(at::tensor({804.0f, 1608.0f, 116.0f, 201.0f, 402.0f, 0.0f}))) << y;
}

}  // namespace
}  // namespace lra
