#include "models/interface/checked.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>

#include <sstream>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lra/status_macros.h"
#include "models/base/torch_status.h"
#include "models/interface/attend.h"

namespace lra {
namespace {

template <class Value>
std::string Text(const Value& value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

absl::Status Wrong(absl::string_view field, absl::string_view value, absl::string_view right) {
  return absl::InvalidArgumentError(absl::StrCat(field, ": is ", value, ", must be ", right));
}

// Checks that the shape is `right`, where -1 allows any size.
absl::Status CheckShape(absl::string_view field, const at::Tensor& t,
                        const std::vector<int64_t>& right) {
  if (!t.defined())
    return Wrong(field, "not there", absl::StrCat("[", absl::StrJoin(right, ", "), "]"));
  bool fits = t.dim() == static_cast<int64_t>(right.size());
  for (size_t d = 0; fits && d < right.size(); ++d) fits = right[d] < 0 || t.size(d) == right[d];
  if (fits) return absl::OkStatus();
  return Wrong(field, Text(t.sizes()), absl::StrCat("[", absl::StrJoin(right, ", "), "]"));
}

absl::Status CheckLike(absl::string_view field, const at::Tensor& t, const at::Tensor& q) {
  if (t.scalar_type() != q.scalar_type())
    return Wrong(field, Text(t.scalar_type()),
                 absl::StrCat(Text(q.scalar_type()), ", the type of q"));
  if (t.device() != q.device())
    return Wrong(field, absl::StrCat("on ", t.device().str()),
                 absl::StrCat("on ", q.device().str(), ", the device of q"));
  return absl::OkStatus();
}

absl::Status CheckShapes(const Traits& traits, const AttentionContext& context,
                         const AttentionInput& in) {
  const int64_t heads = context.heads, width = context.head_width;
  LRA_RETURN_IF_ERROR(CheckShape("q", in.q, {-1, heads, -1, width}));
  if (!in.q.is_floating_point()) return Wrong("q", Text(in.q.scalar_type()), "of a float type");
  const int64_t batch = in.q.size(0), n = in.q.size(2);
  if (n == 0) return Wrong("q", Text(in.q.sizes()), "of one token at least");
  LRA_RETURN_IF_ERROR(CheckShape("k", in.k, {batch, heads, traits.supports_cross ? -1 : n, width}));
  if (in.k.size(2) == 0) return Wrong("k", Text(in.k.sizes()), "of one token at least");
  LRA_RETURN_IF_ERROR(CheckShape("v", in.v, {batch, heads, in.k.size(2), -1}));
  LRA_RETURN_IF_ERROR(CheckLike("k", in.k, in.q));
  LRA_RETURN_IF_ERROR(CheckLike("v", in.v, in.q));
  if (in.keep.defined()) {
    LRA_RETURN_IF_ERROR(CheckShape("keep", in.keep, {batch, in.k.size(2)}));
    if (in.keep.scalar_type() != at::kBool)
      return Wrong("keep", Text(in.keep.scalar_type()), "of type Bool");
    if (in.keep.device() != in.q.device())
      return Wrong("keep", absl::StrCat("on ", in.keep.device().str()),
                   absl::StrCat("on ", in.q.device().str(), ", the device of q"));
  }
  if (!traits.uses_layer_input) return absl::OkStatus();
  LRA_RETURN_IF_ERROR(CheckShape("x", in.x, {batch, n, context.model_width}));
  return CheckLike("x", in.x, in.q);
}

}  // namespace

absl::Status CheckInput(const Attention& attention, const AttentionContext& context,
                        const AttentionInput& input) {
  const Traits& traits = attention.traits();
  LRA_RETURN_IF_ERROR(CheckShapes(traits, context, input));
  const int64_t longest = std::max(input.q.size(2), input.k.size(2));
  if (traits.is_length_bound && longest > context.max_length_tokens) {
    return Wrong("tokens", absl::StrCat(longest),
                 absl::StrCat("at most ", context.max_length_tokens,
                              ", the longest sequence that this attention was made for"));
  }
  if (input.causal && traits.causality == Causality::kNever)
    return Wrong("causal", "true", absl::StrCat("false: this method has ", NoCausalForm(traits)));
  if (input.weight_dropout.active() && !traits.supports_weight_dropout)
    return Wrong("weight_dropout", absl::StrCat(input.weight_dropout.probability),
                 "0: this method has no explicit weights to drop");
  if (input.weight_dropout.active())
    LRA_RETURN_IF_ERROR(CheckShape("weight_dropout.example_ids", input.weight_dropout.example_ids,
                                   {input.q.size(0)}));
  if (input.inner_dropout.active() && !traits.supports_inner_dropout)
    return Wrong("inner_dropout", "active", "inactive: this method has no inner activation");
  return absl::OkStatus();
}

absl::StatusOr<at::Tensor> CheckedAttend(const Attention& attention,
                                         const AttentionContext& context,
                                         const AttentionInput& input) {
  LRA_RETURN_IF_ERROR(CheckInput(attention, context, input));
  at::Tensor output;
  LRA_RETURN_IF_ERROR(CatchTorch([&] {
    output = attention.Attend(input);
    CheckOutput(attention, input, output);
    return absl::OkStatus();
  }));
  return output;
}

}  // namespace lra
