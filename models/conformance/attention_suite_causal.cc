// Promises about the causal form: it does not see the future, and streaming is the same function.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <string>
#include <vector>

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
    for (const at::Tensor& t : {outcome.dq, outcome.dk, outcome.dv})
      leak = Worse(leak, future(t, 2).abs().max().item<double>());
    if (outcome.dx.defined()) leak = Worse(leak, future(outcome.dx, 1).abs().max().item<double>());
  }
  Add("T5", change, kUnchanged, "other later tokens change no earlier output");
  // The bound is not 0, because the rounding errors of a Fourier transform go everywhere.
  Add("T5", leak, kUnchanged, "no gradient from earlier outputs to later tokens");
}

void AttentionSuite::CausalFlag() {
  AttentionCase c(1201, 2, 2, 37, 37, 8), causal = c;
  causal.input.causal = true;
  const double change = MaxDifference(Attend(causal), Attend(c));
  if (has_both()) return AddVisible("T5", change, kVisible, "the causal form is another function");
  Add("T5", change, 0, "causal whether asked or not");
}

namespace {

// The case's tokens [first, first + tokens).
AttentionInput Piece(AttentionInput input, int64_t first, int64_t tokens) {
  for (at::Tensor* t : {&input.q, &input.k, &input.v}) *t = t->narrow(2, first, tokens);
  if (input.x.defined()) input.x = input.x.narrow(1, first, tokens);
  if (input.keep.defined()) input.keep = input.keep.narrow(1, first, tokens);
  return input;
}

// Texts that are read side by side, each with a state of its own: all are given the next piece
// before any gets another.
std::vector<at::Tensor> Stream(const Attention& attention,
                               const std::vector<AttentionInput>& inputs,
                               const std::vector<int64_t>& pieces) {
  std::vector<AttentionState> states;
  std::vector<std::vector<at::Tensor>> outputs(inputs.size());
  for (const AttentionInput& input : inputs)
    states.push_back(attention.InitState(input.q.size(0), input.q.options()));
  for (int64_t first = 0; const int64_t tokens : pieces) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      const AttentionInput piece = Piece(inputs[i], first, tokens);
      outputs[i].push_back(attention.Extend(piece, &states[i]));
      CheckOutput(attention, piece, outputs[i].back());
    }
    first += tokens;
  }
  std::vector<at::Tensor> whole;
  for (const std::vector<at::Tensor>& of_one : outputs) whole.push_back(at::cat(of_one, 2).cpu());
  return whole;
}

}  // namespace

void AttentionSuite::Streaming(at::ScalarType type, bool is_ragged) {
  constexpr int64_t kTokens = 83;
  std::vector<AttentionCase> cases;
  for (const uint32_t stream : {1300, 1310}) {
    AttentionCase& c = cases.emplace_back(stream, 2, 2, kTokens, kTokens, 8, type);
    c.input.causal = true;
    if (is_ragged) c.MaskRandomly(stream + 1);
  }
  const at::NoGradGuard no_grad;
  const Attention& attention = *InstanceOf(cases[0]).attention;
  const double bound = type == at::kFloat ? kFloat : kForward;
  const auto compare = [&](const std::vector<int64_t>& pieces, const std::string& what) {
    const std::vector<at::Tensor> streamed =
        Stream(attention, {InputOf(cases[0]), InputOf(cases[1])}, pieces);
    double worst = 0;
    for (size_t i = 0; i < cases.size(); ++i) {
      const at::Tensor whole = RealRows(Attend(cases[i]), cases[i]);
      worst = std::max(worst, RelativeDifference(RealRows(streamed[i], cases[i]), whole, 1.0));
    }
    Add("T6", worst, bound,
        absl::StrCat(what, is_ragged ? ", random mask, " : ", ", TypeName(type)));
  };
  compare(std::vector<int64_t>(kTokens, 1), "two texts token by token against all at once");
  compare({40, 1, 1, 23, 2, 16}, "two texts in pieces against all at once");
}

}  // namespace lra::internal
