// Promises about padding: its content, its amount, what else is in the batch, and examples of
// nothing but padding.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "models/conformance/attention_suite.h"

namespace lra::internal {
namespace {

const char* CausalName(bool causal) { return causal ? ", causal" : ""; }

// The largest |t|; infinite where one is not finite.
double Size(const at::Tensor& t) { return MaxDifference(t, at::zeros_like(t)); }

// The largest difference of the gradients of what the attention owns.
double ParameterDifference(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  double worst = 0;
  for (size_t i = 0; i < a.size(); ++i)
    worst = std::max(worst, RelativeDifference(a[i], b[i], 1.0));
  return worst;
}

}  // namespace

void AttentionSuite::PadContent(at::ScalarType type, bool causal) {
  AttentionCase c(500, 5, 2, 23, 23, 8, type);
  c.input.causal = causal;
  c.MaskFromLengths({23, 10, 1, 17, 23});
  const AttentionOutcome clean = Fast(c);
  const at::Tensor padded = c.input.keep.logical_not().view({5, 1, 23, 1});
  const bool is_key = traits().projections != Projections::kQueryKeyValue;
  for (const double garbage : {1e3, std::numeric_limits<double>::quiet_NaN()}) {
    AttentionCase dirty = c;
    dirty.input.k = at::where(padded, garbage, c.input.k);  // which keeps the layout
    dirty.input.v = at::where(padded, garbage, c.input.v);
    dirty.input.x = c.input.x.masked_fill(padded.squeeze(1), garbage);
    dirty.input.q = is_key ? at::where(padded, garbage, c.input.q)
                           : at::where(padded, 3 - 7 * c.input.q, c.input.q);
    const AttentionOutcome outcome = Fast(dirty);
    const std::string what =
        absl::StrCat(std::isnan(garbage) ? "NaN" : "1e3", " in padded keys and values, ",
                     is_key ? "" : "other padded queries, ", TypeName(type), CausalName(causal));
    Add("T3", OutcomeDifference(outcome, clean, c), Unchanged(type), what);
    double leak = std::max(Size(outcome.dk * padded), Size(outcome.dv * padded));
    if (outcome.dx.defined()) leak = std::max(leak, Size(outcome.dx * padded.squeeze(1)));
    Add("T3", leak, 0, absl::StrCat("gradient of padded keys and values, ", what));
    // Nobody reads the rows of padded queries, but products with zeros must be zeros.
    if (!std::isnan(garbage)) {
      Add("T3", std::isinf(Size(outcome.output)) ? 1 : 0, 0,
          absl::StrCat("outputs of padded queries are finite, ", what));
    }
  }
  if (is_key) return;
  // Outputs alone: in a backward pass, a row of NaN times its gradient of 0 is NaN.
  AttentionCase dirty = c;
  dirty.input.q = at::where(padded, std::numeric_limits<double>::quiet_NaN(), c.input.q);
  Add("T3", RelativeDifference(RealRows(Attend(dirty), c), RealRows(clean.output, c), 1.0),
      Unchanged(type),
      absl::StrCat("NaN in padded queries, output, ", TypeName(type), CausalName(causal)));
}

void AttentionSuite::PadAmount(at::ScalarType type, bool causal) {
  constexpr int64_t kTokens = 21;
  AttentionCase c(600, 1, 2, kTokens + 17, kTokens + 17, 8, type);
  c.input.causal = causal;
  c.MaskFromLengths({kTokens});
  const AttentionCase unpadded = c.Example(0, kTokens);
  const AttentionOutcome expected = Fast(unpadded);
  double largest = 0;
  for (const int64_t pads : {3, 17}) {
    AttentionOutcome outcome = Fast(c.Example(0, kTokens + pads));
    for (at::Tensor* t : {&outcome.output, &outcome.dq, &outcome.dk, &outcome.dv})
      *t = t->narrow(2, 0, kTokens);
    if (outcome.dx.defined()) outcome.dx = outcome.dx.narrow(1, 0, kTokens);
    const double change = OutcomeDifference(outcome, expected, unpadded);
    largest = std::max(largest, change);
    if (!traits().is_padding_invariant) continue;
    Add("T4", change, Unchanged(type),
        absl::StrCat(pads, " pads against none, ", TypeName(type), CausalName(causal)));
  }
  if (traits().is_padding_invariant) return;
  AddVisible("T4", largest, kVisible, "the amount of padding changes the output");
  Add("T4", traits().padding_reason.empty(), 0, "the traits say why");
}

void AttentionSuite::BatchIndependence(at::ScalarType type, bool causal) {
  constexpr int64_t kExamples = 5;
  AttentionCase c(900, kExamples, 2, 29, 29, 8, type);
  c.input.causal = causal;
  c.MaskFromLengths({29, 12, 20, 29, 5});
  const AttentionOutcome batch = Fast(c);
  double worst = 0;
  std::vector<at::Tensor> sums;
  for (const at::Tensor& t : batch.parameters) sums.push_back(at::zeros_like(t));
  for (int64_t b = 0; b < kExamples; ++b) {
    const AttentionCase one = c.Example(b, 29);
    const auto pick = [&](const at::Tensor& t) {
      return t.defined() ? t.narrow(0, b, 1) : at::Tensor();
    };
    const AttentionOutcome alone = Fast(one),
                           expected = {pick(batch.output), pick(batch.dq), pick(batch.dk),
                                       pick(batch.dv),     pick(batch.dx), alone.parameters};
    worst = std::max(worst, OutcomeDifference(alone, expected, one));
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += alone.parameters[i];
  }
  const std::string name = absl::StrCat(TypeName(type), CausalName(causal));
  Add("T9", worst, Unchanged(type),
      absl::StrCat("alone against in a batch of ", kExamples, ", ", name));
  if (!sums.empty()) {
    Add("T9", ParameterDifference(batch.parameters, sums), Unchanged(type),
        absl::StrCat("gradients of parameters are sums over the batch, ", name));
  }
}

void AttentionSuite::FullyMasked(at::ScalarType type, bool causal) {
  AttentionCase c(1000, 2, 2, 13, 13, 8, type);
  c.input.causal = causal;
  const at::Tensor upstream = c.upstream;
  c.MaskFromLengths({13, 0});
  c.upstream = upstream;  // the empty example gets gradients, too
  const AttentionOutcome outcome = Fast(c);
  double worst = 0;
  for (const at::Tensor& t : {outcome.output, outcome.dq, outcome.dk, outcome.dv, outcome.dx}) {
    if (t.defined()) worst = std::max(worst, Size(t[1]));
  }
  const std::string name = absl::StrCat(TypeName(type), CausalName(causal));
  Add("T13", worst, 0, absl::StrCat("an example without keys, ", name));
  const AttentionOutcome alone = Fast(c.Example(0, 13));
  const double other = std::max(MaxDifference(outcome.output[0], alone.output[0]),
                                ParameterDifference(outcome.parameters, alone.parameters));
  Add("T13", other, Unchanged(type), absl::StrCat("the example beside it, ", name));
}

}  // namespace lra::internal
