#include "models/kernels/dilated_tiles.h"

#include <algorithm>

#include "models/kernels/gemm.h"
#include "models/kernels/rows.h"

namespace lra {
namespace {

// Calls body(row, source, count) for the runs of the tile's rows that read tokens in a row: rows
// row .. row + count - 1 of the tile read those from `source` on, counted in the example.
template <class Body>
void ForRuns(const ConvolutionTile& tile, int64_t offset, bool is_circular, Body body) {
  if (!is_circular) {
    const int64_t begin = std::max(tile.first, -offset);
    const int64_t end = std::min(tile.first + tile.reals, tile.length - offset);
    if (begin < end) body(begin - tile.first, begin + offset, end - begin);
    return;
  }
  for (int64_t row = 0; row < tile.reals;) {
    const int64_t rest = (tile.first + row + offset) % tile.length;
    const int64_t source = rest < 0 ? rest + tile.length : rest;
    const int64_t count = std::min(tile.reals - row, tile.length - source);
    body(row, source, count);
    row += count;
  }
}

// That of the first token of the tile's example.
int64_t FirstRow(const ConvolutionTile& tile) { return tile.row - tile.first; }

}  // namespace

ConvolutionTiles::ConvolutionTiles(const at::Tensor& x, const at::Tensor& lengths)
    : tokens_(x.size(1)),
      of_example_((tokens_ + kTileTokens - 1) / kTileTokens),
      lengths_(lengths.defined() ? lengths.const_data_ptr<int64_t>() : nullptr) {}

ConvolutionTile ConvolutionTiles::At(int64_t first_example, int64_t i) const {
  const int64_t example = i / of_example_, first = i % of_example_ * kTileTokens;
  const int64_t length = lengths_ == nullptr ? tokens_ : lengths_[first_example + example];
  const int64_t rows = std::min(kTileTokens, tokens_ - first);
  const int64_t reals = std::clamp<int64_t>(length - first, 0, rows);
  return {length, first, rows, reals, example * tokens_ + first};
}

void ConvolveTile(const ConvolutionShape& s, const ConvolutionTile& tile, const float* x,
                  const LinearMap& map, float* y) {
  std::fill_n(y, tile.rows * s.out, 0.0f);
  if (map.bias.defined()) FillRows(map.bias.const_data_ptr<float>(), tile.reals, s.out, y);
  const float* weight = map.weight.const_data_ptr<float>();
  const float* tokens = x + FirstRow(tile) * s.in;
  for (int64_t t = 0; t < s.taps.taps; ++t) {
    const MatrixView tap = {weight + t * s.in, s.taps.taps * s.in, true};
    ForRuns(tile, s.taps.Offset(t), s.taps.is_circular,
            [&](int64_t row, int64_t source, int64_t count) {
              Gemm(count, s.out, s.in, {tokens + source * s.in, s.in}, tap, 1.0f, y + row * s.out,
                   s.out, s.type);
            });
  }
}

// Token m gets what the tokens m - offset got of it.
void ConvolveBackTile(const ConvolutionShape& s, const ConvolutionTile& tile, const float* dy,
                      const LinearMap& map, float* dx) {
  std::fill_n(dx, tile.rows * s.in, 0.0f);
  const float* weight = map.weight.const_data_ptr<float>();
  const float* tokens = dy + FirstRow(tile) * s.out;
  for (int64_t t = 0; t < s.taps.taps; ++t) {
    const MatrixView tap = {weight + t * s.in, s.taps.taps * s.in};
    ForRuns(tile, -s.taps.Offset(t), s.taps.is_circular,
            [&](int64_t row, int64_t source, int64_t count) {
              Gemm(count, s.in, s.out, {tokens + source * s.out, s.out}, tap, 1.0f, dx + row * s.in,
                   s.in, s.type);
            });
  }
}

void AddConvolutionGradient(const ConvolutionShape& s, const ConvolutionTile& tile, const float* x,
                            const float* dy, int64_t shard, MapGradient* sums) {
  const float *gradient = dy + tile.row * s.out, *tokens = x + FirstRow(tile) * s.in;
  for (int64_t t = 0; t < s.taps.taps; ++t) {
    float* sum = sums->weight.At(shard) + t * s.in;
    ForRuns(tile, s.taps.Offset(t), s.taps.is_circular,
            [&](int64_t row, int64_t source, int64_t count) {
              Gemm(s.out, s.in, count, {gradient + row * s.out, s.out, true},
                   {tokens + source * s.in, s.in}, 1.0f, sum, s.taps.taps * s.in, s.type);
            });
  }
  if (sums->bias.defined()) AddColumnSums(gradient, tile.reals, s.out, sums->bias.At(shard));
}

}  // namespace lra
