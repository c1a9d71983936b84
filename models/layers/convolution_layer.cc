#include "models/layers/convolution_layer.h"

#include <ATen/ops/empty_like.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include "models/base/optional_tensor.h"
#include "models/kernels/dilated_tiles.h"
#include "models/kernels/dispatch.h"
#include "models/kernels/floats.h"
#include "models/kernels/saved_dropout_key.h"
#include "models/layers/activation.h"

namespace lra {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using OptionalTensor = std::optional<at::Tensor>;

constexpr KernelNeeds kConvolutionLayerNeeds = {.follows_autocast = true};

struct LayerTensors {
  at::Tensor x;  // [B, N, E]
  TokenMask mask;
  ConvolutionLayerParameters parameters;
  DropoutKey dropout;
  ProductType type = ActiveProductType();
};

// Gradients of the parameters, summed up tile by tile.
struct LayerGradients {
  explicit LayerGradients(const LayerTensors& in)
      : map(in.parameters.map, in.type),
        norm_weight(in.parameters.norm.weight),
        norm_bias(in.parameters.norm.bias) {}
  MapGradient map;
  ShardedGradient norm_weight, norm_bias;
};

// The threads take the examples in turn, and each goes through those it has by itself: their tokens
// stay in its cache between the passes over them, and no pass waits for another thread. Examples
// that are left over, fewer than there are threads, are shared out tile by tile; there, each pass
// waits.
class LayerPasses {
 public:
  explicit LayerPasses(const LayerTensors& in)
      : in_(in),
        width_(in.x.size(2)),
        shape_{in.x.size(1), width_, width_, in.parameters.taps, in.type},
        tiles_(in.x, in.mask.lengths),
        dropout_(in.dropout, in.x.size(1)),
        at_once_(std::min(in.x.size(0), ShardCount())),
        entered_(at_once_ * shape_.tokens * width_),
        means_(at_once_ * shape_.tokens),
        deviations_(at_once_ * shape_.tokens),
        x_(in.x.const_data_ptr<float>()),
        keep_(in.mask.keep.defined() ? in.mask.keep.const_data_ptr<bool>() : nullptr) {}

  // z, unless it is null, becomes what enters the GELU.
  void Forward(float* z, float* out) const {
    const TapWeights weights = ForwardTaps(shape_, in_.parameters.map);
    const at::Tensor& bias = in_.parameters.map.bias;
    ForGroups([&](const Group& group) {
      Normalise(group);
      ForGroupTiles(group, [&](int64_t, const ConvolutionTile& tile) {
        const Floats scratch(kTileTokens * width_);
        const int64_t row = group.row + tile.row, at = row * width_;
        float* convolved = z == nullptr ? scratch.get() : z + at;
        ConvolveTile(shape_, tile, Entered(group), weights, bias, convolved);
        ActivationRows(in_.parameters.activation, convolved, tile.rows * width_, scratch.get());
        ApplyDropoutRows(dropout_, row, tile.rows, width_, scratch.get(), x_ + at, out + at);
      });
    });
  }

  // From z and the output's gradient to that of x; adds to those of the parameters.
  void Backward(const float* z, const float* upstream, LayerGradients* sums, float* dx) const {
    const TapWeights weights = BackwardTaps(shape_, in_.parameters.map);
    const Floats dz(at_once_ * shape_.tokens * width_);
    const Scratch<bool> any(at_once_ * shape_.tokens);
    ForGroups([&](const Group& group) {
      float* const rows = dz.get() + group.scratch_row * width_;
      bool* const marks = any.get() + group.scratch_row;
      const OutputGradient gradient = {rows, marks};
      Normalise(group);
      ForGroupTiles(group, [&](int64_t, const ConvolutionTile& tile) {
        const int64_t at = (group.row + tile.row) * width_;
        BackThroughActivation(group, tile, z + at, upstream + at, rows + tile.row * width_,
                              marks + tile.row);
      });
      ForGroupTiles(group, [&](int64_t shard, const ConvolutionTile& tile) {
        const Floats back(kTileTokens * width_);
        AddConvolutionGradient(shape_, tile, Entered(group), gradient, shard, &sums->map);
        const int64_t at = (group.row + tile.row) * width_;
        if (ConvolveBackTile(shape_, tile, gradient, weights, back.get()))
          BackThroughNorm(group, tile, back.get(), upstream, shard, sums, dx);
        else
          std::copy_n(upstream + at, tile.rows * width_, dx + at);
      });
    });
  }

 private:
  static constexpr int64_t kAllShards = -1;

  // Examples that go through the passes together.
  struct Group {
    int64_t example, count;  // the first example, and how many there are
    int64_t row;             // of the first example's first token
    int64_t scratch_row;     // the same in the memory of what is at work at once
    int64_t shard;           // whose group it is; kAllShards: they share the tiles
  };

  // Calls body(group) for all groups: in parallel for those of one example, then for the rest.
  // Shard s adds up examples s, s + shards, .. and its tiles of the rest.
  template <class Body>
  void ForGroups(Body body) const {
    const int64_t shards = ShardCount(), rest = in_.x.size(0) % shards;
    const int64_t end = in_.x.size(0) - rest, tokens = shape_.tokens;
    if (end > 0) {
      ForShards(end, [&](int64_t shard, int64_t, int64_t) {
        for (int64_t example = shard; example < end; example += shards)
          body(Group{example, 1, example * tokens, shard * tokens, shard});
      });
    }
    if (rest > 0) body(Group{end, rest, end * tokens, 0, kAllShards});
  }
  // Calls body(shard, tile) for the tiles of the group, in parallel if the shards share them.
  template <class Body>
  void ForGroupTiles(const Group& group, Body body) const {
    if (group.shard == kAllShards) return tiles_.ForEach(group.example, group.count, body);
    tiles_.ForOne(group.example, [&](const ConvolutionTile& tile) { body(group.shard, tile); });
  }

  float* Entered(const Group& group) const { return entered_.get() + group.scratch_row * width_; }

  // Fills entered_ and the statistics.
  void Normalise(const Group& group) const {
    const NormMap& norm = in_.parameters.norm;
    ForGroupTiles(group, [&](int64_t, const ConvolutionTile& tile) {
      float* to = Entered(group) + tile.row * width_;
      if (keep_ != nullptr) std::fill_n(to, tile.rows * width_, 0.0f);
      ForKept(group, tile, [&](int64_t row, int64_t count) {
        LayerNormRows(x_ + (group.row + row) * width_, count, width_,
                      norm.weight.const_data_ptr<float>(), norm.bias.const_data_ptr<float>(),
                      static_cast<float>(norm.epsilon), Entered(group) + row * width_,
                      means_.get() + group.scratch_row + row,
                      deviations_.get() + group.scratch_row + row);
      });
    });
  }

  // The tile's rows of dz, and which of them hold anything but zeros.
  void BackThroughActivation(const Group& group, const ConvolutionTile& tile, const float* z,
                             const float* upstream, float* dz, bool* any) const {
    if (!MarkRows(upstream, tile.rows, width_, any)) {
      std::fill_n(dz, tile.rows * width_, 0.0f);
      return;
    }
    const Floats values(kTileTokens * width_);
    ApplyDropoutRows(dropout_, group.row + tile.row, tile.rows, width_, upstream, nullptr, dz);
    ActivationBackwardRows(in_.parameters.activation, z, tile.rows * width_, values.get(), dz);
  }

  // `gradient` is of the tile's normalised rows.
  void BackThroughNorm(const Group& group, const ConvolutionTile& tile, const float* gradient,
                       const float* upstream, int64_t shard, LayerGradients* sums,
                       float* dx) const {
    const int64_t first = (group.row + tile.row) * width_;
    if (keep_ != nullptr) std::copy_n(upstream + first, tile.rows * width_, dx + first);
    ForKept(group, tile, [&](int64_t row, int64_t count) {
      const int64_t at = (group.row + row) * width_;
      LayerNormBackwardRows(x_ + at, gradient + (row - tile.row) * width_, count, width_,
                            in_.parameters.norm.weight.const_data_ptr<float>(),
                            means_.get() + group.scratch_row + row,
                            deviations_.get() + group.scratch_row + row, upstream + at, dx + at,
                            sums->norm_weight.At(shard), sums->norm_bias.At(shard));
    });
  }

  // Calls body(row, count) for the runs of kept rows of the tile, counted from the group's first.
  template <class Body>
  void ForKept(const Group& group, const ConvolutionTile& tile, Body body) const {
    if (keep_ == nullptr) return body(tile.row, tile.rows);
    const bool* keep = keep_ + group.row;
    const bool* const end = keep + tile.row + tile.rows;
    for (const bool* at = keep + tile.row; at < end;) {
      const bool* const begin = std::find(at, end, true);
      at = std::find(begin, end, false);
      if (begin < at) body(begin - keep, at - begin);
    }
  }

  const LayerTensors& in_;
  const int64_t width_;
  const ConvolutionShape shape_;
  const ConvolutionTiles tiles_;
  const DropoutRows dropout_;
  const int64_t at_once_;            // examples at work
  const Floats entered_;             // what their convolution reads
  const Floats means_, deviations_;  // of their rows; the reciprocals of deviations
  const float* const x_;
  const bool* const keep_;
};

class ConvolutionLayerFunction : public torch::autograd::Function<ConvolutionLayerFunction> {
 public:
  // The parameters are passed one by one, because autograd must see them; `in` has them, too.
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x,
                            const at::Tensor& norm_weight, const at::Tensor& norm_bias,
                            const at::Tensor& weight, const OptionalTensor& bias,
                            const LayerTensors& in, bool needs_gradient) {
    const at::Tensor z = needs_gradient ? at::empty_like(x) : at::Tensor();
    const at::Tensor out = at::empty_like(x);
    LayerPasses(in).Forward(needs_gradient ? z.mutable_data_ptr<float>() : nullptr,
                            out.mutable_data_ptr<float>());
    if (!needs_gradient) return out;
    context->save_for_backward({x, norm_weight, norm_bias, weight, bias.value_or(at::Tensor()),
                                in.mask.keep, in.mask.lengths, z});
    context->saved_data["epsilon"] = in.parameters.norm.epsilon;
    context->saved_data["taps"] = in.parameters.taps.Numbers();
    context->saved_data["activation"] = static_cast<int64_t>(in.parameters.activation);
    context->saved_data["type"] = static_cast<int64_t>(in.type);
    SaveDropoutKey("key", in.dropout, &context->saved_data);
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list s = context->get_saved_variables();
    const LayerTensors in = Load(context, s);
    const at::Tensor upstream = gradients[0].contiguous(), dx = at::empty_like(upstream);
    LayerGradients sums(in);
    LayerPasses(in).Backward(s[7].const_data_ptr<float>(), upstream.const_data_ptr<float>(), &sums,
                             dx.mutable_data_ptr<float>());
    return {dx,
            sums.norm_weight.Total(),
            sums.norm_bias.Total(),
            sums.map.weight.Total(),
            sums.map.bias.Total(),
            at::Tensor(),
            at::Tensor()};
  }

 private:
  static LayerTensors Load(AutogradContext* context, const variable_list& s) {
    LayerTensors in;
    in.x = s[0];
    in.parameters.norm = {s[1], s[2], context->saved_data["epsilon"].toDouble()};
    in.parameters.map = {s[3], s[4]};
    in.parameters.taps = DilatedTaps::Of(context->saved_data["taps"].toIntVector());
    in.parameters.activation =
        static_cast<ActivationKind>(context->saved_data["activation"].toInt());
    in.mask = {s[5], s[6]};
    in.type = static_cast<ProductType>(context->saved_data["type"].toInt());
    in.dropout = LoadDropoutKey("key", &context->saved_data);
    return in;
  }
};

}  // namespace

namespace internal {

at::Tensor ConvolutionLayerGeneric(const at::Tensor& x, const TokenMask& mask,
                                   const ConvolutionLayerParameters& p, const DropoutKey& dropout) {
  at::Tensor entered = LayerNorm(x, p.norm);
  if (mask.keep.defined())
    entered = at::where(mask.keep.unsqueeze(2), entered, at::zeros({}, entered.options()));
  const at::Tensor z = DilatedConvolution(entered, p.map, mask.lengths, p.taps);
  return DropoutAdd(Activate(z, p.activation), x, dropout);
}

at::Tensor ConvolutionLayerTiled(const at::Tensor& x, const TokenMask& mask,
                                 const ConvolutionLayerParameters& p, const DropoutKey& dropout) {
  LayerTensors in = {x.contiguous(), mask, p, dropout};
  if (mask.keep.defined()) in.mask.keep = mask.keep.contiguous();
  return ConvolutionLayerFunction::apply(in.x, p.norm.weight, p.norm.bias, p.map.weight,
                                         IfDefined(p.map.bias), in, c10::GradMode::is_enabled());
}

}  // namespace internal

at::Tensor ConvolutionLayer(const at::Tensor& x, const TokenMask& mask,
                            const ConvolutionLayerParameters& p, const DropoutKey& dropout) {
  const KernelOperands operands = {x, p.norm.weight, p.norm.bias, p.map.weight, p.map.bias};
  const bool is_tiled = DispatchKernel(kConvolutionLayerNeeds, operands) != KernelPath::kGeneric;
  return (is_tiled ? internal::ConvolutionLayerTiled : internal::ConvolutionLayerGeneric)(
      x, mask, p, dropout);
}

}  // namespace lra
