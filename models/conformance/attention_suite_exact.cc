// Fast form against the oracle, gradients against the oracle's and against central differences.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "lra/random.h"
#include "models/conformance/attention_suite.h"

namespace lra::internal {
namespace {

DropoutKey NoiseKey(double probability) {
  return {probability, 1, 2, 3, at::tensor(std::vector<int64_t>{4, 5}, at::kLong)};
}

}  // namespace

void AttentionSuite::CompareWithOracle(const AttentionCase& c, const std::string& detail) {
  const std::string what = absl::StrCat(detail, c.input.causal ? ", causal" : "");
  Try("T1", what, [&] {
    const AttentionOutcome fast = Fast(c), oracle = Oracle(c);
    Add("T1", RelativeDifference(RealRows(fast.output, c), RealRows(oracle.output, c), 1.0),
        kForward, what);
    Add("T2", OutcomeDifference(fast, oracle, c), kGradient, what);
  });
}

void AttentionSuite::ForwardAndGradients(bool causal) {
  for (const int64_t n : {1, 2, 37, 130}) {
    AttentionCase c(static_cast<uint32_t>(n), 2, 3, n, n, 5);
    c.input.causal = causal;
    CompareWithOracle(c, absl::StrCat("N = ", n, ", no mask"));
    c.MaskFromLengths({n, 1});
    CompareWithOracle(c, absl::StrCat("N = ", n, ", lengths N and 1"));
  }
  AttentionCase scattered(300, 3, 2, 41, 41, 8);
  scattered.input.causal = causal;
  scattered.MaskRandomly(301);
  scattered.MakeContiguous();
  CompareWithOracle(scattered, "N = 41, a random third masked, heads before tokens in memory");
}

// What a layer asks of which the first row alone is read.
void AttentionSuite::FirstQueryAlone() {
  AttentionCase c(306, 2, 2, 19, 19, 4);
  c.MaskRandomly(307);
  c.input.keep.select(1, 0).fill_(true);
  if (traits().supports_weight_dropout) c.input.weight_dropout = NoiseKey(0.25);
  if (traits().supports_inner_dropout) c.input.inner_dropout = {NoiseKey(0.25), NoiseKey(0.25)};
  const at::Tensor among_others = Attend(c).narrow(2, 0, 1);
  c.input.q = c.input.q.narrow(2, 0, 1);
  Add("T1", RelativeDifference(Attend(c), among_others, 1.0), kForward,
      "the first query alone and among the others");
}

void AttentionSuite::CrossAndNoise() {
  for (const bool causal : {false, true}) {
    if (!traits().supports_cross || (causal && !has_both())) continue;
    AttentionCase wide(302, 2, 2, 7, 30, 4), tall(303, 2, 2, 30, 7, 4);
    wide.input.causal = tall.input.causal = causal;
    wide.MaskRandomly(304);
    CompareWithOracle(wide, "7 queries, 30 keys");
    CompareWithOracle(tall, "30 queries, 7 keys");
  }
  if (traits().supports_cross && traits().distance_slopes.empty()) FirstQueryAlone();
  AttentionCase c(305, 2, 2, 21, 21, 4);
  c.MaskFromLengths({21, 9});
  c.input.is_training = true;
  c.input.weight_dropout = NoiseKey(0);
  CompareWithOracle(c, "in training");
  const at::Tensor undropped = Attend(c);
  c.input.inner_dropout = {NoiseKey(0.25), NoiseKey(0.25)};
  c.input.inner_dropout.after_activation.is_tied = true;
  const bool is_read = MaxDifference(RealRows(Attend(c), c), RealRows(undropped, c)) > 0;
  AddObserved("T1", is_read == traits().supports_inner_dropout,
              is_read ? "inner dropout is read" : "inner dropout is not read");
  if (is_read) CompareWithOracle(c, "inner dropout 0.25");
  c.input.inner_dropout = {};
  EachForm([&](bool causal) {
    c.input.causal = causal;
    if (traits().supports_weight_dropout) WeightDropout(c);
  });
}

// An oracle that drops nothing would agree with an attention that drops nothing.
void AttentionSuite::WeightDropout(AttentionCase c) {
  c.input.weight_dropout = NoiseKey(0);
  const at::Tensor undropped = Attend(c);
  c.input.weight_dropout = NoiseKey(0.25);
  const bool is_read = MaxDifference(RealRows(Attend(c), c), RealRows(undropped, c)) >= kVisible;
  AddObserved("T1", is_read,
              absl::StrCat("weight dropout is ", is_read ? "read" : "not read",
                           c.input.causal ? ", causal" : ""));
  CompareWithOracle(c, "weight dropout 0.25");
}

// What the attention owns and trains.
void AttentionSuite::ParameterGradients(bool causal) {
  AttentionCase c(450, 2, 2, 31, 31, 8);
  c.input.causal = causal;
  c.MaskFromLengths({31, 12});
  const ParameterStore& owned = InstanceOf(c).parameters;
  const ParametersIn exact(at::kDouble, owned);
  const AttentionOutcome fast = Fast(c), oracle = Oracle(c);
  for (size_t i = 0; i < fast.parameters.size(); ++i) {
    const std::string what = absl::StrCat(owned.parameters()[i].name, causal ? ", causal" : "");
    at::Tensor value = owned.parameters()[i].value;
    Add("T2", RelativeDifference(fast.parameters[i], oracle.parameters[i], 1.0), kGradient, what);
    Add("T2n", NumericDifference(&value, fast.parameters[i], c), kNumeric, what);
  }
}

namespace {

// The element of the row-major index, whatever the tensor's layout, without a copy.
at::Tensor Element(at::Tensor t, int64_t index) {
  for (int64_t dim = t.dim() - 1; dim >= 0; --dim) {
    const int64_t size = t.size(dim);
    t = t.select(dim, index % size);
    index /= size;
  }
  return t;
}

}  // namespace

// Central differences of sum(output * upstream) at random coordinates of a float64 tensor that the
// case or the attention holds; worst relative error (at least 1 counts as 1).
double AttentionSuite::NumericDifference(at::Tensor* input, const at::Tensor& gradient,
                                         const AttentionCase& c) {
  const at::NoGradGuard no_grad;
  const auto loss = [&] { return (Attend(c) * c.upstream).sum().item<double>(); };
  RandomStream random(1, RandomDomain::kTest, {401, 0, 0});
  double worst = 0;
  for (int i = 0; i < 20; ++i) {
    const int64_t at = random.Between(0, input->numel() - 1);
    constexpr double kStep = 1e-5;
    const at::Tensor value = Element(input->detach(), at);
    const double kept = value.item<double>();
    value.fill_(kept + kStep);
    const double above = loss();
    value.fill_(kept - kStep);
    const double below = loss();
    value.fill_(kept);
    const double exact = Element(gradient, at).item<double>();
    worst = Worse(worst,
                  std::abs((above - below) / (2 * kStep) - exact) / std::max(1.0, std::abs(exact)));
  }
  return worst;
}

void AttentionSuite::NumericGradients(bool causal) {
  AttentionCase c(400, 2, 2, 11, 11, 6);
  c.input.causal = causal;
  c.MaskFromLengths({11, 7});
  const AttentionOutcome outcome = Fast(c);
  std::vector<std::pair<at::Tensor*, at::Tensor>> sides = {
      {&c.input.q, outcome.dq}, {&c.input.k, outcome.dk}, {&c.input.v, outcome.dv}};
  if (outcome.dx.defined()) sides.emplace_back(&c.input.x, outcome.dx);
  double worst = 0;
  for (const auto& [input, gradient] : sides)
    worst = Worse(worst, NumericDifference(input, gradient, c));
  Add("T2n", worst, kNumeric,
      absl::StrCat("central differences at 20 coordinates of each input",
                   causal ? ", causal" : ""));
}

namespace {

double Relative(const at::Tensor& a, const at::Tensor& b) {
  return RelativeDifference(a, b, 1e-30);
}

double GradientDifference(const AttentionOutcome& a, const AttentionOutcome& b) {
  double worst = std::max({Relative(a.dq, b.dq), Relative(a.dk, b.dk), Relative(a.dv, b.dv)});
  if (a.dx.defined()) worst = std::max(worst, Relative(a.dx, b.dx));
  for (size_t i = 0; i < a.parameters.size(); ++i)
    worst = std::max(worst, Relative(a.parameters[i], b.parameters[i]));
  return worst;
}

// Inputs, but for the mask, in another type.
AttentionCase In(at::ScalarType type, AttentionCase c) {
  for (at::Tensor* t : {&c.input.q, &c.input.k, &c.input.v, &c.input.x, &c.upstream})
    *t = t->to(type);
  return c;
}

}  // namespace

// Values of the size that a network has, N over several tiles of the fast forms.
void AttentionSuite::Float32(bool causal, absl::string_view setting) {
  AttentionCase exact(1100, 2, 2, 523, 523, 16);
  exact.input.causal = causal;
  exact.MaskFromLengths({523, 301});
  const AttentionOutcome oracle = Oracle(exact), fast = Fast(In(at::kFloat, exact));
  const std::string what = absl::StrCat(setting, ", N = 523", causal ? ", causal" : "");
  Add("F32", Relative(RealRows(fast.output, exact), RealRows(oracle.output, exact)), kFloat,
      absl::StrCat("output", what));
  Add("F32", GradientDifference(fast, oracle), kFloat, absl::StrCat("gradients", what));
}

// The oracle has the same inputs, which float32 holds exactly.
void AttentionSuite::CompareFloat32(const AttentionCase& c, const std::string& detail) {
  const std::string what = absl::StrCat(detail, c.input.causal ? ", causal" : "");
  Try("F32", what, [&] {
    const AttentionCase single = In(at::kFloat, c);
    const AttentionOutcome fast = Fast(single), oracle = Oracle(In(at::kDouble, single));
    Add("F32", OutcomeDifference(fast, oracle, c), kFloat, what);
  });
}

// One example alone: the oracle's time grows with N^2.
void AttentionSuite::Float32Longest(bool causal) {
  AttentionCase c(1190, 1, 2, kSuiteTokens, kSuiteTokens, 16);
  c.input.causal = causal;
  c.MaskFromLengths({601});
  CompareFloat32(c, absl::StrCat("N = ", kSuiteTokens, ", 601 of them real"));
}

// What code for one type alone may get wrong: few tokens, widths that no register divides, holes in
// the mask, and what is drawn in training.
void AttentionSuite::Float32Shapes(bool causal) {
  for (const int64_t n : {1, 2, 37}) {
    AttentionCase c(1120 + static_cast<uint32_t>(n), 2, 3, n, n, 5);
    c.input.causal = causal;
    CompareFloat32(c, absl::StrCat("N = ", n, ", no mask"));
    c.MaskRandomly(1121);
    CompareFloat32(c, absl::StrCat("N = ", n, ", a random third masked"));
  }
  if (traits().supports_cross) {
    AttentionCase wide(1180, 2, 2, 7, 30, 4), tall(1181, 2, 2, 30, 7, 4);
    wide.input.causal = tall.input.causal = causal;
    wide.MaskRandomly(1182);
    CompareFloat32(wide, "7 queries, 30 keys");
    CompareFloat32(tall, "30 queries, 7 keys");
  }
  AttentionCase c(1183, 2, 2, 21, 21, 4);
  c.input.causal = causal;
  c.MaskFromLengths({21, 9});
  c.input.is_training = true;
  c.input.weight_dropout = NoiseKey(traits().supports_weight_dropout ? 0.25 : 0);
  if (traits().supports_inner_dropout) c.input.inner_dropout = {NoiseKey(0.25), NoiseKey(0.25)};
  CompareFloat32(c, "in training");
}

// numerics.precision=BF16: the fast form against the oracle, both on rounded inputs.
void AttentionSuite::Bfloat16(bool causal) {
  AttentionCase exact(1110, 2, 2, 263, 263, 16);
  exact.input.causal = causal;
  exact.MaskFromLengths({263, 151});
  const AttentionCase rounded = In(at::kDouble, In(at::kBFloat16, exact));
  const AttentionOutcome oracle = Oracle(rounded),
                         half = Fast(In(at::kFloat, rounded), Form::kBfloat16),
                         without = Fast(In(at::kFloat, rounded), Form::kBfloat16WithoutProducts);
  const bool has_products = !at::equal(half.output, without.output);
  const double bound = (has_products ? kBfloat16Moves : kRounding) + kFloat;
  const char* what = causal ? ", N = 263, causal" : ", N = 263";
  Add("B16", Relative(RealRows(half.output, exact), RealRows(oracle.output, exact)), bound,
      absl::StrCat("output", what));
  Add("B16", GradientDifference(half, oracle), bound, absl::StrCat("gradients", what));
  // What rounding the inputs does by itself. Outputs only: a relu inside makes gradients jump.
  const double moved =
      Relative(RealRows(oracle.output, exact), RealRows(Oracle(exact).output, exact));
  const std::string detail = absl::StrCat("output moved by rounding its inputs", what);
  if (traits().bfloat16_reason.empty()) return Add("B16", moved, kBfloat16Moves, detail);
  AddVisible("B16", moved, kBfloat16Moves, detail);
}

// Distances lower the logits, by another slope for each head.
std::vector<ConformanceResult> AttentionSuite::RunWithSlopes(const SuiteInstances& without) {
  EachForm([&](bool causal) {
    AttentionCase c(460, 2, 2, 33, 33, 6);
    c.input.causal = causal;
    c.MaskRandomly(461);
    const std::string detail = "distance slopes, N = 33, a random third masked";
    Try("R", detail, [&] {
      const double change = MaxDifference(RealRows(Fast(c).output, c),
                                          RealRows(Fast(without.at({2, 6}), c).output, c));
      AddVisible("R", std::isinf(change) ? 0 : change, kVisible,
                 absl::StrCat("distance slopes have an effect", causal ? ", causal" : ""));
    });
    CompareWithOracle(c, detail);
    CompareFloat32(c, detail);
    Try("F32", "distance slopes, N = 523", [&] { Float32(causal, ", distance slopes"); });
  });
  return std::move(results_);
}

}  // namespace lra::internal
