// Declared traits against observed ones.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/triu.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "lra/random.h"
#include "models/attention_weights.h"
#include "models/conformance/attention_suite.h"

namespace lra::internal {

// Weights that are >= 0 and sum to 1 whatever lies between the kept keys: constant values come out
// constant, and nothing leaves the range of the values.
void AttentionSuite::WithinValues(AttentionCase c, const std::string& where) {
  // With positive q and k, no feature map leaves a row without weight.
  c.input.q = c.input.q.abs() + 0.1;
  c.input.k = c.input.k.abs() + 0.1;
  const at::Tensor v = c.input.v;
  c.input.v = at::ones_like(v);
  const at::Tensor constant = Attend(c);
  Add("T7", MaxDifference(RealRows(constant, c), RealRows(at::ones_like(constant), c)), 1e-5,
      absl::StrCat("constant values, ", where));
  c.input.v = v;
  const at::Tensor output = RealRows(Attend(c), c);
  const at::Tensor hidden =
      c.input.keep.defined() ? c.input.keep.logical_not() : at::zeros({1, v.size(2)}, at::kBool);
  const at::Tensor kept = v.masked_fill(hidden.view({-1, 1, v.size(2), 1}), 0);
  const double outside = std::max((output - kept.amax(2, true)).max().item<double>(),
                                  (kept.amin(2, true) - output).max().item<double>());
  Add("T7", outside, 1e-9,
      absl::StrCat("outputs lie between the smallest and the largest value, ", where));
}

void AttentionSuite::RowStochastic(bool causal) {
  AttentionCase padded(700, 2, 2, 19, 19, 6), holes(701, 2, 2, 67, 67, 6);
  padded.input.causal = holes.input.causal = causal;
  const char* form = causal ? ", causal" : "";
  padded.MaskFromLengths({19, 8});
  WithinValues(padded, absl::StrCat("padding", form));
  holes.MaskRandomly(702);
  WithinValues(holes, absl::StrCat("a random third masked", form));
  if (traits().supports_cross && !causal) {
    WithinValues({703, 2, 2, 41, 5, 6}, "41 queries, 5 keys");
    AttentionCase late(704, 2, 2, 19, 41, 6);
    late.MaskFromLengths({41, 8});
    WithinValues(late, "19 queries, 41 keys, 33 of them padding");
  }
  // On a device causal random features are 0 / 0 here (CausalStableFeatures()).
  if (causal && setting_.device != at::kCPU) return;
  // These logits are far beyond what float32 can exponentiate, yet nothing may overflow or vanish.
  constexpr double kLarge = 12;
  AttentionCase large = padded;
  large.input.q = ((padded.input.q.abs() + 0.1) * kLarge).to(at::kFloat);
  large.input.k = ((padded.input.k.abs() + 0.1) * kLarge).to(at::kFloat);
  large.input.v = at::ones_like(padded.input.v).to(at::kFloat);
  large.input.x = padded.input.x.to(at::kFloat);
  const at::Tensor sums = Attend(large);
  Add("T7", MaxDifference(RealRows(sums, large), RealRows(at::ones_like(sums), large)), kFloat,
      absl::StrCat("constant values, large queries and keys, float32", form));
}

void AttentionSuite::Permutation() {
  double change = 0;
  // The longer case is for methods whose blocks are longer than the shorter case.
  for (const int64_t tokens : {int64_t{17}, kSuiteTokens}) {
    AttentionCase c(800, 2, 2, tokens, tokens, 6);
    c.MaskRandomly(801);
    AttentionCase shuffled = c;
    const at::Tensor order = at::tensor(
        lra::Permutation(tokens, RandomStream(1, RandomDomain::kTest, {802, 0, 0})), at::kLong);
    shuffled.input.k = c.input.k.index_select(2, order);
    shuffled.input.v = c.input.v.index_select(2, order);
    shuffled.input.keep = c.input.keep.index_select(1, order);
    // Where the query is also the key, all three are permuted together, and the outputs are
    // compared in the permuted order.
    const bool is_shared = traits().projections != Projections::kQueryKeyValue;
    if (is_shared) shuffled.input.q = c.input.q.index_select(2, order);
    const at::NoGradGuard no_grad;
    at::Tensor expected = Attend(c), actual = Attend(shuffled);
    if (is_shared) {
      expected = RealRows(expected, c).index_select(2, order);
      actual = RealRows(actual, shuffled);
    }
    change = MaxDifference(actual, expected);
    if (traits().is_permutation_invariant || change >= kVisible) break;
  }
  if (traits().is_permutation_invariant)
    return Add("T8", change, kUnchanged, "permuted keys change nothing");
  AddVisible("T8", change, kVisible, "permuted keys change the output");
}

// Checks the weights that attention maps are made of.
void AttentionSuite::Weights(bool causal) {
  AttentionCase c(1400, 2, 2, 33, 33, 8);
  c.input.causal = causal;
  c.MaskFromLengths({33, 20});
  const at::Tensor weights =
      ImpliedWeights(*InstanceOf(c).attention, InputOf(c)).value().cpu();  // [B, H, N, Nk]
  const at::Tensor masked = c.input.keep.logical_not().view({2, 1, 1, 33});
  const at::Tensor v = c.input.v.masked_fill(masked.view({2, 1, 33, 1}), 0);
  const at::Tensor expected = at::matmul(weights, v), actual = Attend(c);
  Add("W", RelativeDifference(RealRows(actual, c), RealRows(expected, c), 1.0), kForward,
      absl::StrCat("the output is the weights times the values", causal ? ", causal" : ""));
  Add("W", weights.masked_select(masked.expand_as(weights)).abs().max().item<double>(), 0,
      "padded keys have no weight");
  if (causal || traits().causality == Causality::kAlways)
    Add("W", at::triu(weights, 1).abs().max().item<double>(), 0, "later keys have no weight");
}

void AttentionSuite::ReadsWhatItClaims() {
  AttentionCase c(1500, 2, 2, 13, 13, 8);
  const AttentionOutcome outcome = Fast(c);
  const auto size = [](const at::Tensor& t) { return t.abs().max().item<double>(); };
  if (traits().projections != Projections::kQueryKeyValue)
    Add("R", size(outcome.dk), 0, "keys of their own have no effect");
  if (traits().projections == Projections::kNone)
    Add("R", size(outcome.dq), 0, "queries of their own have no effect");
  if (traits().uses_layer_input)
    AddVisible("R", size(outcome.dx), kVisible, "the layer input has an effect");
  if (traits().rotary_reason.empty())
    AddVisible("R", size(outcome.dq), kVisible,
               "queries, which positions may turn, have an effect");
  if (!traits().is_exact_softmax) return;
  const at::Tensor scores = at::matmul(c.input.q, c.input.k.transpose(-1, -2)) / std::sqrt(8.0);
  Add("R", MaxDifference(outcome.output, at::matmul(at::softmax(scores, -1), c.input.v)), kForward,
      "equals softmax attention");
}

void AttentionSuite::LengthBound() {
  const at::NoGradGuard no_grad;
  AttentionCase c(1600, 1, 2, kSuiteTokens + 1, kSuiteTokens + 1, 4);
  bool is_refused = false;
  try {
    Attend(c);
  } catch (const c10::Error&) {
    is_refused = true;
  }
  AddObserved("L", is_refused == traits().is_length_bound,
              is_refused ? "a sequence above the longest is refused"
                         : "a sequence above the longest is taken");
}

void AttentionSuite::Repeats(bool causal) {
  const char* form = causal ? ", causal" : "";
  for (const at::ScalarType type : {at::kDouble, at::kFloat}) {
    AttentionCase c(1700, 2, 2, 45, 45, 8, type);
    c.input.causal = causal;
    c.MaskRandomly(1701);
    c.input.is_training = true;
    c.input.weight_dropout = {0, 7, 8, 9, at::tensor(std::vector<int64_t>{3, 1}, at::kLong)};
    const AttentionOutcome first = Fast(c), second = Fast(c);
    Add("T10", OutcomeDifference(first, second, c), 0,
        absl::StrCat("the same twice gives the same bits", form));
    Add("T10", OutcomeDifference(Fast(twins_.at({2, 8}), c), first, c), 0,
        absl::StrCat("made anew with the same seed it gives the same bits", form));
  }
}

}  // namespace lra::internal
