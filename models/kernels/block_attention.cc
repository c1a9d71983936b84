#include "models/kernels/block_attention.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/softmax.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "lra/check.h"
#include "models/base/optional_tensor.h"
#include "models/kernels/dispatch.h"
#include "models/kernels/floats.h"
#include "models/kernels/gemm.h"
#include "models/kernels/head_rows.h"
#include "models/kernels/select_kept.h"
#include "models/kernels/softmax_attention.h"
#include "models/kernels/vector_math.h"

namespace lra {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr size_t kMostSets = 2;
constexpr float kHiddenLogit = -1e30f;

// Scores of a row -> weights; hidden ones 0, and all of a row that sees nothing. columns is a
// multiple of kLanesWidth.
inline LRA_ALWAYS_INLINE void WeightRowsBody(int64_t rows, int64_t columns, float scale, float* x) {
  for (int64_t r = 0; r < rows; ++r, x += columns) {
    Lanes best = LoadLanes(x);
    for (int64_t c = kLanesWidth; c < columns; c += kLanesWidth) {
      const Lanes other = LoadLanes(x + c);
      best = other > best ? other : best;
    }
    float most = best[0];
    for (int64_t i = 1; i < kLanesWidth; ++i) most = best[i] > most ? best[i] : most;
    Lanes sums = {};
    for (int64_t c = 0; c < columns; c += kLanesWidth) {
      for (int64_t i = c; i < c + kLanesWidth; ++i)
        x[i] = x[i] > kHiddenLogit / 2 ? ExpNonPositive(scale * (x[i] - most)) : 0.0f;
      sums += LoadLanes(x + c);
    }
    const float sum = SumLanes(sums), factor = sum > 0 ? 1.0f / sum : 0.0f;
    for (int64_t c = 0; c < columns; ++c) x[c] *= factor;
  }
}
LRA_MULTIVERSION(WeightRows, (int64_t rows, int64_t columns, float scale, float* x),
                 (rows, columns, scale, x))

// Gradients of weights -> of scores.
inline LRA_ALWAYS_INLINE void ScoreRowsBody(int64_t rows, int64_t columns, float scale,
                                            const float* weights, float* gradients) {
  for (int64_t r = 0; r < rows; ++r, weights += columns, gradients += columns) {
    const float mean = DotLanes(weights, gradients, columns);
    for (int64_t c = 0; c < columns; ++c) gradients[c] = scale * weights[c] * (gradients[c] - mean);
  }
}
LRA_MULTIVERSION(ScoreRows,
                 (int64_t rows, int64_t columns, float scale, const float* weights,
                  float* gradients),
                 (rows, columns, scale, weights, gradients))

struct Place {
  int64_t example, head, first, count;  // tokens
};

MatrixView View(const RowsView& rows, bool transposed = false) {
  return {rows.data, rows.stride, transposed};
}

// One set of keys.
struct KeySet {
  HeadRows k, v;
  KeepTable keep;
};

// Rows of keys or values with 0 for masked ones: in place where none is.
class SelectedRows {
 public:
  explicit SelectedRows(int64_t size) : copy_(size) {}

  RowsView Of(const HeadRows& x, const KeepTable& table, const Place& at, int64_t width) {
    const RowsView rows = x.Rows(at.example, at.head, at.first);
    const bool* keep = table.At(at.example, at.first);
    if (keep == nullptr || std::all_of(keep, keep + at.count, [](bool kept) { return kept; }))
      return rows;
    for (int64_t i = 0; i < at.count; ++i) {
      float* to = copy_.get() + i * width;
      if (keep[i]) std::copy_n(rows.data + i * rows.stride, width, to);
      if (!keep[i]) std::fill_n(to, width, 0.0f);
    }
    return {copy_.get(), width};
  }

 private:
  Floats copy_;
};

struct Problem {
  Problem(const at::Tensor& queries, const std::vector<BlockKeys>& keys, int64_t block_tokens,
          bool is_causal)
      : q(queries),
        batch(queries.size(0)),
        heads(queries.size(1)),
        tokens(queries.size(2)),
        width(queries.size(3)),
        value_width(keys[0].v.size(3)),
        block(std::min(block_tokens, tokens)),
        causal(is_causal),
        scale(static_cast<float>(1 / std::sqrt(static_cast<double>(width)))) {
    for (const BlockKeys& set : keys)
      sets.push_back({HeadRows(set.k), HeadRows(set.v), KeepTable(set.keep)});
  }

  // Columns of a block's weights: the sets of keys side by side, filled up to whole lanes.
  int64_t Columns(int64_t count) const {
    const int64_t keys = static_cast<int64_t>(sets.size()) * count;
    return (keys + kLanesWidth - 1) / kLanesWidth * kLanesWidth;
  }

  const HeadRows q;
  std::vector<KeySet> sets;
  const int64_t batch, heads, tokens, width, value_width, block;
  const bool causal;
  const float scale;
};

// One block at a time; scratch of one thread.
class Worker {
 public:
  explicit Worker(const Problem& p)
      : p_(p),
        weights_(p.block * p.Columns(p.block)),
        gradients_(p.block * p.Columns(p.block)),
        selected_(p.block * std::max(p.width, p.value_width)) {
    // What fills up the lanes is multiplied by weights of 0: it must be a number.
    std::fill_n(gradients_.get(), p.block * p.Columns(p.block), 0.0f);
  }

  void Forward(const Place& at, const HeadRows& output) {
    Weigh(at);
    const RowsView out = output.Rows(at.example, at.head, at.first);
    for (size_t s = 0; s < p_.sets.size(); ++s) {
      Gemm(at.count, p_.value_width, at.count, Part(weights_, at, s), View(Values(at, s)),
           s == 0 ? 0.0f : 1.0f, out.data, out.stride);
    }
  }

  void Backward(const Place& at, const HeadRows& upstream, const HeadRows& dq,
                const std::vector<KeySet>& dkeys) {
    const int64_t columns = p_.Columns(at.count), n = at.count;
    const RowsView rows = upstream.Rows(at.example, at.head, at.first);
    const RowsView q = p_.q.Rows(at.example, at.head, at.first);
    const RowsView to_q = dq.Rows(at.example, at.head, at.first);
    Weigh(at);
    for (size_t s = 0; s < p_.sets.size(); ++s) {
      const RowsView to_v = dkeys[s].v.Rows(at.example, at.head, at.first);
      Gemm(n, n, p_.value_width, View(rows), View(Values(at, s), true), 0.0f,
           gradients_.get() + s * n, columns);
      Gemm(n, p_.value_width, n, Part(weights_, at, s, true), View(rows), 0.0f, to_v.data,
           to_v.stride);
    }
    ScoreRows(n, columns, p_.scale, weights_.get(), gradients_.get());
    for (size_t s = 0; s < p_.sets.size(); ++s) {
      const RowsView to_k = dkeys[s].k.Rows(at.example, at.head, at.first);
      Gemm(n, p_.width, n, Part(gradients_, at, s), View(Keys(at, s)), s == 0 ? 0.0f : 1.0f,
           to_q.data, to_q.stride);
      Gemm(n, p_.width, n, Part(gradients_, at, s, true), View(q), 0.0f, to_k.data, to_k.stride);
    }
  }

 private:
  RowsView Keys(const Place& at, size_t s) {
    return selected_.Of(p_.sets[s].k, p_.sets[s].keep, at, p_.width);
  }
  RowsView Values(const Place& at, size_t s) {
    return selected_.Of(p_.sets[s].v, p_.sets[s].keep, at, p_.value_width);
  }
  MatrixView Part(const Floats& tile, const Place& at, size_t s, bool transposed = false) const {
    return {tile.get() + s * at.count, p_.Columns(at.count), transposed};
  }

  // weights_ = those of the block, [query][key].
  void Weigh(const Place& at) {
    const int64_t columns = p_.Columns(at.count);
    for (size_t s = 0; s < p_.sets.size(); ++s) {
      Gemm(at.count, at.count, p_.width, View(p_.q.Rows(at.example, at.head, at.first)),
           View(Keys(at, s), true), 0.0f, weights_.get() + s * at.count, columns);
      Hide(at, s);
    }
    const int64_t keys = static_cast<int64_t>(p_.sets.size()) * at.count;
    for (int64_t r = 0; r < at.count; ++r)
      std::fill(Row(at, r) + keys, Row(at, r) + columns, kHiddenLogit);
    WeightRows(at.count, columns, p_.scale, weights_.get());
  }

  float* Row(const Place& at, int64_t r) { return weights_.get() + r * p_.Columns(at.count); }

  void Hide(const Place& at, size_t s) {
    const bool* keep = p_.sets[s].keep.At(at.example, at.first);
    const bool hides_later = p_.causal && s == 0;
    for (int64_t r = 0; (keep != nullptr || hides_later) && r < at.count; ++r) {
      float* row = Row(at, r) + s * at.count;
      for (int64_t c = 0; keep != nullptr && c < at.count; ++c)
        row[c] = keep[c] ? row[c] : kHiddenLogit;
      if (hides_later) std::fill(row + r + 1, row + at.count, kHiddenLogit);
    }
  }

  const Problem& p_;
  Floats weights_, gradients_;  // [query][key]
  SelectedRows selected_;
};

// body(worker, place) for every block of every head, heads innermost: their rows are neighbours.
template <class Body>
void ForBlocks(const Problem& p, Body body) {
  const int64_t blocks = (p.tokens + p.block - 1) / p.block;
  at::parallel_for(0, p.batch * blocks * p.heads, 1, [&](int64_t begin, int64_t end) {
    Worker worker(p);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i / p.heads % blocks * p.block;
      body(&worker,
           Place{i / p.heads / blocks, i % p.heads, first, std::min(p.block, p.tokens - first)});
    }
  });
}

class BlockAttentionFunction : public torch::autograd::Function<BlockAttentionFunction> {
 public:
  // k2, v2, keep2: undefined where there is one set.
  static at::Tensor forward(AutogradContext* context, const at::Tensor& q, const at::Tensor& k,
                            const at::Tensor& v, const std::optional<at::Tensor>& k2,
                            const std::optional<at::Tensor>& v2,
                            const std::optional<at::Tensor>& keep,
                            const std::optional<at::Tensor>& keep2, int64_t block_tokens,
                            bool causal) {
    const at::Tensor none;
    context->save_for_backward({q, k, v, k2.value_or(none), v2.value_or(none)});
    auto& saved = context->saved_data;
    saved["keep"] = keep;
    saved["keep2"] = keep2;
    saved["block_tokens"] = block_tokens;
    saved["causal"] = causal;
    std::vector<BlockKeys> keys = {{k, v, keep.value_or(none)}};
    if (k2) keys.push_back({*k2, *v2, keep2.value_or(none)});
    const Problem p(q, keys, block_tokens, causal);
    const at::Tensor output = EmptyHeads(q, p.value_width);
    const HeadRows rows(output);
    ForBlocks(p, [&](Worker* worker, const Place& at) { worker->Forward(at, rows); });
    return output;
  }

  static variable_list backward(AutogradContext* context, variable_list upstream) {
    auto& saved = context->saved_data;
    const variable_list t = context->get_saved_variables();
    const auto keep = [&](const char* name) {
      return saved[name].toOptional<at::Tensor>().value_or(at::Tensor());
    };
    std::vector<BlockKeys> keys = {{t[1], t[2], keep("keep")}};
    if (t[3].defined()) keys.push_back({t[3], t[4], keep("keep2")});
    const Problem p(t[0], keys, saved["block_tokens"].toInt(), saved["causal"].toBool());
    const at::Tensor dq = EmptyHeads(t[0], p.width);
    variable_list gradients = {dq, {}, {}, {}, {}, {}, {}, {}, {}};
    std::vector<KeySet> sums;
    for (size_t s = 0; s < keys.size(); ++s) {
      gradients[1 + 2 * s] = EmptyHeads(t[0], p.width);
      gradients[2 + 2 * s] = EmptyHeads(t[0], p.value_width);
      sums.push_back({HeadRows(gradients[1 + 2 * s]), HeadRows(gradients[2 + 2 * s]),
                      KeepTable(at::Tensor())});
    }
    const HeadRows rows(upstream[0]), to_q(dq);
    ForBlocks(p, [&](Worker* worker, const Place& at) { worker->Backward(at, rows, to_q, sums); });
    return gradients;
  }
};

// Rows are the tokens of a block, whose weights are in one piece: they must fit into a cache.
constexpr KernelNeeds kBlockNeeds = {.most_rows = 256};

}  // namespace

namespace internal {

at::Tensor BlockAttentionGeneric(const at::Tensor& q, const std::vector<BlockKeys>& keys,
                                 int64_t block_tokens, bool causal) {
  const int64_t n = q.size(2), block = std::min(block_tokens, n),
                pads = (block - n % block) % block;
  const auto cut = [&](const at::Tensor& x) {  // [B, n / b, H, b, *]
    return at::constant_pad_nd(x, {0, 0, 0, pads}).unflatten(2, {-1, block}).transpose(1, 2);
  };
  const auto options = q.options().dtype(at::kBool).requires_grad(false);
  std::vector<at::Tensor> k, v, keep;
  for (const BlockKeys& set : keys) {
    k.push_back(cut(SelectKept(set.k, set.keep)));
    v.push_back(cut(SelectKept(set.v, set.keep)));
    const at::Tensor kept = set.keep.defined() ? set.keep : at::ones({q.size(0), n}, options);
    keep.push_back(at::constant_pad_nd(kept, {0, pads}).unflatten(1, {-1, block}));
  }
  const at::Tensor all_k = at::cat(k, 3), all_v = at::cat(v, 3), kept = at::cat(keep, 2);
  at::Tensor output;
  if (causal && keys.size() > 1) {
    at::Tensor masked = at::ones({block, all_k.size(3)}, options).triu(1);
    masked.slice(1, block).fill_(false);
    masked = kept.logical_not().unsqueeze(2).unsqueeze(2).logical_or(masked);
    const double scale = 1 / std::sqrt(static_cast<double>(q.size(3)));
    const at::Tensor scores =
        at::matmul(cut(q) * scale, all_k.mT()).masked_fill(masked, kHiddenLogit);
    output = at::matmul(at::softmax(scores, -1).masked_fill(masked, 0), all_v);
  } else {
    const auto fold = [](const at::Tensor& x) { return x.flatten(0, 1); };
    output =
        SoftmaxAttention(fold(cut(q)), fold(all_k), fold(all_v), fold(kept), DropoutKey(), causal)
            .unflatten(0, {q.size(0), -1});
  }
  return output.transpose(1, 2).flatten(2, 3).narrow(2, 0, n);
}

}  // namespace internal

at::Tensor BlockAttention(const at::Tensor& q, const std::vector<BlockKeys>& keys,
                          int64_t block_tokens, bool causal) {
  LRA_CHECK(q.dim() == 4 && block_tokens >= 1 && !keys.empty() && keys.size() <= kMostSets);
  for (const BlockKeys& set : keys) {
    LRA_CHECK(set.k.sizes() == q.sizes() && set.v.dim() == 4 && set.v.size(2) == q.size(2) &&
              set.v.size(3) == keys[0].v.size(3));
  }
  const BlockKeys second = keys.size() > 1 ? keys[1] : BlockKeys();
  const KernelPath path = DispatchKernel(kBlockNeeds, {q, keys[0].k, keys[0].v, second.k, second.v},
                                         std::min(block_tokens, q.size(2)));
  if (path == KernelPath::kGeneric)
    return internal::BlockAttentionGeneric(q, keys, block_tokens, causal);
  return BlockAttentionFunction::apply(q, keys[0].k, keys[0].v, IfDefined(second.k),
                                       IfDefined(second.v), IfDefined(keys[0].keep),
                                       IfDefined(second.keep), block_tokens, causal);
}

}  // namespace lra
