#include "models/kernels/dilated_tiles.h"

#include <algorithm>
#include <vector>

#include "models/kernels/floats.h"
#include "models/kernels/gemm.h"
#include "models/kernels/rows.h"
#include "models/kernels/zero_rows.h"

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

// Some rows of `count` that a product reads.
class Selection {
 public:
  // Those where any[i] holds; all if `any` is null, and if leaving the others out saves less than
  // copying the rows together costs.
  Selection(const bool* any, int64_t count) : size_(count) {
    if (any == nullptr) return;
    const int64_t used = std::count(any, any + count, true);
    if (4 * used > 3 * count) return;
    size_ = used;
    rows_.reserve(used);
    for (int64_t i = 0; i < count; ++i)
      if (any[i]) rows_.push_back(i);
  }

  bool is_empty() const { return size_ == 0; }
  bool is_copied() const { return !rows_.empty(); }
  int64_t size() const { return size_; }

  // x [count, width] -> to [size, width]
  void Copy(const float* x, int64_t width, float* to) const {
    for (int64_t i = 0; i < size_; ++i) std::copy_n(x + rows_[i] * width, width, to + i * width);
  }
  // The way back; the other rows of x stay as they are.
  void PutBack(const float* from, int64_t width, float* x) const {
    for (int64_t i = 0; i < size_; ++i) std::copy_n(from + i * width, width, x + rows_[i] * width);
  }

 private:
  std::vector<int64_t> rows_;
  int64_t size_;
};

// `any` from a row on, or null.
const bool* From(const bool* any, int64_t row) { return any == nullptr ? nullptr : any + row; }

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

TapWeights ForwardTaps(const ConvolutionShape& s, const LinearMap& map) {
  const float* weight = map.weight.const_data_ptr<float>();
  TapWeights taps;
  for (int64_t t = 0; t < s.taps.taps; ++t) {
    taps.emplace_back(s.out, s.in, MatrixView{weight + t * s.in, s.taps.taps * s.in, true}, s.type);
  }
  return taps;
}

TapWeights BackwardTaps(const ConvolutionShape& s, const LinearMap& map) {
  const float* weight = map.weight.const_data_ptr<float>();
  TapWeights taps;
  for (int64_t t = 0; t < s.taps.taps; ++t)
    taps.emplace_back(s.in, s.out, MatrixView{weight + t * s.in, s.taps.taps * s.in}, s.type);
  return taps;
}

void ConvolveTile(const ConvolutionShape& s, const ConvolutionTile& tile, const float* x,
                  const TapWeights& taps, const at::Tensor& bias, float* y) {
  std::fill_n(y, tile.rows * s.out, 0.0f);
  if (bias.defined()) FillRows(bias.const_data_ptr<float>(), tile.reals, s.out, y);
  const float* tokens = x + FirstRow(tile) * s.in;
  for (int64_t t = 0; t < s.taps.taps; ++t) {
    ForRuns(tile, s.taps.Offset(t), s.taps.is_circular,
            [&](int64_t row, int64_t source, int64_t count) {
              Gemm(count, {tokens + source * s.in, s.in}, taps[t], nullptr, 1.0f, y + row * s.out,
                   s.out);
            });
  }
}

bool MarkRows(const float* dy, int64_t rows, int64_t width, bool* any) {
  bool is_any = false;
  for (int64_t i = 0; i < rows; ++i) {
    any[i] = HasNonZero(dy + i * width, 1, width, width);
    is_any |= any[i];
  }
  return is_any;
}

// Token m gets what the tokens m - offset got of it.
bool ConvolveBackTile(const ConvolutionShape& s, const ConvolutionTile& tile,
                      const OutputGradient& dy, const TapWeights& taps, float* dx) {
  std::fill_n(dx, tile.rows * s.in, 0.0f);
  bool is_any = false;
  const auto add = [&](int64_t rows, const float* gradient, const PackedMatrix& tap, float* to) {
    Gemm(rows, {gradient, s.out}, tap, nullptr, 1.0f, to, s.in);
  };
  for (int64_t t = 0; t < s.taps.taps; ++t) {
    ForRuns(tile, -s.taps.Offset(t), s.taps.is_circular,
            [&](int64_t row, int64_t source, int64_t count) {
              const int64_t from = FirstRow(tile) + source;
              const Selection used(From(dy.any, from), count);
              if (used.is_empty()) return;
              is_any = true;
              const float* const gradient = dy.rows + from * s.out;
              float* const to = dx + row * s.in;
              if (!used.is_copied()) return add(count, gradient, taps[t], to);
              const Floats some(used.size() * s.out), sums(used.size() * s.in);
              used.Copy(gradient, s.out, some.get());
              used.Copy(to, s.in, sums.get());
              add(used.size(), some.get(), taps[t], sums.get());
              used.PutBack(sums.get(), s.in, to);
            });
  }
  return is_any;
}

void AddConvolutionGradient(const ConvolutionShape& s, const ConvolutionTile& tile, const float* x,
                            const OutputGradient& dy, int64_t shard, MapGradient* sums) {
  const float *gradient = dy.rows + tile.row * s.out, *tokens = x + FirstRow(tile) * s.in;
  const auto add = [&](int64_t rows, const float* outputs, const float* read, float* sum) {
    Gemm(s.out, s.in, rows, {outputs, s.out, true}, {read, s.in}, 1.0f, sum, s.taps.taps * s.in,
         s.type);
  };
  for (int64_t t = 0; t < s.taps.taps; ++t) {
    float* sum = sums->weight.At(shard) + t * s.in;
    ForRuns(tile, s.taps.Offset(t), s.taps.is_circular,
            [&](int64_t row, int64_t source, int64_t count) {
              const Selection used(From(dy.any, tile.row + row), count);
              if (used.is_empty()) return;
              const float *outputs = gradient + row * s.out, *read = tokens + source * s.in;
              if (!used.is_copied()) return add(count, outputs, read, sum);
              const Floats some(used.size() * s.out), of(used.size() * s.in);
              used.Copy(outputs, s.out, some.get());
              used.Copy(read, s.in, of.get());
              add(used.size(), some.get(), of.get(), sum);
            });
  }
  if (sums->bias.defined()) AddColumnSums(gradient, tile.reals, s.out, sums->bias.At(shard));
}

}  // namespace lra
