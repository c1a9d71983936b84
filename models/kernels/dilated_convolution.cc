#include "models/kernels/dilated_convolution.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full.h>
#include <ATen/ops/gather.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <vector>

#include "lra/check.h"
#include "models/base/optional_tensor.h"
#include "models/kernels/dispatch.h"
#include "models/kernels/gemm.h"
#include "models/kernels/rows.h"

namespace lra {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr KernelNeeds kConvolutionNeeds = {.follows_autocast = true};

// Consecutive tokens of one example that stay in the cache.
struct Tile {
  int64_t example, length;     // of the example's sequence
  int64_t first, rows, reals;  // the first `reals` of the rows belong to the sequence
};

// Tiles begin at token 0 of every example, so that neither padding nor the batch changes a sum.
class Tiles {
 public:
  Tiles(const at::Tensor& x, const at::Tensor& lengths)
      : tokens_(x.size(1)),
        of_example_((tokens_ + kTileTokens - 1) / kTileTokens),
        count_(x.size(0) * of_example_),
        lengths_(lengths.defined() ? lengths.const_data_ptr<int64_t>() : nullptr) {}

  // Calls body(shard, tile) for all tiles, in parallel.
  template <class Body>
  void ForEach(Body body) const {
    ForShards(count_, [&](int64_t shard, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) body(shard, At(i));
    });
  }

 private:
  Tile At(int64_t i) const {
    const int64_t example = i / of_example_, first = i % of_example_ * kTileTokens;
    const int64_t length = lengths_ == nullptr ? tokens_ : lengths_[example];
    const int64_t rows = std::min(kTileTokens, tokens_ - first);
    return {example, length, first, rows, std::clamp<int64_t>(length - first, 0, rows)};
  }

  const int64_t tokens_, of_example_, count_;
  const int64_t* const lengths_;
};

// Calls body(row, source, count) for the runs of the tile's rows that read tokens in a row: rows
// row .. row + count - 1 of the tile read the tokens from `source` on.
template <class Body>
void ForRuns(const Tile& tile, int64_t offset, bool is_circular, Body body) {
  if (!is_circular) {
    const int64_t begin = std::max(tile.first, -offset);
    const int64_t end = std::min(tile.first + tile.reals, tile.length - offset);
    if (begin < end) body(begin - tile.first, begin + offset, end - begin);
    return;
  }
  for (int64_t row = 0; row < tile.reals;) {
    const int64_t beyond = (tile.first + row + offset) % tile.length;
    const int64_t source = beyond < 0 ? beyond + tile.length : beyond;
    const int64_t count = std::min(tile.reals - row, tile.length - source);
    body(row, source, count);
    row += count;
  }
}

// The matrices of one convolution.
struct Shape {
  int64_t tokens, in, out;
  DilatedTaps taps;
  ProductType type;

  int64_t RowOfMap() const { return taps.taps * in; }
};

// y [rows of the tile, out]; x [tokens, in] of its example.
void ConvolveTile(const Shape& s, const Tile& tile, const float* x, const LinearMap& map,
                  float* y) {
  std::fill_n(y, tile.rows * s.out, 0.0f);
  if (map.bias.defined()) FillRows(map.bias.const_data_ptr<float>(), tile.reals, s.out, y);
  const float* weight = map.weight.const_data_ptr<float>();
  for (int64_t t = 0; t < s.taps.taps; ++t) {
    ForRuns(tile, s.taps.Offset(t), s.taps.is_circular,
            [&](int64_t row, int64_t source, int64_t count) {
              Gemm(count, s.out, s.in, {x + source * s.in, s.in},
                   {weight + t * s.in, s.RowOfMap(), true}, 1.0f, y + row * s.out, s.out, s.type);
            });
  }
}

// dx [rows of the tile, in]: token m gets what the tokens m - offset got of it. dy [tokens, out] of
// the tile's example.
void ConvolveBackTile(const Shape& s, const Tile& tile, const float* dy, const LinearMap& map,
                      float* dx) {
  std::fill_n(dx, tile.rows * s.in, 0.0f);
  const float* weight = map.weight.const_data_ptr<float>();
  for (int64_t t = 0; t < s.taps.taps; ++t) {
    ForRuns(tile, -s.taps.Offset(t), s.taps.is_circular,
            [&](int64_t row, int64_t source, int64_t count) {
              Gemm(count, s.in, s.out, {dy + source * s.out, s.out},
                   {weight + t * s.in, s.RowOfMap()}, 1.0f, dx + row * s.in, s.in, s.type);
            });
  }
}

// Adds what the tile's outputs give to the gradients of the map; x and dy of its example.
void AddMapGradient(const Shape& s, const Tile& tile, const float* x, const float* dy,
                    int64_t shard, MapGradient* sums) {
  const float* gradient = dy + tile.first * s.out;
  for (int64_t t = 0; t < s.taps.taps; ++t) {
    ForRuns(tile, s.taps.Offset(t), s.taps.is_circular,
            [&](int64_t row, int64_t source, int64_t count) {
              Gemm(s.out, s.in, count, {gradient + row * s.out, s.out, true},
                   {x + source * s.in, s.in}, 1.0f, sums->weight.At(shard) + t * s.in, s.RowOfMap(),
                   s.type);
            });
  }
  if (sums->bias.defined()) AddColumnSums(gradient, tile.reals, s.out, sums->bias.At(shard));
}

class DilatedConvolutionFunction : public torch::autograd::Function<DilatedConvolutionFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const std::optional<at::Tensor>& bias,
                            const std::optional<at::Tensor>& lengths, DilatedTaps taps) {
    const LinearMap map = {weight, bias.value_or(at::Tensor())};
    const Shape s = {x.size(1), x.size(2), weight.size(0), taps, ActiveProductType()};
    const at::Tensor ends = lengths.value_or(at::Tensor());
    context->save_for_backward({x, weight, map.bias, ends});
    context->saved_data["taps"] = std::vector<int64_t>{
        taps.taps, taps.own, taps.dilation, taps.is_circular, static_cast<int64_t>(s.type)};
    const at::Tensor y = at::empty({x.size(0), s.tokens, s.out}, x.options());
    const float* from = x.const_data_ptr<float>();
    float* to = y.mutable_data_ptr<float>();
    Tiles(x, ends).ForEach([&](int64_t, const Tile& tile) {
      const int64_t start = tile.example * s.tokens;
      ConvolveTile(s, tile, from + start * s.in, map, to + (start + tile.first) * s.out);
    });
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list upstream) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& x = saved[0];
    const LinearMap map = {saved[1], saved[2]};
    const std::vector<int64_t> taps = context->saved_data["taps"].toIntVector();
    const Shape s = {x.size(1), x.size(2), map.weight.size(0),
                     {taps[0], taps[1], taps[2], taps[3] != 0},
                     static_cast<ProductType>(taps[4])};
    const at::Tensor dy = upstream[0].contiguous(), dx = at::empty_like(x);
    const float *from = x.const_data_ptr<float>(), *gradients = dy.const_data_ptr<float>();
    float* to = dx.mutable_data_ptr<float>();
    MapGradient sums(map, s.type);
    Tiles(x, saved[3]).ForEach([&](int64_t shard, const Tile& tile) {
      const int64_t start = tile.example * s.tokens;
      const float* gradient = gradients + start * s.out;
      AddMapGradient(s, tile, from + start * s.in, gradient, shard, &sums);
      ConvolveBackTile(s, tile, gradient, map, to + (start + tile.first) * s.in);
    });
    return {dx, sums.weight.Total(), sums.bias.Total(), at::Tensor(), at::Tensor()};
  }
};

}  // namespace

at::Tensor internal::DilatedConvolutionGeneric(const at::Tensor& x, const LinearMap& map,
                                               const at::Tensor& lengths, const DilatedTaps& taps) {
  const int64_t tokens = x.size(1);
  const at::TensorOptions whole = x.options().dtype(at::kLong).requires_grad(false);
  const at::Tensor ends =
      (lengths.defined() ? lengths : at::full({1}, tokens, whole)).unsqueeze(1);  // [B or 1, 1]
  const at::Tensor places = at::arange(tokens, whole);
  const at::Tensor nothing = at::zeros({}, x.options().requires_grad(false));
  std::vector<at::Tensor> read;
  for (int64_t t = 0; t < taps.taps; ++t) {
    const at::Tensor sought = (places + taps.Offset(t)).unsqueeze(0);  // [1, N]
    const at::Tensor source = taps.is_circular ? sought.remainder(ends.clamp_min(1))
                                               : sought.expand({ends.size(0), tokens});
    const at::Tensor there = source.ge(0).logical_and(source.lt(ends)).unsqueeze(2);
    const at::Tensor rows = source.clamp(0, tokens - 1).unsqueeze(2).expand_as(x);
    read.push_back(at::where(there, at::gather(x, 1, rows), nothing));
  }
  const at::Tensor y = ApplyLinear(at::cat(read, 2), map);
  return lengths.defined() ? at::where(places.lt(ends).unsqueeze(2), y, nothing.to(y.options()))
                           : y;
}

at::Tensor DilatedConvolution(const at::Tensor& x, const LinearMap& map, const at::Tensor& lengths,
                              const DilatedTaps& taps) {
  LRA_CHECK(x.dim() == 3 && map.weight.dim() == 2 &&
            map.weight.size(1) == taps.taps * x.size(2) && taps.own >= 0 &&
            taps.own < taps.taps && taps.dilation >= 1);
  if (DispatchKernel(kConvolutionNeeds, {x, map.weight, map.bias}) == KernelPath::kGeneric)
    return internal::DilatedConvolutionGeneric(x, map, lengths, taps);
  return DilatedConvolutionFunction::apply(x.contiguous(), map.weight.contiguous(),
                                           IfDefined(map.bias), IfDefined(lengths), taps);
}

}  // namespace lra
