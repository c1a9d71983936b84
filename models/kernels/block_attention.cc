#include "models/kernels/block_attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/softmax.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "lra/check.h"
#include "models/base/optional_tensor.h"
#include "models/kernels/dispatch.h"
#include "models/kernels/select_kept.h"
#include "models/kernels/softmax_attention.h"

namespace lra {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr size_t kMostSets = 2;
constexpr float kHiddenLogit = -1e30f;

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
    return internal::BlockAttentionForwardTiled(q, keys, block_tokens, causal);
  }

  static variable_list backward(AutogradContext* context, variable_list upstream) {
    auto& saved = context->saved_data;
    const variable_list t = context->get_saved_variables();
    const auto keep = [&](const char* name) {
      return saved[name].toOptional<at::Tensor>().value_or(at::Tensor());
    };
    std::vector<BlockKeys> keys = {{t[1], t[2], keep("keep")}};
    if (t[3].defined()) keys.push_back({t[3], t[4], keep("keep2")});
    variable_list gradients = internal::BlockAttentionBackwardTiled(
        upstream[0], t[0], keys, saved["block_tokens"].toInt(), saved["causal"].toBool());
    gradients.resize(9);
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
  LRA_CHECK(q.dim() == 4 && q.size(2) >= 1 && block_tokens >= 1 && !keys.empty() &&
            keys.size() <= kMostSets);
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
