// dilated_convolution: convolutions along the tokens, over all channels, with taps ever further
// apart.
// Source: Cheng et al. 2022 ("Classification of Long Sequential Data using Circular Dilated
// Convolutional Neural Networks"), section 3; causal as in Bai et al. 2018 ("An Empirical
// Evaluation of Generic Convolutional and Recurrent Networks for Sequence Modeling"), section 3.
//   y_n = x_n + drop(f(b + sum_t W_t x'_{n + (t - W / 2) d})),  x' = norm(x), W taps
// and f = model.activation, for each convolution of the block, d = 1, 2, 4, ...; circular: n + ...
// modulo the number of the example's tokens up to its last real one, so that no padding comes
// between its ends. Padded tokens among them are zeros. With attention.causal the last tap reads
// the token itself.
// norm_placement AFTER: x' = x and y = norm(the same). The paper has ReLU, weights normalised by
// row instead of a norm, and no positions. With row_tokens = R the dilations are d = 1, R, 2, 2 R,
// 4, 4 R, ...: rows and columns of a picture in turn. model.mask=OUTER is KEYS here.
#include "models/kernels/dilated_convolution.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/einsum.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lra/plugin_options.h"
#include "lra/status_macros.h"
#include "models/block/dilated_convolution.pb.h"
#include "models/interface/block.h"
#include "models/layers/activation.h"
#include "models/layers/convolution_layer.h"
#include "models/layers/definitions.h"
#include "models/layers/parameter_scope.h"
#include "models/layers/residual.h"

namespace lra {
namespace {

using Options = DilatedConvolutionOptions;

// Tokens of each example up to its last real one: [B] int64.
at::Tensor Lengths(const at::Tensor& keep) {
  if (!keep.defined()) return keep;
  const at::Tensor ends = at::arange(1, keep.size(1) + 1, keep.options().dtype(at::kLong));
  return (keep * ends).amax(1);
}

struct Convolution {
  Residual residual;
  LinearMap map;  // [E, W E]
  DilatedTaps taps;

  int64_t TokensBefore() const { return taps.own * taps.dilation; }
};

BlockTraits MakeTraits(const Residual& residual, int64_t taps, bool is_circular) {
  BlockTraits traits = residual.TraitsOfBlock();
  traits.label = "Dilated convolutions";
  traits.summary = "convolutions over all channels, whose taps stand ever further apart";
  traits.source = "Cheng et al. 2022 (CDIL-CNN), section 3";
  traits.supports_streaming = traits.is_causal;
  if (taps > 1) traits.taps_field = "block.options.kernel_tokens";
  if (is_circular) {
    traits.causal_reason =
        "a circular convolution reads the end of a sequence at its beginning; "
        "block.options.circular=false puts zeros there";
  }
  traits.time_order = "N E^2";
  traits.memory_order = "N E";
  return traits;
}

class DilatedConvolutions : public Block {
 public:
  DilatedConvolutions(std::vector<Convolution> convolutions, ActivationKind activation,
                      bool is_circular)
      : convolutions_(std::move(convolutions)),
        activation_(activation),
        traits_(MakeTraits(convolutions_[0].residual, convolutions_[0].taps.taps, is_circular)) {}

  const BlockTraits& traits() const override { return traits_; }

  at::Tensor Forward(const BlockInput& input) const override {
    BlockInput step = input;
    const at::Tensor keep = convolutions_[0].residual.Keep(input);
    const TokenMask mask = {keep, Lengths(keep)};
    for (const Convolution& c : convolutions_) {
      step.x = Convolve(c, mask, step);
      if (input.visit != nullptr)
        (*input.visit)(absl::StrCat("convolution of dilation ", c.taps.dilation), step.x);
    }
    return step.x;
  }

  at::Tensor Oracle(const BlockInput& input) const override;

  int64_t ParameterCount() const override {
    int64_t count = 0;
    for (const Convolution& c : convolutions_)
      count += c.residual.ParameterCount() + (c.map.weight.size(1) + 1) * c.map.weight.size(0);
    return count;
  }

  int64_t ActivationBytes(int64_t batch, int64_t tokens) const override {
    // Each convolution keeps what enters its GELU, and its output.
    const int64_t floats = 2 * convolutions_[0].map.weight.size(0);
    return static_cast<int64_t>(sizeof(float) * convolutions_.size()) * batch * tokens * floats;
  }

  // tensors = {for each convolution the tokens that the next piece reads of the last one, as it
  // reads them [B, (W - 1) d, E]}: zeros at first.
  BlockState InitState(int64_t batch, const at::TensorOptions& options) const override {
    BlockState state;
    for (const Convolution& c : convolutions_)
      state.tensors.push_back(at::zeros({batch, c.TokensBefore(), c.map.weight.size(0)}, options));
    return state;
  }

  at::Tensor Extend(const BlockInput& piece, BlockState* state) const override {
    const c10::NoGradGuard no_gradient;
    BlockInput step = piece;
    const int64_t tokens = piece.x.size(1);
    for (size_t i = 0; i < convolutions_.size(); ++i) {
      const Convolution& c = convolutions_[i];
      const at::Tensor read = at::cat({state->tensors[i], c.residual.Enter(step)}, 1);
      const at::Tensor convolved = DilatedConvolution(read, c.map, at::Tensor(), c.taps);
      step.x = Finish(c, convolved.narrow(1, c.TokensBefore(), tokens), step);
      state->tensors[i] = read.narrow(1, tokens, c.TokensBefore()).clone();
    }
    state->tokens += tokens;
    return step.x;
  }

 private:
  at::Tensor Convolve(const Convolution& c, const TokenMask& mask, const BlockInput& step) const {
    if (c.residual.is_plain()) {
      return ConvolutionLayer(step.x, mask, {c.residual.norm().map(), c.map, c.taps, activation_},
                              c.residual.Key(step.run));
    }
    return Finish(c, DilatedConvolution(c.residual.Enter(step), c.map, mask.lengths, c.taps), step);
  }

  at::Tensor Finish(const Convolution& c, const at::Tensor& convolved,
                    const BlockInput& step) const {
    return c.residual.Leave(Activate(convolved, activation_), step);
  }

  const std::vector<Convolution> convolutions_;
  const ActivationKind activation_;
  const BlockTraits traits_;
};

// Written as a matrix for each tap: which token [m] each token [n] reads.
at::Tensor DilatedConvolutions::Oracle(const BlockInput& input) const {
  const int64_t tokens = input.x.size(1), width = input.x.size(2);
  const at::Tensor keep = convolutions_[0].residual.Keep(input);
  const at::Tensor places = at::arange(tokens, at::kLong);
  at::Tensor ends = at::full({1, 1, 1}, tokens, at::kLong);
  if (keep.defined()) ends = keep.mul(places + 1).amax(1).view({-1, 1, 1});
  BlockInput step = input;
  for (const Convolution& c : convolutions_) {
    const at::Tensor x = c.residual.EnterOracle(step);
    at::Tensor read = at::zeros({}, x.options().requires_grad(false));
    for (int64_t t = 0; t < c.taps.taps; ++t) {
      // How far token m is from what token n asks for; circular: up to whole turns.
      at::Tensor off = places - places.unsqueeze(1) - (t - c.taps.own) * c.taps.dilation;
      off = c.taps.is_circular ? off.remainder(ends.clamp_min(1)) : off.unsqueeze(0);
      const at::Tensor reads =
          off.eq(0).logical_and(places.view({1, 1, -1}) < ends).to(x.options());
      const LinearMap tap = {c.map.weight.narrow(1, t * width, width), at::Tensor()};
      read = read + at::einsum("bnm,bme->bne", {reads.expand({x.size(0), tokens, tokens}),
                                                LinearDefinition(x, tap)});
    }
    const at::Tensor active = ActivationDefinition(read + c.map.bias.to(x.options()), activation_);
    step.x = c.residual.LeaveOracle(active, step);
  }
  return step.x;
}

// How far the taps stand apart in the convolution at `place` among all of the encoder.
int64_t Dilation(const Options& options, int64_t place) {
  const int64_t row = options.row_tokens();
  if (row == 0) return int64_t{1} << place % options.dilations();
  return (int64_t{1} << place / 2 % options.dilations()) * (place % 2 == 0 ? 1 : row);
}

absl::Status CheckOptions(const Options& options, const BlockContext& context) {
  if (options.kernel_tokens() % 2 == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("block.options.kernel_tokens: is ", options.kernel_tokens(), ", must be odd"));
  }
  if (!options.circular() || !context.attention.causal()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "attention.causal: is true, but a circular convolution reads the end of a sequence at its "
      "beginning; set block.options.circular=false");
}

absl::StatusOr<std::unique_ptr<Block>> MakeDilatedConvolutions(const BlockContext& context) {
  LRA_ASSIGN_OR_RETURN(const Options options,
                       UnpackOptions<Options>("block", "dilated_convolution", context.options));
  LRA_RETURN_IF_ERROR(RefuseAttention("dilated_convolution", context));
  LRA_RETURN_IF_ERROR(CheckOptions(options, context));
  const ParameterScope scope(context);
  const int64_t width = context.model.width(), taps = options.kernel_tokens();
  const int64_t own = context.attention.causal() ? taps - 1 : taps / 2;
  std::vector<Convolution> convolutions;
  for (int64_t i = 0; i < options.convolutions(); ++i) {
    const std::string name = absl::StrCat("convolution", i);
    const LayerSite place =
        i == 0 ? LayerSite::kAttentionOutput
               : static_cast<LayerSite>(static_cast<int64_t>(LayerSite::kFurtherPlaces) + i - 1);
    const int64_t dilation = Dilation(options, context.index * options.convolutions() + i);
    Residual residual(context, absl::StrCat(name, ".norm"), place);
    LinearMap map = scope.Linear(name, width, taps * width, true);
    convolutions.push_back(
        {std::move(residual), std::move(map), {taps, own, dilation, options.circular()}});
  }
  return std::make_unique<DilatedConvolutions>(std::move(convolutions), ActivationOf(context.model),
                                               options.circular());
}

LRA_REGISTER(BlockRegistry, "dilated_convolution", MakeDilatedConvolutions);

}  // namespace
}  // namespace lra
