#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lra/random.h"
#include "lra/status_macros.h"
#include "models/conformance/comparison.h"
#include "models/conformance/conformance.h"
#include "models/torch_status.h"

namespace lra {
namespace {

constexpr int64_t kMaxTokens = 640;

// float64, relative to the largest value (at least 1).
constexpr double kForwardBound = 1e-10;
constexpr double kGradientBound = 1e-9;
constexpr double kNumericBound = 1e-6;
constexpr double kUnchangedBound = 1e-12;
// float32: reordered sums; and against the float64 oracle.
constexpr double kUnchangedBound32 = 2e-5;
constexpr double kFloatBound = 1e-4;

// The attention for every (heads, head width) of the suite's cases: what it owns has their shapes.
struct Instance {
  ParameterStore parameters{1};
  std::unique_ptr<Attention> attention;
};
using Instances = std::map<std::pair<int64_t, int64_t>, Instance>;

absl::StatusOr<Instances> MakeInstances(const AttentionMaker& maker) {
  Instances instances;
  for (const std::pair<int64_t, int64_t> shape :
       {std::pair{2, 4}, {3, 5}, {2, 6}, {2, 8}, {2, 16}}) {
    Instance& instance = instances[shape];
    AttentionContext context;
    context.heads = shape.first;
    context.head_width = shape.second;
    context.max_length_tokens = kMaxTokens;
    context.parameters = &instance.parameters;
    context.scope = "attention.";
    LRA_ASSIGN_OR_RETURN(instance.attention, maker(context));
  }
  return instances;
}

class Suite {
 public:
  Suite(absl::string_view name, Instances* instances) : name_(name), instances_(*instances) {}

  std::vector<ConformanceResult> Run() {
    ForwardAndGradients();
    NumericGradients();
    ParameterGradients();
    PadContent();
    if (traits().is_padding_invariant) PadAmount();
    if (traits().is_row_stochastic) RowStochastic();
    Permutation();
    BatchIndependence();
    FullyMasked();
    Float32();
    return std::move(results_);
  }

 private:
  const Traits& traits() const { return instances_.begin()->second.attention->traits(); }

  Instance& InstanceOf(const AttentionCase& c) const {
    return instances_.at({c.input.q.size(1), c.input.q.size(3)});
  }
  at::Tensor Attend(const AttentionCase& c) const {
    return InstanceOf(c).attention->Attend(c.input);
  }

  void Add(const char* id, double measured, double bound, std::string detail) {
    results_.push_back({id, name_, measured <= bound, measured, bound, std::move(detail)});
  }

  AttentionOutcome Fast(const AttentionCase& c) const {
    return RunAttention(*InstanceOf(c).attention, Form::kFast, c);
  }

  AttentionOutcome Oracle(const AttentionCase& c) const {
    return RunAttention(*InstanceOf(c).attention, Form::kOracle, c);
  }

  void CompareWithOracle(const AttentionCase& c, const std::string& detail) {
    const AttentionOutcome fast = Fast(c), oracle = Oracle(c);
    Add("T1", RelativeDifference(RealRows(fast.output, c), RealRows(oracle.output, c), 1.0),
        kForwardBound, detail);
    Add("T2", OutcomeDifference(fast, oracle, c), kGradientBound, detail);
  }

  void ForwardAndGradients() {
    for (const int64_t n : {1, 2, 37, 130}) {
      AttentionCase c(static_cast<uint32_t>(n), 2, 3, n, n, 5);
      CompareWithOracle(c, absl::StrCat("N = ", n, ", no mask"));
      c.MaskFromLengths({n, 1});
      CompareWithOracle(c, absl::StrCat("N = ", n, ", lengths N and 1"));
    }
    AttentionCase scattered(300, 3, 2, 41, 41, 8);
    scattered.MaskRandomly(301);
    CompareWithOracle(scattered, "N = 41, a random third masked");
    if (traits().supports_cross) {
      AttentionCase wide(302, 2, 2, 7, 30, 4), tall(303, 2, 2, 30, 7, 4);
      wide.MaskRandomly(304);
      CompareWithOracle(wide, "7 queries, 30 keys");
      CompareWithOracle(tall, "30 queries, 7 keys");
    }
    if (traits().supports_weight_dropout) {
      AttentionCase c(305, 2, 2, 21, 21, 4);
      c.MaskFromLengths({21, 9});
      c.input.weight_dropout = {0.25, 1, 2, 3, at::tensor(std::vector<int64_t>{4, 5}, at::kLong)};
      CompareWithOracle(c, "weight dropout 0.25");
    }
  }

  // What the attention owns and trains, in float64 for as long as this takes.
  void ParameterGradients() {
    AttentionCase c(450, 2, 2, 31, 31, 8);
    c.MaskFromLengths({31, 12});
    for (const Parameter& parameter : InstanceOf(c).parameters.parameters()) {
      at::Tensor value = parameter.value;
      const at::Tensor rounded = value.detach();
      value.set_data(rounded.to(at::kDouble));
      const auto gradient = [&](Form form) {
        value.mutable_grad() = at::Tensor();
        RunAttention(*InstanceOf(c).attention, form, c);
        return value.grad().defined() ? value.grad().clone() : at::zeros_like(rounded);
      };
      const at::Tensor fast = gradient(Form::kFast), oracle = gradient(Form::kOracle);
      Add("T2", RelativeDifference(fast, oracle, 1.0), kGradientBound, parameter.name);
      Add("T2n", NumericDifference(&value, fast, c), kNumericBound, parameter.name);
      value.mutable_grad() = at::Tensor();
      value.set_data(rounded);
    }
  }

  // Central differences of sum(output * upstream) at random coordinates of a float64 tensor that
  // the case or the attention holds; worst relative error (at least 1 counts as 1).
  double NumericDifference(at::Tensor* input, const at::Tensor& gradient, const AttentionCase& c) {
    const auto loss = [&] { return (Attend(c) * c.upstream).sum().item<double>(); };
    RandomStream random(1, RandomDomain::kTest, {401, 0, 0});
    double* values = input->mutable_data_ptr<double>();
    const at::Tensor dense = gradient.contiguous();
    double worst = 0;
    for (int i = 0; i < 20; ++i) {
      const int64_t at = random.Between(0, input->numel() - 1);
      constexpr double kStep = 1e-5;
      const double kept = values[at];
      values[at] = kept + kStep;
      const double above = loss();
      values[at] = kept - kStep;
      const double below = loss();
      values[at] = kept;
      const double exact = dense.const_data_ptr<double>()[at];
      worst = std::max(
          worst, std::abs((above - below) / (2 * kStep) - exact) / std::max(1.0, std::abs(exact)));
    }
    return worst;
  }

  void NumericGradients() {
    AttentionCase c(400, 2, 2, 11, 11, 6);
    c.MaskFromLengths({11, 7});
    const AttentionOutcome outcome = Fast(c);
    const std::pair<at::Tensor*, at::Tensor> sides[] = {
        {&c.input.q, outcome.dq}, {&c.input.k, outcome.dk}, {&c.input.v, outcome.dv}};
    double worst = 0;
    for (const auto& [input, gradient] : sides)
      worst = std::max(worst, NumericDifference(input, gradient, c));
    Add("T2n", worst, kNumericBound, "central differences at 20 coordinates each of q, k, v");
  }

  void PadContent() {
    for (const at::ScalarType type : {at::kDouble, at::kFloat}) {
      AttentionCase c(500, 3, 2, 23, 23, 8, type);
      c.MaskFromLengths({23, 10, 1});
      const AttentionOutcome clean = Fast(c);
      const at::Tensor padded = c.input.keep.logical_not().view({3, 1, 23, 1});
      for (const double garbage : {1e3, std::numeric_limits<double>::quiet_NaN()}) {
        AttentionCase dirty = c;
        dirty.input.k = c.input.k.masked_fill(padded, garbage);
        dirty.input.v = c.input.v.masked_fill(padded, garbage);
        const AttentionOutcome outcome = Fast(dirty);
        const std::string what =
            absl::StrCat(std::isnan(garbage) ? "NaN" : "1e3", " in padded keys and values, ",
                         type == at::kFloat ? "float32" : "float64");
        Add("T3", OutcomeDifference(outcome, clean, c),
            type == at::kFloat ? kUnchangedBound32 : kUnchangedBound, what);
        const double leak =
            std::max(MaxDifference(outcome.dk * padded, at::zeros_like(outcome.dk)),
                     MaxDifference(outcome.dv * padded, at::zeros_like(outcome.dv)));
        Add("T3", leak, 0, absl::StrCat("gradient of padded keys and values, ", what));
      }
    }
  }

  void PadAmount() {
    for (const at::ScalarType type : {at::kDouble, at::kFloat}) {
      constexpr int64_t kTokens = 21;
      AttentionCase c(600, 1, 2, kTokens + 17, kTokens + 17, 8, type);
      c.MaskFromLengths({kTokens});
      const AttentionCase unpadded = c.Example(0, kTokens);
      const AttentionOutcome expected = Fast(unpadded);
      for (const int64_t pads : {3, 17}) {
        AttentionOutcome outcome = Fast(c.Example(0, kTokens + pads));
        for (at::Tensor* t : {&outcome.output, &outcome.dq, &outcome.dk, &outcome.dv})
          *t = t->narrow(2, 0, kTokens);
        Add("T4", OutcomeDifference(outcome, expected, unpadded),
            type == at::kFloat ? kUnchangedBound32 : kUnchangedBound,
            absl::StrCat(pads, " pads against none, ", type == at::kFloat ? "float32" : "float64"));
      }
    }
  }

  void RowStochastic() {
    AttentionCase c(700, 2, 2, 19, 19, 6);
    // Positive q and k: no feature map leaves a row without weight.
    c.input.q = c.input.q.abs() + 0.1;
    c.input.k = c.input.k.abs() + 0.1;
    c.MaskFromLengths({19, 8});
    const at::Tensor v = c.input.v;
    c.input.v = at::ones_like(v);
    const at::Tensor constant = Attend(c);
    Add("T7", MaxDifference(RealRows(constant, c), RealRows(at::ones_like(constant), c)), 1e-5,
        "constant values");
    c.input.v = v;
    const at::Tensor output = RealRows(Attend(c), c);
    const at::Tensor kept = v.masked_fill(c.input.keep.logical_not().view({2, 1, 19, 1}), 0);
    const double outside = std::max((output - kept.amax(2, true)).max().item<double>(),
                                    (kept.amin(2, true) - output).max().item<double>());
    Add("T7", outside, 1e-9, "outputs lie between the smallest and the largest value");
  }

  void Permutation() {
    AttentionCase c(800, 2, 2, 17, 17, 6);
    c.MaskRandomly(801);
    AttentionCase shuffled = c;
    const at::Tensor order = at::tensor(
        lra::Permutation(17, RandomStream(1, RandomDomain::kTest, {802, 0, 0})), at::kLong);
    shuffled.input.k = c.input.k.index_select(2, order);
    shuffled.input.v = c.input.v.index_select(2, order);
    shuffled.input.keep = c.input.keep.index_select(1, order);
    const double change = MaxDifference(Attend(shuffled), Attend(c));
    if (traits().is_permutation_invariant)
      return Add("T8", change, kUnchangedBound, "permuted keys change nothing");
    constexpr double kVisible = 1e-6;  // far above rounding; re-weighting by distance can be weak
    Add("T8", change >= kVisible ? 0 : kVisible - change, 0,
        "permuted keys change the output, as declared");
  }

  void BatchIndependence() {
    for (const at::ScalarType type : {at::kDouble, at::kFloat}) {
      AttentionCase c(900, 3, 2, 29, 29, 8, type);
      c.MaskFromLengths({29, 12, 20});
      const AttentionOutcome batch = Fast(c);
      double worst = 0;
      for (int64_t b = 0; b < 3; ++b) {
        const AttentionCase one = c.Example(b, 29);
        const auto pick = [&](const at::Tensor& t) { return t.narrow(0, b, 1); };
        const AttentionOutcome expected = {pick(batch.output), pick(batch.dq), pick(batch.dk),
                                           pick(batch.dv)};
        worst = std::max(worst, OutcomeDifference(Fast(one), expected, one));
      }
      Add("T9", worst, type == at::kFloat ? kUnchangedBound32 : kUnchangedBound,
          absl::StrCat("alone against in a batch of 3, ",
                       type == at::kFloat ? "float32" : "float64"));
    }
  }

  void FullyMasked() {
    for (const at::ScalarType type : {at::kDouble, at::kFloat}) {
      AttentionCase c(1000, 2, 2, 13, 13, 8, type);
      const at::Tensor upstream = c.upstream;
      c.MaskFromLengths({13, 0});
      c.upstream = upstream;  // gradients arrive at the empty example too
      const AttentionOutcome outcome = Fast(c);
      double worst = 0;
      for (const at::Tensor& t : {outcome.output, outcome.dq, outcome.dk, outcome.dv}) {
        worst = std::max(worst, MaxDifference(t[1], at::zeros_like(t[1])));
      }
      const char* name = type == at::kFloat ? "float32" : "float64";
      Add("T13", worst, 0, absl::StrCat("an example without keys, ", name));
      const double other = MaxDifference(outcome.output[0], Fast(c.Example(0, 13)).output[0]);
      Add("T13", other, type == at::kFloat ? kUnchangedBound32 : kUnchangedBound,
          absl::StrCat("the example beside it, ", name));
    }
  }

  // Values of the size that a network has, N over several tiles of the fast forms.
  void Float32() {
    AttentionCase exact(1100, 2, 2, 523, 523, 16);
    exact.MaskFromLengths({523, 301});
    AttentionCase rounded = exact;
    for (at::Tensor* t : {&rounded.input.q, &rounded.input.k, &rounded.input.v, &rounded.upstream})
      *t = t->to(at::kFloat);
    const AttentionOutcome oracle = Oracle(exact), fast = Fast(rounded);
    const auto relative = [](const at::Tensor& a, const at::Tensor& b) {
      return RelativeDifference(a, b, 1e-30);
    };
    Add("F32", relative(RealRows(fast.output, exact), RealRows(oracle.output, exact)), kFloatBound,
        "output, N = 523");
    Add("F32",
        std::max({relative(fast.dq, oracle.dq), relative(fast.dk, oracle.dk),
                  relative(fast.dv, oracle.dv)}),
        kFloatBound, "gradients, N = 523");
  }

  const std::string name_;
  Instances& instances_;
  std::vector<ConformanceResult> results_;
};

}  // namespace

absl::StatusOr<std::vector<ConformanceResult>> CheckAttention(absl::string_view name,
                                                              const AttentionMaker& maker) {
  std::vector<ConformanceResult> results;
  LRA_RETURN_IF_ERROR(CatchTorch([&]() -> absl::Status {
    LRA_ASSIGN_OR_RETURN(Instances instances, MakeInstances(maker));
    results = Suite(name, &instances).Run();
    return absl::OkStatus();
  }));
  return results;
}

absl::StatusOr<std::vector<ConformanceResult>> CheckAttention(
    absl::string_view name, const google::protobuf::Any& options) {
  return CheckAttention(name, [&](const AttentionContext& context) {
    AttentionContext with_options = context;
    with_options.options = options;
    return AttentionRegistry::Get().Create("attention", name, with_options);
  });
}

}  // namespace lra
