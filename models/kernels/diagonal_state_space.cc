#include "models/kernels/diagonal_state_space.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/imag.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/real.h>

#include <cmath>

#include "lra/check.h"
#include "models/kernels/dispatch.h"

namespace lra {
namespace {

constexpr at::ScalarType kTables[] = {at::kComplexDouble};
constexpr KernelNeeds kNeeds = {.types = kTables};

}  // namespace

int64_t InnerLags(int64_t length) {
  return static_cast<int64_t>(std::ceil(std::sqrt(static_cast<double>(length))));
}

at::Tensor ExponentialSums(const at::Tensor& rate, const at::Tensor& weight, int64_t length,
                           at::ScalarType type) {
  LRA_CHECK(length >= 1) << "a kernel of " << length << " lags";
  const bool is_tiled =
      type == at::kFloat && DispatchKernel(kNeeds, {rate, weight}) != KernelPath::kGeneric;
  return is_tiled ? internal::ExponentialSumsTiled(rate, weight, length)
                  : internal::ExponentialSumsGeneric(rate, weight, length, type);
}

at::Tensor internal::ExponentialSumsGeneric(const at::Tensor& rate, const at::Tensor& weight,
                                            int64_t length, at::ScalarType type) {
  const int64_t inner_lags = InnerLags(length);
  const int64_t blocks = (length + inner_lags - 1) / inner_lags;
  const at::TensorOptions real = rate.options().dtype(at::kDouble).requires_grad(false);
  const at::Tensor inner = at::exp(rate.unsqueeze(-1) * at::arange(inner_lags, real));  // [C, P, m]
  const at::Tensor starts = (at::arange(blocks, real) * inner_lags).unsqueeze(-1);
  const at::Tensor outer =
      weight.unsqueeze(-2) * at::exp(rate.unsqueeze(-2) * starts);  // [X, C, blocks, P]
  const at::Tensor left = at::cat({at::real(outer), -at::imag(outer)}, -1).to(type);
  const at::Tensor right = at::cat({at::real(inner), at::imag(inner)}, -2).to(type);
  return (2 * at::matmul(left, right)).flatten(2).narrow(2, 0, length);
}

}  // namespace lra
