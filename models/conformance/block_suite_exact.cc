// Fast form against the oracle, gradients, what the block owns and what it keeps.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "lra/random.h"
#include "models/base/allocation_meter.h"
#include "models/base/runtime.h"
#include "models/conformance/block_suite.h"

namespace lra::internal {

namespace {

at::Tensor FirstRow(const BlockOutcome& outcome) { return outcome.output.narrow(1, 0, 1); }

}  // namespace

void BlockSuite::CompareWithOracle(const Variant& variant, const BlockCase& c,
                                   const std::string& detail) {
  const BlockOutcome fast = RunFast(variant, c), oracle = RunOracle(variant, c);
  const std::string what = absl::StrCat(detail, variant.words.empty() ? "" : ", ", variant.words,
                                        variant.is_causal ? ", causal" : "");
  Add("T1", RelativeDifference(c.Real(fast.output), c.Real(oracle.output), 1.0), kForward, what);
  Add("T2", OutcomeDifference(fast, oracle, c), kGradient, what);
  CompareFirstRow(variant, c, what);
}

void BlockSuite::CompareFirstRow(const Variant& variant, BlockCase c, const std::string& what) {
  c.ReadFirstOnly();
  const BlockOutcome fast = RunFast(variant, c), oracle = RunOracle(variant, c);
  const std::string first = what + ", the first row alone";
  Add("T1", RelativeDifference(FirstRow(fast), FirstRow(oracle), 1.0), kForward, first);
  Add("T2", OutcomeDifference({oracle.output, fast.dx, fast.parameters}, oracle, c), kGradient,
      first);
}

void BlockSuite::ForwardAndGradients(const Variant& variant) {
  const int64_t width = variant.model.width();
  for (const int64_t n : {1, 2, 37}) {
    BlockCase c(2000 + static_cast<uint32_t>(n), 2, n, width);
    CompareWithOracle(variant, c, absl::StrCat("N = ", n, ", no padding"));
    c.PadFrom({n, 1});
    CompareWithOracle(variant, c, absl::StrCat("N = ", n, ", lengths N and 1"));
  }
  BlockCase c(2040, 3, 23, width);
  c.PadRandomly(2041);
  CompareWithOracle(variant, c, "N = 23, a random third padded");
  const bool drops_weights = attention_ == "transformer";
  c.Drop(0.25, drops_weights ? 0.2 : 0);
  CompareWithOracle(variant, c, "dropout");
}

// The switches of ModelConfig that a block reads, one at a time.
void BlockSuite::OtherModels() {
  using M = ModelConfig;
  struct Change {
    const char* words;
    void (*apply)(ModelConfig*);
  };
  constexpr Change kChanges[] = {
      {"norms behind", [](M* m) { m->set_norm_placement(M::AFTER); }},
      {"batch norm", [](M* m) { m->set_norm(M::BATCH); }},
      {"batch norm behind", [](M* m) { m->set_norm(M::BATCH), m->set_norm_placement(M::AFTER); }},
      {"mask OUTER", [](M* m) { m->set_mask(M::OUTER); }},
      {"mask NO_MASK", [](M* m) { m->set_mask(M::NO_MASK); }},
      {"biases", [](M* m) { m->set_attention_bias(true); }},
      {"filters", [](M* m) { m->set_attention_filter_tokens(4); }},
      {"filters, no mask",
       [](M* m) { m->set_attention_filter_tokens(3), m->set_mask(M::NO_MASK); }},
      {"GELU by tanh", [](M* m) { m->set_activation(M::GELU_TANH); }},
      {"ReLU", [](M* m) { m->set_activation(M::RELU_MLP); }},
  };
  for (const Change& change : kChanges) {
    Variant variant = Main();
    variant.words = change.words;
    change.apply(&variant.model);
    if (variant.model.attention_filter_tokens() > 0 && attention_ == kNoAttention) {
      Add("R", TryToMake(variant).ok() ? 1 : 0, 0, "model.attention_filter_tokens is refused");
      continue;
    }
    BlockCase c(2050, 3, 19, variant.model.width());
    c.PadFrom({19, 7, 1});
    CompareWithOracle(variant, c, "N = 19, padded");
    c.Drop(0.25, 0);
    c.input.run.statistics = BatchStatistics::kOfBatch;
    CompareWithOracle(variant, c, "in training");
  }
}

// Positions that the attention acts on are taken wherever it can have them; a block that takes them
// is not the same.
void BlockSuite::PositionsInside() {
  const Instance plain = Make(Main());
  const Attention* attention = plain->block->attention();
  const bool has_queries = attention != nullptr && attention->traits().rotary_reason.empty();
  PositionsInside(ModelConfig::ROTARY, has_queries);
  const bool takes_slopes = attention != nullptr && attention->traits().takes_distance_slopes;
  PositionsInside(ModelConfig::ALIBI, takes_slopes);
}

void BlockSuite::PositionsInside(ModelConfig::Positions positions, bool must_take) {
  const std::string words = "model.positions=" + ModelConfig::Positions_Name(positions);
  Variant variant = Main();
  variant.model.set_positions(positions);
  variant.words = words;
  const bool takes = TryToMake(variant).ok();
  Add("R", takes || !must_take ? 0 : 1, 0, words + " is taken by what can have it");
  if (!takes) return;
  BlockCase c(2055, 3, 19, variant.model.width());
  AddVisible("R", MaxDifference(Forward(*Make(variant), c), Forward(*Make(Main()), c)),
             words + " changes the output");
  c.PadFrom({19, 7, 1});
  CompareWithOracle(variant, c, "N = 19, padded");
  c.Drop(0.25, 0);
  CompareWithOracle(variant, c, "in training");
}

// Central differences of sum(output * upstream) at random coordinates of x and of every parameter.
// They step through values in place, so the parameters are on the CPU.
void BlockSuite::NumericGradients(const Variant& variant) {
  if (setting_.device != at::kCPU) return;
  const Instance instance = Make(variant);
  BlockCase c(2060, 2, 7, variant.model.width());
  c.PadFrom({7, 4});
  const BlockOutcome exact = RunFast(*instance, c);
  RandomStream random(1, RandomDomain::kTest, {2061, 0, 0});
  const c10::NoGradGuard no_gradient;
  const auto loss = [&] {
    return (instance->block->Forward(c.input) * c.upstream).sum().item<double>();
  };
  const auto check = [&](const at::Tensor& value, const at::Tensor& gradient) {
    double worst = 0;
    double* values = value.mutable_data_ptr<double>();
    const at::Tensor dense = gradient.contiguous();
    for (int i = 0; i < 6; ++i) {
      const int64_t at = random.Between(0, value.numel() - 1);
      constexpr double kStep = 1e-5;
      const double kept = values[at];
      values[at] = kept + kStep;
      const double above = loss();
      values[at] = kept - kStep;
      const double below = loss();
      values[at] = kept;
      const double expected = dense.const_data_ptr<double>()[at];
      worst = Worse(worst, std::abs((above - below) / (2 * kStep) - expected) /
                               std::max(1.0, std::abs(expected)));
    }
    return worst;
  };
  double worst = check(c.input.x, exact.dx);
  const auto& parameters = instance->parameters.parameters();
  for (size_t i = 0; i < parameters.size(); ++i)
    worst = Worse(worst, check(parameters[i].value, exact.parameters[i]));
  Add("T2n", worst, kNumeric, "central differences at 6 coordinates of x and of each parameter");
}

// numerics.precision=BF16: matrix products in bfloat16, the rest and all sums in float32. What the
// block adds to its input is compared: the input itself is not rounded. Outputs only, because a
// relu inside makes gradients jump.
void BlockSuite::Bfloat16(const Variant& variant) {
  Variant in_float64 = variant;
  in_float64.type = at::kDouble;
  BlockCase exact(2090, 2, 61, variant.model.width());
  exact.PadFrom({61, 17});
  BlockCase rounded = exact;
  for (at::Tensor* t : {&exact.input.x, &exact.upstream}) *t = t->to(at::kFloat).to(at::kDouble);
  for (at::Tensor* t : {&rounded.input.x, &rounded.upstream}) *t = t->to(at::kFloat);
  const at::Tensor expected = exact.Real(RunOracle(in_float64, exact).output - exact.input.x);
  const PrecisionScope bfloat16(true, setting_.device.type());
  const at::Tensor added = exact.Real(RunFast(variant, rounded).output - rounded.input.x);
  Add("B16", RelativeDifference(added, expected, 1e-30), kBfloat16, "output less input, N = 61");
}

// Over several tiles of the fast forms.
void BlockSuite::Float32(const Variant& variant) {
  Variant in_float64 = variant;
  in_float64.type = at::kDouble;
  for (const bool has_holes : {false, true}) {
    BlockCase exact(2070, 2, 263, variant.model.width());
    if (has_holes) {
      exact.PadRandomly(2071);
    } else {
      exact.PadFrom({263, 151});
    }
    BlockCase rounded = exact;
    for (at::Tensor* t : {&exact.input.x, &exact.upstream}) *t = t->to(at::kFloat).to(at::kDouble);
    for (at::Tensor* t : {&rounded.input.x, &rounded.upstream}) *t = t->to(at::kFloat);
    const BlockOutcome fast = RunFast(variant, rounded);
    const BlockOutcome oracle = RunOracle(in_float64, exact);
    Add("F32", OutcomeDifference(fast, oracle, exact), kFloat,
        absl::StrCat("output and gradients, N = 263", variant.words,
                     has_holes ? ", a random third padded" : ""));
  }
}

// Devices have kernels of their own for these, in float32 alone.
void BlockSuite::Float32WithFilters(Variant variant) {
  variant.words = ", filters";
  variant.model.set_attention_filter_tokens(3);
  Float32(variant);
}

void BlockSuite::Owns() {
  Variant with_biases = Main();
  with_biases.words = ", biases";
  with_biases.model.set_attention_bias(true);
  for (const Variant& variant : {Main(), with_biases}) {
    const Instance instance = Make(variant);
    int64_t of_attention = 0;
    if (attention_ != kNoAttention) {
      ParameterStore parameters(1);
      AttentionContext context;
      context.heads = variant.model.heads();
      context.head_width = variant.model.qkv_width() / context.heads;
      context.model_width = variant.model.width();
      context.max_length_tokens = ContextOf(variant)->max_length_tokens;
      context.parameters = &parameters;
      context.options = ContextOf(variant)->attention.options();
      (void)AttentionRegistry::Get().Create("attention", attention_, context);
      of_attention = parameters.count();
    }
    const double missing = static_cast<double>(instance->parameters.count() - of_attention -
                                               instance->block->ParameterCount());
    Add("P", std::abs(missing), 0,
        absl::StrCat("parameters owned beside those declared", variant.words));
  }
}

namespace {

// Bytes that stay allocated while what `compute` returns lives.
int64_t KeptBytes(const std::function<at::Tensor()>& compute) {
  const MeteredScope metered;
  const at::Tensor result = compute();
  return metered.meter().live_bytes();
}

}  // namespace

// Measured by LibTorch's allocator on the CPU.
void BlockSuite::ActivationMemory() {
  if (setting_.device != at::kCPU) return;
  Variant variant = Main();
  variant.type = at::kFloat;
  variant.model.set_width(64);
  variant.model.set_qkv_width(48);
  variant.model.set_mlp_width(96);
  const Instance instance = Make(variant);
  const Block& block = *instance->block;
  for (const int64_t tokens : {128, 512}) {
    BlockCase c(2080, 2, tokens, variant.model.width(), at::kFloat);
    c.Drop(0.1, 0);
    c.input.x.requires_grad_();
    int64_t kept = KeptBytes([&] { return block.Forward(c.input); });
    if (block.attention() != nullptr) {
      AttentionInput inside = block.InputOfAttention(c.input);
      for (at::Tensor* t : {&inside.q, &inside.k, &inside.v, &inside.x})
        if (t->defined()) *t = t->detach().requires_grad_();
      at::Tensor attended;
      kept -= KeptBytes([&] { return attended = block.attention()->Attend(inside); });
      kept += static_cast<int64_t>(attended.nbytes());  // it is the block's to keep
    }
    const double ratio =
        static_cast<double>(kept) / static_cast<double>(block.ActivationBytes(2, tokens));
    Add("A", ratio > 0 ? std::max(ratio, 1 / ratio) : HUGE_VAL, kMemoryFactor,
        absl::StrCat("measured over declared, or the reverse, N = ", tokens));
  }
}

}  // namespace lra::internal
