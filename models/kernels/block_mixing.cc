#include "models/kernels/block_mixing.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/matmul.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <vector>

#include "lra/check.h"
#include "models/kernels/dispatch.h"
#include "models/kernels/floats.h"
#include "models/kernels/head_rows.h"
#include "models/kernels/lane_tiles.h"
#include "models/kernels/prefetch.h"
#include "models/kernels/tile_product.h"

namespace lra {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// So many floats of each block are mixed at a time: those of all blocks stay in the cache.
constexpr int64_t kMixedFloats = 256;

struct MixingShape {
  MixingShape(const at::Tensor& weights, const at::Tensor& x, int64_t block_tokens)
      : heads(x.size(1)),
        blocks(weights.size(2)),
        block(block_tokens),
        width(x.size(3)),
        tokens(std::clamp<int64_t>(kMixedFloats / width, 1, block)),
        lanes(RoundUp(tokens * width, 16)),
        columns(RoundUp(blocks, 16)) {}

  const int64_t heads, blocks, block, width;
  const int64_t tokens;   // of each block that are in work together
  const int64_t lanes;    // their floats
  const int64_t columns;  // blocks, in whole vectors
};

// The tokens of one head.
struct BlockRows {
  float* data = nullptr;
  int64_t stride = 0;
};

BlockRows RowsOf(const HeadRows& x, int64_t example, int64_t head) {
  return {x.At(example, head, 0), x.stride()};
}

// Mixes the blocks of one head; scratch of one thread.
class BlockMixer {
 public:
  explicit BlockMixer(const MixingShape& shape)
      : s_(shape),
        from_(shape.blocks * shape.lanes),
        to_(shape.blocks * shape.lanes),
        weights_(shape.blocks * shape.columns),
        sums_(shape.blocks * shape.columns),
        transposed_(shape.lanes * shape.columns),
        zeros_(shape.lanes) {
    std::fill_n(from_.get(), shape.blocks * shape.lanes, 0.0f);
    std::fill_n(to_.get(), shape.blocks * shape.lanes, 0.0f);
  }

  // y = weights x.
  void Forward(const float* weights, const BlockRows& x, const BlockRows& y) {
    LoadWeights(weights);
    for (int64_t first = 0; first < s_.block; first += s_.tokens) {
      const int64_t tokens = std::min(s_.tokens, s_.block - first);
      Load(x, first, tokens, from_.get());
      MultiplyTile({s_.blocks, s_.blocks, s_.lanes, weights_.get(), s_.columns, false, from_.get(),
                    s_.lanes, zeros_.data(), to_.get(), s_.lanes});
      Store(first, tokens, y);
    }
  }

  // dx = weights^T upstream + own, where own.data may be null, and
  // dweights [n, n] = sum over places and channels of upstream_n x_m.
  void Backward(const float* weights, const BlockRows& upstream, const BlockRows& own,
                const BlockRows& x, const BlockRows& dx, float* dweights) {
    LoadWeights(weights);
    std::fill_n(sums_.get(), s_.blocks * s_.columns, 0.0f);
    for (int64_t first = 0; first < s_.block; first += s_.tokens) {
      const int64_t tokens = std::min(s_.tokens, s_.block - first);
      Load(x, first, tokens, from_.get());
      PackLanes({s_.blocks, s_.columns, tokens * s_.width}, from_.get(), s_.lanes, nullptr, 1.0f,
                transposed_.get());
      Load(upstream, first, tokens, from_.get());
      MultiplyTile({s_.blocks, tokens * s_.width, s_.columns, from_.get(), s_.lanes, false,
                    transposed_.get(), s_.columns, nullptr, sums_.get(), s_.columns});
      if (own.data != nullptr) Load(own, first, tokens, to_.get());
      MultiplyTile({s_.blocks, s_.blocks, s_.lanes, weights_.get(), s_.columns, true, from_.get(),
                    s_.lanes, own.data == nullptr ? zeros_.data() : nullptr, to_.get(), s_.lanes});
      Store(first, tokens, dx);
    }
    for (int64_t n = 0; n < s_.blocks; ++n)
      std::copy_n(sums_.get() + n * s_.columns, s_.blocks, dweights + n * s_.blocks);
  }

 private:
  void LoadWeights(const float* weights) {
    std::fill_n(weights_.get(), s_.blocks * s_.columns, 0.0f);
    for (int64_t n = 0; n < s_.blocks; ++n)
      std::copy_n(weights + n * s_.blocks, s_.blocks, weights_.get() + n * s_.columns);
  }

  // to = so many tokens of each block. Those that are next are fetched.
  void Load(const BlockRows& x, int64_t first, int64_t tokens, float* to) const {
    for (int64_t m = 0; m < s_.blocks; ++m) {
      for (int64_t t = 0; t < tokens; ++t) {
        const float* row = x.data + (m * s_.block + first + t) * x.stride;
        PrefetchRow(row + s_.tokens * x.stride, s_.width);
        std::copy_n(row, s_.width, to + m * s_.lanes + t * s_.width);
      }
    }
  }

  // The same tokens of y = to_.
  void Store(int64_t first, int64_t tokens, const BlockRows& y) const {
    for (int64_t n = 0; n < s_.blocks; ++n) {
      for (int64_t t = 0; t < tokens; ++t) {
        std::copy_n(to_.get() + n * s_.lanes + t * s_.width, s_.width,
                    y.data + (n * s_.block + first + t) * y.stride);
      }
    }
  }

  const MixingShape& s_;
  Floats from_, to_;       // [block][lane]
  Floats weights_, sums_;  // [block][block]
  Floats transposed_;      // [lane][block]
  std::vector<float> zeros_;
};

// body(mixer, example, head, index) in parallel.
template <class Body>
void ForMixedHeads(const MixingShape& shape, const at::Tensor& x, Body body) {
  at::parallel_for(0, x.size(0) * shape.heads, 1, [&](int64_t begin, int64_t end) {
    BlockMixer mixer(shape);
    for (int64_t i = begin; i < end; ++i) body(&mixer, i / shape.heads, i % shape.heads, i);
  });
}

class MixBlocksFunction : public torch::autograd::Function<MixBlocksFunction> {
 public:
  // Returns x and the mixtures.
  static variable_list forward(AutogradContext* context, const at::Tensor& weights,
                               const at::Tensor& x, int64_t block_tokens) {
    const at::Tensor dense = weights.contiguous(), output = EmptyHeads(x, x.size(3));
    context->save_for_backward({dense, x});
    context->saved_data["block_tokens"] = block_tokens;
    context->set_materialize_grads(false);
    const MixingShape shape(dense, x, block_tokens);
    const HeadRows from(x), to(output);
    const float* all = dense.const_data_ptr<float>();
    ForMixedHeads(shape, x, [&](BlockMixer* mixer, int64_t example, int64_t head, int64_t i) {
      mixer->Forward(all + i * shape.blocks * shape.blocks, RowsOf(from, example, head),
                     RowsOf(to, example, head));
    });
    return {x, output};
  }

  static variable_list backward(AutogradContext* context, variable_list upstream) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &weights = saved[0], &x = saved[1], &own = upstream[0], &mixed = upstream[1];
    if (!mixed.defined()) return {at::Tensor(), own, at::Tensor()};
    const at::Tensor dx = EmptyHeads(x, x.size(3));
    const at::Tensor dweights = at::empty(weights.sizes(), weights.options().requires_grad(false));
    const MixingShape shape(weights, x, context->saved_data["block_tokens"].toInt());
    const HeadRows inputs(x), gradients(mixed), added(own.defined() ? own : mixed), to(dx);
    const float* all = weights.const_data_ptr<float>();
    float* all_gradients = dweights.mutable_data_ptr<float>();
    ForMixedHeads(shape, x, [&](BlockMixer* mixer, int64_t example, int64_t head, int64_t i) {
      const int64_t matrix = i * shape.blocks * shape.blocks;
      mixer->Backward(all + matrix, RowsOf(gradients, example, head),
                      own.defined() ? RowsOf(added, example, head) : BlockRows(),
                      RowsOf(inputs, example, head), RowsOf(to, example, head),
                      all_gradients + matrix);
    });
    return {dweights, dx, at::Tensor()};
  }
};

}  // namespace

namespace internal {

at::Tensor MixBlocksGeneric(const at::Tensor& weights, const at::Tensor& x, int64_t block_tokens) {
  const at::Tensor blocks = x.unflatten(2, {-1, block_tokens});
  return at::matmul(weights, blocks.flatten(3)).view(blocks.sizes()).flatten(2, 3);
}

}  // namespace internal

MixedBlocks MixBlocks(const at::Tensor& weights, const at::Tensor& x, int64_t block_tokens) {
  LRA_CHECK(x.dim() == 4 && weights.dim() == 4 && weights.size(2) == weights.size(3) &&
            weights.size(0) == x.size(0) && weights.size(1) == x.size(1) && block_tokens >= 1 &&
            weights.size(2) * block_tokens == x.size(2));
  if (DispatchKernel(KernelNeeds(), {x, weights}) == KernelPath::kGeneric)
    return {x, internal::MixBlocksGeneric(weights, x, block_tokens)};
  const variable_list both = MixBlocksFunction::apply(weights, x, block_tokens);
  return {both[0], both[1]};
}

}  // namespace lra
