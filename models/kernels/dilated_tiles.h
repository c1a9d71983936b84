// The convolutions of models/kernels/dilated_convolution.h on tiles of tokens: dense float32 on the
// CPU. Tiles begin at token 0 of every example, so that neither padding nor the batch changes a
// sum.
#ifndef LRA_MODELS_KERNELS_DILATED_TILES_H_
#define LRA_MODELS_KERNELS_DILATED_TILES_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "models/base/product_type.h"
#include "models/kernels/dilated_convolution.h"
#include "models/kernels/gemm.h"
#include "models/kernels/linear_map.h"
#include "models/kernels/token_tiles.h"

namespace lra {

// Consecutive tokens of one example.
struct ConvolutionTile {
  int64_t length;              // of the example's sequence
  int64_t first, rows, reals;  // the first `reals` of the rows belong to the sequence
  int64_t row;                 // its first token, counted from the first example that was asked for
};

class ConvolutionTiles {
 public:
  // x [B, N, *]; lengths [B] int64 or undefined (all N).
  ConvolutionTiles(const at::Tensor& x, const at::Tensor& lengths);

  // Calls body(shard, tile) for all tiles of some examples, in parallel.
  template <class Body>
  void ForEach(int64_t first_example, int64_t examples, Body body) const {
    ForShards(examples * of_example_, [&](int64_t shard, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) body(shard, At(first_example, i));
    });
  }

  // Calls body(tile) for the tiles of one example, in order, on this thread.
  template <class Body>
  void ForOne(int64_t example, Body body) const {
    for (int64_t i = 0; i < of_example_; ++i) body(At(example, i));
  }

 private:
  ConvolutionTile At(int64_t first_example, int64_t i) const;

  const int64_t tokens_, of_example_;
  const int64_t* const lengths_;
};

struct ConvolutionShape {
  int64_t tokens, in, out;
  DilatedTaps taps;
  ProductType type;
};

// The weights [out, taps in] of a map, laid out tap by tap for the products of many tiles: [in,
// out] for outputs, [out, in] for gradients.
using TapWeights = std::vector<PackedMatrix>;
TapWeights ForwardTaps(const ConvolutionShape& shape, const LinearMap& map);
TapWeights BackwardTaps(const ConvolutionShape& shape, const LinearMap& map);

// The gradient dy [.., out] of outputs, and which of its rows hold anything but zeros: below a
// pooling that reads one token, or the largest value of each channel, few do. Null: not known.
struct OutputGradient {
  const float* rows;
  const bool* any = nullptr;
};

// any[i] becomes whether row i of dy [rows, width] holds anything but zeros; false: none does.
bool MarkRows(const float* dy, int64_t rows, int64_t width, bool* any);

// In the next three, x [.., in] and dy [.., out] begin with the first example that was asked for.
// y [rows of the tile, out]; rows beyond the sequence become 0. `taps` are the map's ForwardTaps().
void ConvolveTile(const ConvolutionShape& shape, const ConvolutionTile& tile, const float* x,
                  const TapWeights& taps, const at::Tensor& bias, float* y);
// dx [rows of the tile, in]: what the example's outputs give back to the tokens of the tile; false:
// zeros, since no row that they read holds anything else. `taps` are the map's BackwardTaps().
bool ConvolveBackTile(const ConvolutionShape& shape, const ConvolutionTile& tile,
                      const OutputGradient& dy, const TapWeights& taps, float* dx);
// Adds what the tile's outputs give to the gradients of the map.
void AddConvolutionGradient(const ConvolutionShape& shape, const ConvolutionTile& tile,
                            const float* x, const OutputGradient& dy, int64_t shard,
                            MapGradient* sums);

}  // namespace lra

#endif  // LRA_MODELS_KERNELS_DILATED_TILES_H_
