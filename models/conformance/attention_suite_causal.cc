// Promises about the causal form: it does not see the future, and streaming is the same function.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>
#include <c10/core/GradMode.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "lra/random.h"
#include "models/conformance/attention_suite.h"
#include "models/interface/attend.h"

namespace lra::internal {

// The outputs up to a token `last` must stay when later tokens change, and their gradient must not
// reach later tokens.
void AttentionSuite::Future() {
  constexpr int64_t kTokens = 139;
  AttentionCase c(1200, 2, 2, kTokens, kTokens, 8);
  c.input.causal = true;
  c.MaskFromLengths({kTokens, 90});
  double change = 0, leak = 0;
  for (const int64_t last : {0, 5, 62, 63, 64, 127, 137}) {
    const auto future = [&](const at::Tensor& t, int64_t dim) {
      return t.narrow(dim, last + 1, kTokens - last - 1);
    };
    AttentionCase other = c;
    for (at::Tensor* t : {&other.input.q, &other.input.k, &other.input.v}) {
      *t = t->clone();
      future(*t, 2).mul_(-7).add_(3);
    }
    other.input.x = c.input.x.clone();
    future(other.input.x, 1).mul_(-7).add_(3);
    const at::Tensor past = RealRows(Attend(c), c).narrow(2, 0, last + 1);
    change = std::max(
        change, RelativeDifference(RealRows(Attend(other), c).narrow(2, 0, last + 1), past, 1.0));
    AttentionCase prefix = c;
    prefix.upstream = c.upstream.clone();
    future(prefix.upstream, 2).zero_();
    const AttentionOutcome outcome = Fast(prefix);
    for (const at::Tensor& t : {outcome.dq, outcome.dk, outcome.dv}) {
      leak = std::max(leak, future(t, 2).abs().max().item<double>());
    }
    if (outcome.dx.defined())
      leak = std::max(leak, future(outcome.dx, 1).abs().max().item<double>());
  }
  Add("T5", change, kUnchanged, "other later tokens change no earlier output");
  // The bound is not 0, because the rounding errors of a Fourier transform go everywhere.
  Add("T5", leak, kUnchanged, "no gradient from earlier outputs to later tokens");
}

void AttentionSuite::CausalFlag() {
  AttentionCase c(1201, 2, 2, 37, 37, 8), causal = c;
  causal.input.causal = true;
  const double change = MaxDifference(Attend(causal), Attend(c));
  if (has_both()) return AddVisible("T5", change, 1e-6, "the causal form is another function");
  Add("T5", change, 0, "causal whether asked or not");
}

void AttentionSuite::Streaming(at::ScalarType type, bool is_ragged) {
  constexpr int64_t kTokens = 83;
  AttentionCase c(1300, 2, 2, kTokens, kTokens, 8, type);
  c.input.causal = true;
  if (is_ragged) c.MaskRandomly(1301);
  const at::NoGradGuard no_grad;
  const at::Tensor whole = RealRows(Attend(c), c);
  const Attention& attention = *InstanceOf(c).attention;
  const AttentionInput input = InputOf(c);
  const auto stream = [&](const std::vector<int64_t>& pieces) {
    AttentionState state = attention.InitState(2, input.q.options());
    std::vector<at::Tensor> outputs;
    for (int64_t first = 0; const int64_t tokens : pieces) {
      AttentionInput piece = input;
      for (at::Tensor* t : {&piece.q, &piece.k, &piece.v}) *t = t->narrow(2, first, tokens);
      if (piece.x.defined()) piece.x = piece.x.narrow(1, first, tokens);
      if (piece.keep.defined()) piece.keep = piece.keep.narrow(1, first, tokens);
      outputs.push_back(attention.Extend(piece, &state));
      CheckOutput(attention, piece, outputs.back());
      first += tokens;
    }
    return RealRows(at::cat(outputs, 2).cpu(), c);
  };
  const double bound = type == at::kFloat ? kFloat : kForward;
  const std::string what = absl::StrCat(is_ragged ? ", random mask, " : ", ", TypeName(type));
  Add("T6", RelativeDifference(stream(std::vector<int64_t>(kTokens, 1)), whole, 1.0), bound,
      absl::StrCat("token by token against all at once", what));
  Add("T6", RelativeDifference(stream({40, 1, 1, 23, 2, 16}), whole, 1.0), bound,
      absl::StrCat("in pieces against all at once", what));
}

}  // namespace lra::internal
