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
  CompareWithOracle(scattered, "N = 41, a random third masked");
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
  if (traits().supports_weight_dropout) {
    c.input.weight_dropout = NoiseKey(0.25);
    CompareWithOracle(c, "weight dropout 0.25");
    if (!has_both()) return;
    c.input.causal = true;
    CompareWithOracle(c, "weight dropout 0.25");
  }
}

namespace {

// A parameter in float64, without a gradient, for as long as this lives.
class InFloat64 {
 public:
  explicit InFloat64(const Parameter& parameter)
      : value_(parameter.value), rounded_(value_.detach()) {
    value_.set_data(rounded_.to(at::kDouble));
    value_.mutable_grad() = at::Tensor();
  }
  ~InFloat64() {
    value_.mutable_grad() = at::Tensor();
    value_.set_data(rounded_);
  }
  InFloat64(const InFloat64&) = delete;
  at::Tensor* value() { return &value_; }
  at::Tensor Gradient() const {  // on the CPU
    return value_.grad().defined() ? value_.grad().cpu() : at::zeros_like(value_, at::kCPU);
  }

 private:
  at::Tensor value_;
  const at::Tensor rounded_;
};

}  // namespace

// What the attention owns and trains.
void AttentionSuite::ParameterGradients() {
  AttentionCase c(450, 2, 2, 31, 31, 8);
  c.MaskFromLengths({31, 12});
  const std::vector<Parameter>& tested = InstanceOf(c).parameters.parameters();
  for (size_t i = 0; i < tested.size(); ++i) {
    InFloat64 own(tested[i]), reference(ReferenceOf(c).parameters.parameters()[i]);
    Fast(c);
    Oracle(c);
    const at::Tensor fast = own.Gradient();
    Add("T2", RelativeDifference(fast, reference.Gradient(), 1.0), kGradient, tested[i].name);
    Add("T2n", NumericDifference(own.value(), fast, c), kNumeric, tested[i].name);
  }
}

// Central differences of sum(output * upstream) at random coordinates of a float64 tensor that the
// case or the attention holds; worst relative error (at least 1 counts as 1).
double AttentionSuite::NumericDifference(at::Tensor* input, const at::Tensor& gradient,
                                         const AttentionCase& c) {
  const at::NoGradGuard no_grad;
  const auto loss = [&] { return (Attend(c) * c.upstream).sum().item<double>(); };
  RandomStream random(1, RandomDomain::kTest, {401, 0, 0});
  const at::Tensor values = input->detach().view({-1}), dense = gradient.contiguous();
  double worst = 0;
  for (int i = 0; i < 20; ++i) {
    const int64_t at = random.Between(0, input->numel() - 1);
    constexpr double kStep = 1e-5;
    const at::Tensor value = values.select(0, at);
    const double kept = value.item<double>();
    value.fill_(kept + kStep);
    const double above = loss();
    value.fill_(kept - kStep);
    const double below = loss();
    value.fill_(kept);
    const double exact = dense.const_data_ptr<double>()[at];
    worst = std::max(
        worst, std::abs((above - below) / (2 * kStep) - exact) / std::max(1.0, std::abs(exact)));
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
    worst = std::max(worst, NumericDifference(input, gradient, c));
  Add("T2n", worst, kNumeric,
      absl::StrCat("central differences at 20 coordinates of each input",
                   causal ? ", causal" : ""));
}

namespace {

double Relative(const at::Tensor& a, const at::Tensor& b) {
  return RelativeDifference(a, b, 1e-30);
}

double GradientDifference(const AttentionOutcome& a, const AttentionOutcome& b) {
  const double worst = std::max({Relative(a.dq, b.dq), Relative(a.dk, b.dk), Relative(a.dv, b.dv)});
  return a.dx.defined() ? std::max(worst, Relative(a.dx, b.dx)) : worst;
}

// Inputs, but for the mask, in another type.
AttentionCase In(at::ScalarType type, AttentionCase c) {
  for (at::Tensor* t : {&c.input.q, &c.input.k, &c.input.v, &c.input.x, &c.upstream})
    *t = t->to(type);
  return c;
}

}  // namespace

// Values of the size that a network has, N over several tiles of the fast forms.
void AttentionSuite::Float32(bool causal) {
  AttentionCase exact(1100, 2, 2, 523, 523, 16);
  exact.input.causal = causal;
  exact.MaskFromLengths({523, 301});
  const AttentionOutcome oracle = Oracle(exact), fast = Fast(In(at::kFloat, exact));
  const char* what = causal ? ", N = 523, causal" : ", N = 523";
  Add("F32", Relative(RealRows(fast.output, exact), RealRows(oracle.output, exact)), kFloat,
      absl::StrCat("output", what));
  Add("F32", GradientDifference(fast, oracle), kFloat, absl::StrCat("gradients", what));
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

}  // namespace lra::internal
