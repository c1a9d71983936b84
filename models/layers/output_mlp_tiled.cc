// The tiled form of output projection, residual, LN, MLP and residual, for float32 on the CPU. A
// tile of tokens goes through the whole piece while it is in the cache. Only what the backward
// cannot cheaply compute again is stored (h, and of wide models the MLP's pre-activation); masks
// are drawn again. The backward leaves out tiles without a gradient.
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <optional>
#include <utility>

#include "models/base/optional_tensor.h"
#include "models/kernels/floats.h"
#include "models/kernels/saved_dropout_key.h"
#include "models/kernels/token_tiles.h"
#include "models/kernels/zero_rows.h"
#include "models/layers/layer_pieces.h"
#include "models/layers/mlp_tile.h"
#include "models/layers/norm_tile.h"

namespace lra {
namespace {

using internal::Data;
using internal::MlpBackward;
using internal::MlpForward;
using internal::MlpGradients;
using internal::MlpScratch;
using internal::NormTile;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using OptionalTensor = std::optional<at::Tensor>;

struct OutputMlpTensors {
  at::Tensor attended, residual;  // [B, N, H D], [B, N, E]
  OutputMlpParameters parameters;
  OutputMlpDropout dropout;
  ProductType type = ActiveProductType();
};

// The pre-activation is the largest tensor of a layer. Of narrow models it is made again in the
// backward, which costs 2 E operations a number: with AVX-512 about what writing and reading it
// would, with AVX2 some percent of a step more.
bool IsHiddenStored(int64_t width) { return width > 128; }

// Scratch memory for the loops over tiles.
struct OutputMlpScratch {
  OutputMlpScratch(int64_t width, int64_t hidden_width, bool makes_hidden)
      : norm(width), mlp(hidden_width, makes_hidden), narrow(kTileTokens * width) {}
  NormTile norm;
  MlpScratch mlp;
  Floats narrow;
};

// What forward and backward share.
struct OutputMlpShared {
  const OutputMlpTensors& in;
  const DropoutRows attention_mask, mlp_mask;
  const int64_t width, hidden_width;

  explicit OutputMlpShared(const OutputMlpTensors& in)
      : in(in),
        attention_mask(in.dropout.attention_output, in.residual.size(1)),
        mlp_mask(in.dropout.mlp_output, in.residual.size(1)),
        width(in.residual.size(2)),
        hidden_width(in.parameters.hidden.weight.size(0)) {}
};

// The output map can be missing.
template <class Map>
std::optional<Map> IfAny(const LinearMap& map, ProductType type) {
  return map.weight.defined() ? std::optional<Map>(std::in_place, map, type) : std::nullopt;
}

// The forward of one tile: writes h [rows, E], the pre-activation u [rows, M] and the output.
struct OutputMlpForward : OutputMlpShared {
  const std::optional<ForwardMap> output;
  const MlpForward mlp;

  explicit OutputMlpForward(const OutputMlpTensors& in)
      : OutputMlpShared(in),
        output(IfAny<ForwardMap>(in.parameters.output, in.type)),
        mlp(in.parameters, in.dropout.hidden, in.residual.size(1), in.type) {}

  void Tile(int64_t first, int64_t rows, OutputMlpScratch* scratch, float* h, float* u,
            float* out) const {
    float* narrow = scratch->narrow.get();
    const float* attended = Data(in.attended) + first * in.attended.size(2);
    if (output) output->Rows(attended, rows, narrow);
    ApplyDropoutRows(attention_mask, first, rows, width, output ? narrow : attended,
                     Data(in.residual) + first * width, h);
    scratch->norm.Forward(h, rows, in.parameters.norm);
    mlp.Rows(scratch->norm.y.get(), first, rows, scratch->mlp.activation.get(), u, narrow);
    ApplyDropoutRows(mlp_mask, first, rows, width, narrow, h, out);
  }
};

struct OutputMlpGradients {
  OutputMlpGradients(const OutputMlpParameters& p, ProductType type)
      : output(p.output, type), mlp(p, type), norm_weight(p.norm.weight), norm_bias(p.norm.bias) {}
  MapGradient output;
  MlpGradients mlp;
  ShardedGradient norm_weight, norm_bias;
};

struct OutputMlpBackward : OutputMlpShared {
  const std::optional<BackwardMap> output;
  const MlpBackward mlp;

  OutputMlpBackward(const OutputMlpTensors& in, bool makes_hidden)
      : OutputMlpShared(in),
        output(IfAny<BackwardMap>(in.parameters.output, in.type)),
        mlp(in.parameters, in.dropout.hidden, in.residual.size(1), in.type, makes_hidden) {}
};

// The backward of one tile from the stored h, and u unless it is made again (null): the gradients
// of attended and residual, and sums for the parameters. A tile without a gradient adds nothing to
// these, and gives zeros.
void OutputMlpBackwardTile(const OutputMlpBackward& f, const float* h, const float* u,
                           const float* gradient, int64_t first, int64_t rows, int64_t shard,
                           OutputMlpScratch* scratch, OutputMlpGradients* sums, float* d_attended,
                           float* d_residual) {
  const OutputMlpParameters& p = f.in.parameters;
  const int64_t joined_width = f.in.attended.size(2);
  if (!HasNonZero(gradient, rows, f.width, f.width)) {
    ClearRows(rows, f.width, f.width, d_residual);
    return ClearRows(rows, joined_width, joined_width, d_attended);
  }
  float* narrow = scratch->narrow.get();
  scratch->norm.Forward(h, rows, p.norm);
  ApplyDropoutRows(f.mlp_mask, first, rows, f.width, gradient, nullptr, narrow);
  f.mlp.Rows(scratch->norm.y.get(), u, narrow, first, rows, shard, &scratch->mlp, &sums->mlp,
             narrow);
  scratch->norm.Backward(h, narrow, rows, p.norm, gradient, shard, &sums->norm_weight,
                         &sums->norm_bias, d_residual);
  if (!f.output) {
    ApplyDropoutRows(f.attention_mask, first, rows, f.width, d_residual, nullptr, d_attended);
    return;
  }
  ApplyDropoutRows(f.attention_mask, first, rows, f.width, d_residual, nullptr, narrow);
  sums->output.Add(Data(f.in.attended) + first * joined_width, narrow, rows, p.output, shard);
  f.output->Rows(narrow, rows, 0.0f, d_attended);
}

class OutputMlpFunction : public torch::autograd::Function<OutputMlpFunction> {
 public:
  // Tensors are passed one by one, because autograd must see them; `rest` brings the dropout keys,
  // epsilon and activation.
  static at::Tensor forward(AutogradContext* context, const at::Tensor& attended,
                            const at::Tensor& residual, const OptionalTensor& wo,
                            const OptionalTensor& bo, const at::Tensor& norm_weight,
                            const at::Tensor& norm_bias, const at::Tensor& w1, const at::Tensor& b1,
                            const at::Tensor& w2, const at::Tensor& b2,
                            const OutputMlpTensors& rest, bool needs_gradient) {
    const OutputMlpForward forward(rest);
    const int64_t width = forward.width, hidden_width = forward.hidden_width;
    const int64_t tokens = residual.size(0) * residual.size(1);
    at::Tensor out = at::empty_like(residual), h, u;
    float *to = out.mutable_data_ptr<float>(), *all_h = nullptr, *all_u = nullptr;
    if (needs_gradient) {
      h = at::empty_like(residual);
      all_h = h.mutable_data_ptr<float>();
    }
    if (needs_gradient && IsHiddenStored(width)) {
      u = at::empty({tokens, hidden_width}, residual.options());
      all_u = u.mutable_data_ptr<float>();
    }
    ForShards(tokens, [&](int64_t, int64_t begin, int64_t end) {
      OutputMlpScratch scratch(width, hidden_width, /*makes_hidden=*/all_u == nullptr);
      const Floats tile_h(needs_gradient ? 0 : kTileTokens * width);
      ForTiles(begin, end, [&](int64_t first, int64_t rows) {
        forward.Tile(first, rows, &scratch, all_h ? all_h + first * width : tile_h.get(),
                     all_u ? all_u + first * hidden_width : scratch.mlp.again.get(),
                     to + first * width);
      });
    });
    if (needs_gradient) Save(context, rest, h, u);
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list s = context->get_saved_variables();
    const OutputMlpTensors in = Load(context, s);
    const OutputMlpBackward backward(in, /*makes_hidden=*/!s[10].defined());
    const int64_t width = backward.width, hidden_width = backward.hidden_width,
                  joined_width = in.attended.size(2);
    const at::Tensor gradient = gradients[0].contiguous();
    at::Tensor d_attended = at::empty_like(in.attended), d_residual = at::empty_like(gradient);
    const float *h = Data(s[9]), *upstream = Data(gradient),
                *all_u = s[10].defined() ? Data(s[10]) : nullptr;
    float *to_attended = d_attended.mutable_data_ptr<float>(),
          *to_residual = d_residual.mutable_data_ptr<float>();
    OutputMlpGradients sums(in.parameters, in.type);
    ForShards(gradient.size(0) * gradient.size(1), [&](int64_t shard, int64_t begin, int64_t end) {
      OutputMlpScratch scratch(width, hidden_width, /*makes_hidden=*/all_u == nullptr);
      ForTiles(begin, end, [&](int64_t first, int64_t rows) {
        OutputMlpBackwardTile(backward, h + first * width,
                              all_u ? all_u + first * hidden_width : nullptr,
                              upstream + first * width, first, rows, shard, &scratch, &sums,
                              to_attended + first * joined_width, to_residual + first * width);
      });
    });
    return {d_attended,
            d_residual,
            sums.output.weight.Total(),
            sums.output.bias.Total(),
            sums.norm_weight.Total(),
            sums.norm_bias.Total(),
            sums.mlp.hidden.weight.Total(),
            sums.mlp.hidden.bias.Total(),
            sums.mlp.projection.weight.Total(),
            sums.mlp.projection.bias.Total(),
            at::Tensor(),
            at::Tensor()};
  }

 private:
  static void Save(AutogradContext* context, const OutputMlpTensors& in, const at::Tensor& h,
                   const at::Tensor& u) {
    const OutputMlpParameters& p = in.parameters;
    context->save_for_backward({in.attended, p.output.weight, p.output.bias, p.norm.weight,
                                p.norm.bias, p.hidden.weight, p.hidden.bias, p.projection.weight,
                                p.projection.bias, h, u});
    context->saved_data["epsilon"] = p.norm.epsilon;
    context->saved_data["type"] = static_cast<int64_t>(in.type);
    context->saved_data["activation"] = static_cast<int64_t>(p.activation);
    SaveDropoutKey("attention_output", in.dropout.attention_output, &context->saved_data);
    SaveDropoutKey("hidden", in.dropout.hidden, &context->saved_data);
    SaveDropoutKey("mlp_output", in.dropout.mlp_output, &context->saved_data);
  }

  static OutputMlpTensors Load(AutogradContext* context, const variable_list& s) {
    OutputMlpTensors in;
    in.type = static_cast<ProductType>(context->saved_data["type"].toInt());
    in.attended = s[0];
    in.residual = s[9];  // this is h; only its shape is read
    in.parameters.output = {s[1], s[2]};
    in.parameters.norm = {s[3], s[4], context->saved_data["epsilon"].toDouble()};
    in.parameters.hidden = {s[5], s[6]};
    in.parameters.projection = {s[7], s[8]};
    in.parameters.activation =
        static_cast<ActivationKind>(context->saved_data["activation"].toInt());
    in.dropout = {LoadDropoutKey("attention_output", &context->saved_data),
                  LoadDropoutKey("hidden", &context->saved_data),
                  LoadDropoutKey("mlp_output", &context->saved_data)};
    return in;
  }
};

}  // namespace

namespace internal {

at::Tensor OutputMlpTiled(const at::Tensor& attended, const at::Tensor& residual,
                          const OutputMlpParameters& p, const OutputMlpDropout& dropout) {
  OutputMlpTensors in;
  in.attended =
      attended.transpose(1, 2).reshape({residual.size(0), residual.size(1), -1}).contiguous();
  in.residual = residual.contiguous();
  in.parameters = p;
  in.dropout = dropout;
  return OutputMlpFunction::apply(in.attended, in.residual, IfDefined(p.output.weight),
                                  IfDefined(p.output.bias), p.norm.weight, p.norm.bias,
                                  p.hidden.weight, p.hidden.bias, p.projection.weight,
                                  p.projection.bias, in, c10::GradMode::is_enabled());
}

}  // namespace internal
}  // namespace lra
