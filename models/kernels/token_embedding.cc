#include "models/kernels/token_embedding.h"

#include <ATen/Parallel.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include "lra/check.h"
#include "models/kernels/dispatch.h"
#include "models/kernels/simd.h"
#include "models/kernels/token_tiles.h"

namespace lra {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr int64_t kChannelsOfLine = 16;           // in a line of the cache
constexpr int64_t kFewestSharedFloats = 1 << 15;  // below, threads cost more than they save

struct TokenGradients {
  const int32_t* ids;  // [tokens]
  const float* rows;   // [tokens, width]
  int64_t tokens, width, padding_id;
};

// What one thread adds up: some channels of the ids with id % turns == turn.
struct TableShare {
  int64_t first, channels, turn, turns;
};

// Shares a table of `width` channels out among threads. Each gets whole lines of channels, because
// tasks of bytes have too few ids, of which a few are in most places. Where there are more threads
// than lines, those with the same channels take the ids in turn.
class TableShares {
 public:
  TableShares(int64_t width, int64_t threads)
      : width_(width),
        lines_((width + kChannelsOfLine - 1) / kChannelsOfLine),
        slices_(std::min(threads, lines_)),
        turns_(threads / slices_) {}

  int64_t size() const { return slices_ * turns_; }
  TableShare At(int64_t i) const {
    const int64_t slice = i / turns_, first = First(slice);
    return {first, First(slice + 1) - first, i % turns_, turns_};
  }

 private:
  int64_t First(int64_t slice) const {
    return std::min(width_, lines_ * slice / slices_ * kChannelsOfLine);
  }

  const int64_t width_, lines_, slices_, turns_;
};

// Adds token by token: the order of each sum depends neither on the share nor on the path.
inline LRA_ALWAYS_INLINE void AddTokenGradientsBody(const TokenGradients& from,
                                                    const TableShare& share, float* table) {
  for (int64_t i = 0; i < from.tokens; ++i) {
    const int64_t id = from.ids[i];
    if (id == from.padding_id || (share.turns > 1 && id % share.turns != share.turn)) continue;
    const float* row = from.rows + i * from.width + share.first;
    float* sum = table + id * from.width + share.first;
    LRA_INDEPENDENT
    for (int64_t c = 0; c < share.channels; ++c) sum[c] += row[c];
  }
}
LRA_MULTIVERSION(AddTokenGradients,
                 (const TokenGradients& from, const TableShare& share, float* table),
                 (from, share, table))

// LibTorch's gradient shares out a thousand ids a thread, and adds each token's row in a call of
// its own.
class TokenEmbeddingFunction : public torch::autograd::Function<TokenEmbeddingFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& table,
                            const at::Tensor& ids, int64_t padding_id) {
    context->save_for_backward({ids});
    context->saved_data["rows"] = table.size(0);
    context->saved_data["padding_id"] = padding_id;
    return at::embedding(table, ids, padding_id);
  }

  static variable_list backward(AutogradContext* context, variable_list upstream) {
    const variable_list saved = context->get_saved_variables();
    return {internal::TableGradient(upstream[0], saved[0], context->saved_data["rows"].toInt(),
                                    context->saved_data["padding_id"].toInt()),
            at::Tensor(), at::Tensor()};
  }
};

}  // namespace

at::Tensor internal::TableGradient(const at::Tensor& upstream, const at::Tensor& ids, int64_t rows,
                                   int64_t padding_id) {
  const at::Tensor dense = upstream.contiguous(), numbers = ids.to(at::kInt).contiguous();
  const int64_t tokens = numbers.numel(), width = dense.size(-1);
  LRA_CHECK(width > 0 && dense.numel() == tokens * width);
  const at::Tensor table = at::zeros({rows, width}, dense.options());
  const TokenGradients from = {numbers.const_data_ptr<int32_t>(), dense.const_data_ptr<float>(),
                               tokens, width, padding_id};
  float* to = table.mutable_data_ptr<float>();
  const TableShares shares(width, dense.numel() < kFewestSharedFloats ? 1 : ShardCount());
  at::parallel_for(0, shares.size(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) AddTokenGradients(from, shares.At(i), to);
  });
  return table;
}

at::Tensor EmbedTokens(const at::Tensor& table, const at::Tensor& ids, int64_t padding_id) {
  const bool has_gradient = c10::GradMode::is_enabled() && table.requires_grad();
  if (!has_gradient || DispatchKernel(KernelNeeds(), {table}) == KernelPath::kGeneric)
    return at::embedding(table, ids, padding_id);
  return TokenEmbeddingFunction::apply(table, ids, padding_id);
}

}  // namespace lra
