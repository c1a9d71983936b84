// The tiled form of an MLP by itself, for layers that normalise behind it or over batches, for
// float32 on the CPU. A tile of tokens goes through both maps while it is in the cache, and the
// backward leaves out tiles without a gradient.
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <optional>

#include "lra/check.h"
#include "models/base/optional_tensor.h"
#include "models/kernels/floats.h"
#include "models/kernels/saved_dropout_key.h"
#include "models/kernels/token_tiles.h"
#include "models/kernels/zero_rows.h"
#include "models/layers/layer_pieces.h"
#include "models/layers/mlp_tile.h"

namespace lra {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using OptionalTensor = std::optional<at::Tensor>;

// What is not a tensor that autograd must see.
struct MlpSettings {
  ActivationKind activation;
  DropoutKey dropout;
  bool needs_gradient;
};

class MlpFunction : public torch::autograd::Function<MlpFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& y, const at::Tensor& w1,
                            const OptionalTensor& b1, const at::Tensor& w2,
                            const OptionalTensor& b2, const MlpSettings& settings) {
    OutputMlpParameters p;
    p.hidden = {w1, b1.value_or(at::Tensor())};
    p.projection = {w2, b2.value_or(at::Tensor())};
    p.activation = settings.activation;
    const ProductType type = ActiveProductType();
    const int64_t tokens = y.size(0) * y.size(1), width = y.size(2), hidden_width = w1.size(0);
    const bool is_stored = settings.needs_gradient;
    const at::Tensor out = at::empty_like(y),
                     u = is_stored ? at::empty({tokens, hidden_width}, y.options()) : at::Tensor();
    const float* from = y.const_data_ptr<float>();
    float *to = out.mutable_data_ptr<float>(),
          *all_u = is_stored ? u.mutable_data_ptr<float>() : nullptr;
    const internal::MlpForward mlp(p, settings.dropout, y.size(1), type);
    ForShards(tokens, [&](int64_t, int64_t begin, int64_t end) {
      if (begin == end) return;
      const Floats activation(kTileTokens * hidden_width),
          tile_u(is_stored ? 0 : kTileTokens * hidden_width);
      ForTiles(begin, end, [&](int64_t first, int64_t rows) {
        mlp.Rows(from + first * width, first, rows, activation.get(),
                 is_stored ? all_u + first * hidden_width : tile_u.get(), to + first * width);
      });
    });
    if (is_stored) Save(context, y, u, p, settings.dropout, type);
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list s = context->get_saved_variables();
    const at::Tensor &y = s[0], &u = s[1];
    OutputMlpParameters p;
    p.hidden = {s[2], s[3]};
    p.projection = {s[4], s[5]};
    p.activation = static_cast<ActivationKind>(context->saved_data["activation"].toInt());
    const auto type = static_cast<ProductType>(context->saved_data["type"].toInt());
    const int64_t tokens = y.size(0) * y.size(1), width = y.size(2);
    const int64_t hidden_width = p.hidden.weight.size(0);
    const at::Tensor upstream = gradients[0].contiguous(), dy = at::empty_like(y);
    const float *from = y.const_data_ptr<float>(), *before = u.const_data_ptr<float>(),
                *above = upstream.const_data_ptr<float>();
    float* to = dy.mutable_data_ptr<float>();
    const DropoutKey dropout = LoadDropoutKey("hidden", &context->saved_data);
    const internal::MlpBackward mlp(p, dropout, y.size(1), type, /*makes_hidden=*/false);
    internal::MlpGradients sums(p, type);
    ForShards(tokens, [&](int64_t shard, int64_t begin, int64_t end) {
      if (begin == end) return;
      internal::MlpScratch scratch(hidden_width, /*makes_hidden=*/false);
      ForTiles(begin, end, [&](int64_t first, int64_t rows) {
        const float* gradient = above + first * width;
        if (!HasNonZero(gradient, rows, width, width))
          return ClearRows(rows, width, width, to + first * width);
        mlp.Rows(from + first * width, before + first * hidden_width, gradient, first, rows, shard,
                 &scratch, &sums, to + first * width);
      });
    });
    return {dy,
            sums.hidden.weight.Total(),
            sums.hidden.bias.Total(),
            sums.projection.weight.Total(),
            sums.projection.bias.Total(),
            at::Tensor()};
  }

 private:
  static void Save(AutogradContext* context, const at::Tensor& y, const at::Tensor& u,
                   const OutputMlpParameters& p, const DropoutKey& dropout, ProductType type) {
    context->save_for_backward(
        {y, u, p.hidden.weight, p.hidden.bias, p.projection.weight, p.projection.bias});
    context->saved_data["activation"] = static_cast<int64_t>(p.activation);
    context->saved_data["type"] = static_cast<int64_t>(type);
    SaveDropoutKey("hidden", dropout, &context->saved_data);
  }
};

}  // namespace

namespace internal {

at::Tensor MlpTiled(const at::Tensor& y, const OutputMlpParameters& p, const DropoutKey& dropout) {
  const int64_t width = y.size(2), hidden_width = p.hidden.weight.size(0);
  LRA_CHECK(p.hidden.weight.size(1) == width && p.projection.weight.size(0) == width &&
            p.projection.weight.size(1) == hidden_width);
  const MlpSettings settings = {p.activation, dropout, c10::GradMode::is_enabled()};
  return MlpFunction::apply(y.contiguous(), p.hidden.weight.contiguous(), IfDefined(p.hidden.bias),
                            p.projection.weight.contiguous(), IfDefined(p.projection.bias),
                            settings);
}

}  // namespace internal
}  // namespace lra
