#include "models/kernels/gemm.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/full.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/randn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "models/base/bfloat16_paths_test_util.h"
#include "models/base/kernel_path.h"

namespace lra {
namespace {

struct GemmShape {
  int64_t m, n, k;
};

// Below and above a block of registers, a panel and a slice; odd sums; columns that fill no vector.
constexpr GemmShape kShapes[] = {{1, 1, 1},    {7, 16, 3},   {8, 48, 32},
                                 {9, 33, 31},  {64, 64, 64}, {5, 80, 513},
                                 {33, 130, 7}, {3, 600, 40}, {66, 50, 1025}};

// A matrix [rows, columns] whose rows lie 5 numbers further apart than they must, read as its
// transpose or not.
struct Factor {
  Factor(int64_t rows, int64_t columns, bool is_transposed)
      : stored(is_transposed ? at::randn({columns, rows + 5}) : at::randn({rows, columns + 5})),
        value(is_transposed ? stored.narrow(1, 0, rows).t() : stored.narrow(1, 0, columns)),
        view{stored.const_data_ptr<float>(), stored.size(1), is_transposed} {}
  at::Tensor stored, value;
  MatrixView view;
};

// The largest difference to the product of float64, relative to the sum of magnitudes; -1 where a
// number beside the result changed.
double GemmError(const GemmShape& s, bool a_transposed, bool b_transposed, float beta,
                 ProductType type) {
  const Factor a(s.m, s.k, a_transposed), b(s.k, s.n, b_transposed);
  const at::Tensor out = at::full({s.m, s.n + 3}, 0.5f);
  Gemm(s.m, s.n, s.k, a.view, b.view, beta, out.mutable_data_ptr<float>(), s.n + 3, type);
  if (!out.narrow(1, s.n, 3).eq(0.5f).all().item<bool>()) return -1;
  const auto factor = [&](const at::Tensor& t) {
    return type == ProductType::kBfloat16 ? t.to(at::kBFloat16).to(at::kDouble) : t.to(at::kDouble);
  };
  const at::Tensor left = factor(a.value), right = factor(b.value);
  const at::Tensor expected = at::matmul(left, right) + 0.5 * beta;
  const at::Tensor size = at::matmul(left.abs(), right.abs()) + 0.5 * beta;
  return ((out.narrow(1, 0, s.n).to(at::kDouble) - expected).abs() / size).max().item<double>();
}

void ExpectProducts(ProductType type) {
  for (const GemmShape& s : kShapes) {
    for (const auto& [a_transposed, b_transposed, beta] : {std::tuple{false, false, 0.0f},
                                                           {true, false, 1.0f},
                                                           {false, true, 1.0f},
                                                           {true, true, 0.0f}}) {
      const double error = GemmError(s, a_transposed, b_transposed, beta, type);
      EXPECT_GE(error, 0) << "numbers beside the result changed";
      EXPECT_LT(error, 1e-6) << absl::StrCat(
          s.m, " x ", s.n, " x ", s.k, a_transposed ? " a^T" : "", b_transposed ? " b^T" : "");
    }
  }
}

TEST(GemmTest, EqualsTheProductOnEveryPath) {
  at::manual_seed(1);
  for (const KernelPath path : AvailableKernelPaths()) {
    SCOPED_TRACE(KernelPathName(path));
    const ScopedKernelPath use(path);
    ExpectProducts(ProductType::kFloat32);
  }
}

// A product with b laid out, or each time, into rows that begin with a bias or with 0.5; numbers
// beside the result show where it wrote too much.
struct Products {
  GemmShape s;
  const Factor &a, &b;
  ProductType type;

  at::Tensor Once(const at::Tensor& bias, float beta) const {
    const at::Tensor out = at::full({s.m, s.n + 3}, 0.5f);
    const PackedMatrix packed(s.n, s.k, b.view, type);
    Gemm(s.m, a.view, packed, bias.defined() ? bias.const_data_ptr<float>() : nullptr, beta,
         out.mutable_data_ptr<float>(), s.n + 3);
    return out;
  }
  at::Tensor Each(const at::Tensor& bias, float beta) const {
    const at::Tensor out = at::full({s.m, s.n + 3}, 0.5f);
    if (bias.defined()) out.narrow(1, 0, s.n).copy_(bias);
    Gemm(s.m, s.n, s.k, a.view, b.view, bias.defined() ? 1.0f : beta, out.mutable_data_ptr<float>(),
         s.n + 3, type);
    return out;
  }
};

void ExpectSameBits(ProductType type) {
  for (const GemmShape& s : kShapes) {
    for (const bool is_transposed : {false, true}) {
      SCOPED_TRACE(absl::StrCat(s.m, " x ", s.n, " x ", s.k));
      const Factor a(s.m, s.k, !is_transposed), b(s.k, s.n, is_transposed);
      const Products products = {s, a, b, type};
      const at::Tensor bias = at::randn({s.n});
      EXPECT_TRUE(products.Once({}, 0).equal(products.Each({}, 0)));
      EXPECT_TRUE(products.Once({}, 1).equal(products.Each({}, 1)));
      EXPECT_TRUE(products.Once(bias, 0).equal(products.Each(bias, 0)));
    }
  }
}

TEST(GemmTest, AFactorThatIsLaidOutOnceGivesTheSameBits) {
  at::manual_seed(3);
  for (const KernelPath path : AvailableKernelPaths()) {
    SCOPED_TRACE(KernelPathName(path));
    const ScopedKernelPath use(path);
    ExpectSameBits(ProductType::kFloat32);
  }
}

TEST(GemmTest, AFactorThatIsRoundedOnceGivesTheSameBits) {
  at::manual_seed(5);
  ForBfloat16Paths([] { ExpectSameBits(ProductType::kBfloat16); });
}

// The factors are rounded to nearest, ties to even, as LibTorch rounds; sums are those of float32.
TEST(GemmTest, Bfloat16RoundsTheFactorsOnly) {
  at::manual_seed(2);
  ForBfloat16Paths([] { ExpectProducts(ProductType::kBfloat16); });
}

void ExpectSameBitsWhereverARowStands(bool is_transposed) {
  constexpr int64_t kRows = 67, kColumns = 70, kInner = 90;
  const Factor a(kRows, kInner, is_transposed), b(kInner, kColumns, false);
  const auto product = [&](int64_t first, int64_t rows) {
    at::Tensor out = at::full({rows, kColumns}, NAN);
    MatrixView from = a.view;
    from.data += first * (is_transposed ? 1 : from.stride);
    Gemm(rows, kColumns, kInner, from, b.view, 0.0f, out.mutable_data_ptr<float>(), kColumns,
         ProductType::kBfloat16);
    return out;
  };
  const at::Tensor all = product(0, kRows);
  for (const int64_t first : {1, 15, 30, 66})
    EXPECT_TRUE(product(first, kRows - first).equal(all.narrow(0, first, kRows - first)));
}

// However many rows stand beside it: a short batch is computed as all others are.
TEST(GemmTest, ARowInBfloat16HasTheSameBitsWhereverItStands) {
  at::manual_seed(4);
  ForBfloat16Paths([] {
    ExpectSameBitsWhereverARowStands(false);
    ExpectSameBitsWhereverARowStands(true);
  });
}

TEST(GemmTest, ScopesChooseBfloat16WhereThereIsIt) {
  EXPECT_EQ(ActiveProductType(), ProductType::kFloat32);
  {
    const ProductTypeScope wants(true);
    EXPECT_EQ(ActiveProductType(),
              HasBfloat16Products() ? ProductType::kBfloat16 : ProductType::kFloat32);
    const ProductTypeScope wants_not(false);
    EXPECT_EQ(ActiveProductType(), ProductType::kFloat32);
  }
  EXPECT_EQ(ActiveProductType(), ProductType::kFloat32);
  const KernelPath path = ActiveKernelPath();
  EXPECT_EQ(KernelsName(at::kCPU, false),
            KernelPathName(path == KernelPath::kAmx ? KernelPath::kAvx512 : path));
  EXPECT_EQ(KernelsName(at::kCPU, true) != KernelsName(at::kCPU, false), HasBfloat16Products());
  if (path == KernelPath::kAmx) {
    EXPECT_EQ(WhyBfloat16IsSlow(), "");
  }
  const ScopedKernelPath use(KernelPath::kBaseline);
  EXPECT_EQ(KernelsName(at::kCPU, true), "baseline");
  EXPECT_THAT(WhyBfloat16IsSlow(), testing::HasSubstr("several times as long"));
  const ProductTypeScope wants(true);
  EXPECT_EQ(ActiveProductType(), ProductType::kFloat32);
}

}  // namespace
}  // namespace lra
