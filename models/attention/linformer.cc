// linformer: softmax attention over R learned mixtures of keys and values.
// Source: Wang et al. 2020 ("Linformer"), eq. 7; initial values as in google-research/
// long-range-arena. Not there: one projection for all layers ("layerwise sharing").
//   o_i = sum_r softmax_r(q_i . (E k)_r / sqrt(D)) (F v)_r,  E, F: R x longest sequence
// Padded keys and values count as 0 in the mixtures; every mixture stays admissible.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/softmax.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lra/status_macros.h"
#include "models/attention/linformer.pb.h"
#include "models/interface/attention.h"
#include "models/interface/options.h"
#include "models/kernels/select_kept.h"
#include "models/kernels/softmax_attention.h"
#include "models/kernels/token_projection.h"

namespace lra {
namespace {

constexpr int64_t kChosenRank = 128;  // where the option is 0

Traits MakeTraits() {
  Traits traits;
  traits.label = "Linformer";
  traits.summary = "softmax attention over learned mixtures of keys and values";
  traits.source = "Wang et al. 2020, eq. 7";
  traits.is_row_stochastic = false;         // the mixtures' weights have any sign and sum
  traits.is_permutation_invariant = false;  // each position has weights of its own
  traits.supports_cross = true;
  traits.is_length_bound = true;  // its maps have a column for each position
  traits.causality = Causality::kNever;
  traits.causal_reason = "every mixture of keys holds later tokens";
  traits.time_order = "N R D";
  traits.memory_order = "N D + R N";
  return traits;
}

class Linformer : public Attention {
 public:
  // [R, longest] or [H, R, longest].
  Linformer(at::Tensor key_map, at::Tensor value_map)
      : key_map_(std::move(key_map)), value_map_(std::move(value_map)) {}

  const Traits& traits() const override { return traits_; }

  at::Tensor Attend(const AttentionInput& input) const override {
    const at::Tensor k = ProjectTokens(Map(key_map_, input), SelectKept(input.k, input.keep)),
                     v = ProjectTokens(Map(value_map_, input), SelectKept(input.v, input.keep));
    return SoftmaxAttention(input.q, k, v, at::Tensor(), DropoutKey());
  }

  // Computes the N x Nk matrix of weights on the values.
  at::Tensor Oracle(const AttentionInput& input) const override {
    at::Tensor scores = at::matmul(input.q, input.k.transpose(-1, -2));  // [B, H, N, Nk]
    at::Tensor v = input.v, masked;
    if (input.keep.defined()) {
      masked = input.keep.logical_not();
      scores = scores.masked_fill(masked.view({masked.size(0), 1, 1, -1}), 0);
      v = v.masked_fill(masked.view({masked.size(0), 1, -1, 1}), 0);
    }
    const at::Tensor mixed = at::matmul(scores, Map(key_map_, input).transpose(-1, -2)) /
                             std::sqrt(static_cast<double>(input.q.size(3)));  // [B, H, N, R]
    return at::matmul(at::matmul(at::softmax(mixed, -1), Map(value_map_, input)), v);
  }

 private:
  // The columns of the tokens there are: [R, Nk] or [1, H, R, Nk], in the input's type.
  static at::Tensor Map(const at::Tensor& map, const AttentionInput& input) {
    const int64_t tokens = input.k.size(2);
    TORCH_CHECK(tokens <= map.size(-1), "linformer: ", tokens, " tokens exceed the ", map.size(-1),
                " that its projections are made for; set view.max_length_tokens to at least the "
                "longest sequence");
    const at::Tensor columns = map.narrow(-1, 0, tokens).to(input.k.options());
    return columns.dim() == 3 ? columns.unsqueeze(0) : columns;
  }

  const Traits traits_ = MakeTraits();
  const at::Tensor key_map_, value_map_;
};

absl::StatusOr<int64_t> Rank(const LinformerOptions& options, int64_t longest_tokens) {
  if (longest_tokens < 1)
    return absl::InvalidArgumentError("linformer needs the longest sequence's length");
  if (options.rank() == 0) return std::min(kChosenRank, longest_tokens);
  if (options.rank() <= longest_tokens) return options.rank();
  return absl::InvalidArgumentError(
      absl::StrCat("attention.options.rank: is ", options.rank(), ", must be at most ",
                   longest_tokens, ", the longest sequence (CLS included); 0 chooses"));
}

absl::StatusOr<std::unique_ptr<Attention>> MakeLinformer(const LinformerOptions& options,
                                                         const AttentionContext& context) {
  LRA_ASSIGN_OR_RETURN(const int64_t rank, Rank(options, context.max_length_tokens));
  std::vector<int64_t> shape = {rank, context.max_length_tokens};
  if (options.sharing() == LinformerOptions::NONE) shape.insert(shape.begin(), context.heads);
  const auto create = [&](const char* name) {
    return context.parameters->Create(absl::StrCat(context.scope, name), shape,
                                      Initializer::XavierUniform());
  };
  const at::Tensor key_map = create("key_projection");
  const bool has_own_values = options.sharing() == LinformerOptions::NONE ||
                              options.sharing() == LinformerOptions::HEADWISE;
  return std::make_unique<Linformer>(key_map,
                                     has_own_values ? create("value_projection") : key_map);
}

LRA_REGISTER_ATTENTION("linformer", LinformerOptions, MakeLinformer);

}  // namespace
}  // namespace lra
