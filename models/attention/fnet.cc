// fnet: the real part of the Fourier transform over tokens and channels; nothing is learned.
// Source: Lee-Thorp et al. 2022 ("FNet: Mixing Tokens with Fourier Transforms"), eq. 3.
//   y = Re(F_N x F_E), over all E = H D channels together; ORTHONORMAL: divided by sqrt(N E)
// Padded tokens count as 0, yet the frequencies are those of the padded length.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/outer.h>

#include <cmath>
#include <numbers>

#include "models/attention/fnet.pb.h"
#include "models/interface/attention.h"
#include "models/interface/options.h"
#include "models/kernels/fourier.h"
#include "models/kernels/select_kept.h"

namespace lra {
namespace {

Traits MakeTraits() {
  Traits traits;
  traits.label = "FNet";
  traits.summary = "Fourier transform over tokens and channels, without weights";
  traits.source = "Lee-Thorp et al. 2022, eq. 3";
  traits.is_row_stochastic = false;
  traits.is_permutation_invariant = false;
  traits.projections = Projections::kNone;
  traits.rotary_reason = "it has no queries and keys";
  traits.causality = Causality::kNever;
  traits.causal_reason = "every frequency holds every token";
  traits.has_weights = false;  // it mixes channels, too, so it is no matrix over tokens alone
  traits.is_padding_invariant = false;
  traits.padding_reason = "the transform's length is the padded length";
  traits.time_order = "N D (log N + log D)";
  traits.memory_order = "N D";
  return traits;
}

// Returns the real and the imaginary part of the discrete Fourier transform's matrix [n, n].
std::pair<at::Tensor, at::Tensor> TransformMatrix(int64_t n, const at::TensorOptions& options) {
  const at::Tensor index = at::arange(n, options.dtype(at::kDouble));
  const at::Tensor angles =
      -2 * std::numbers::pi / static_cast<double>(n) * at::outer(index, index);
  return {angles.cos().to(options), angles.sin().to(options)};
}

class Fnet : public Attention {
 public:
  explicit Fnet(bool is_orthonormal) : is_orthonormal_(is_orthonormal) {}

  const Traits& traits() const override { return traits_; }

  at::Tensor Attend(const AttentionInput& input) const override {
    return OfJoinedHeads(input,
                         [&](const at::Tensor& x) { return FourierMixing(x, is_orthonormal_); });
  }

  at::Tensor Oracle(const AttentionInput& input) const override {
    return OfJoinedHeads(input, [&](const at::Tensor& x) {
      const auto [token_cos, token_sin] = TransformMatrix(x.size(1), input.v.options());
      const auto [channel_cos, channel_sin] = TransformMatrix(x.size(2), input.v.options());
      const at::Tensor sum = at::matmul(at::matmul(token_cos, x), channel_cos) -
                             at::matmul(at::matmul(token_sin, x), channel_sin);
      return is_orthonormal_ ? sum / std::sqrt(static_cast<double>(x.size(1) * x.size(2))) : sum;
    });
  }

 private:
  // Applies mix, a map of [B, N, H D] to [B, N, H D], to the channels of all heads side by side.
  template <class Mix>
  static at::Tensor OfJoinedHeads(const AttentionInput& input, Mix mix) {
    const at::Tensor x = SelectKept(input.v, input.keep).transpose(1, 2);  // [B, N, H, D]
    return mix(x.flatten(2)).view(x.sizes()).transpose(1, 2);
  }

  const Traits traits_ = MakeTraits();
  const bool is_orthonormal_;
};

absl::StatusOr<std::unique_ptr<Attention>> MakeFnet(const FnetOptions& options,
                                                    const AttentionContext&) {
  return std::make_unique<Fnet>(options.scaling() != FnetOptions::NONE);
}

LRA_REGISTER_ATTENTION("fnet", FnetOptions, MakeFnet);

}  // namespace
}  // namespace lra
