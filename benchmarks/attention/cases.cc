#include "benchmarks/attention/cases.h"

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/randn.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

#include "benchmarks/attention/counting_allocator.h"
#include "benchmarks/timing.h"
#include "lra/status_macros.h"
#include "models/interface/options.h"

namespace lra {
namespace {

constexpr char kScope[] = "attention.";

absl::StatusOr<std::unique_ptr<Attention>> Create(const std::string& name, int64_t tokens,
                                                  ParameterStore* store) {
  AttentionContext context;
  context.heads = kHeads;
  context.head_width = kHeadWidth;
  context.model_width = kHeads * kHeadWidth;
  context.max_length_tokens = tokens;
  context.parameters = store;
  context.scope = kScope;
  LRA_ASSIGN_OR_RETURN(context.options, LoadAttentionOptions(name));
  return AttentionRegistry::Get().Create("attention", name, context);
}

// A leaf tensor [B, H, N, D].
at::Tensor Leaf(int64_t batch, int64_t tokens) {
  return at::randn({batch, tokens, kHeads, kHeadWidth})
      .transpose(1, 2)
      .detach()
      .set_requires_grad(true);
}

}  // namespace

std::vector<Method> RegisteredMethods() {
  std::vector<Method> methods;
  for (const std::string& name : AttentionRegistry::Get().Names()) {
    ParameterStore store(1);
    const auto attention = Create(name, 1024, &store);
    if (!attention.ok()) {
      std::fprintf(stderr, "left out: %s: %s\n", name.c_str(),
                   attention.status().ToString().c_str());
      continue;
    }
    const Traits& traits = (*attention)->traits();
    if (traits.causality != Causality::kAlways) methods.push_back({name, traits, false});
    if (traits.causality != Causality::kNever) methods.push_back({name, traits, true});
  }
  return methods;
}

absl::StatusOr<std::unique_ptr<Case>> Case::Make(const Method& method, int64_t batch,
                                                 int64_t tokens) {
  std::unique_ptr<Case> c(new Case(method));
  LRA_ASSIGN_OR_RETURN(c->attention_, Create(method.name, tokens, &c->store_));
  at::manual_seed(1);
  AttentionInput& input = c->input_;
  const Projections projections = method.traits.projections;
  input.q = Leaf(batch, tokens);
  input.k = projections == Projections::kQueryKeyValue ? Leaf(batch, tokens) : input.q;
  input.v = projections == Projections::kNone ? input.q : Leaf(batch, tokens);
  if (method.traits.uses_layer_input) {
    input.x = at::randn({batch, tokens, kHeads * kHeadWidth}).set_requires_grad(true);
  }
  input.causal = method.causal;
  c->upstream_ = at::randn({batch, tokens, kHeads, kHeadWidth}).transpose(1, 2);
  return c;
}

void Case::Run(const Form& form) const {
  form(*this).backward(upstream_);
  for (at::Tensor t : {input_.q, input_.k, input_.v, input_.x}) {
    if (t.defined()) t.mutable_grad() = at::Tensor();
  }
  for (const Parameter& parameter : store_.parameters())
    at::Tensor(parameter.value).mutable_grad() = at::Tensor();
}

at::Tensor Case::Owned(const std::string& name) const {
  for (const auto* owned : {&store_.parameters(), &store_.buffers()}) {
    for (const Parameter& parameter : *owned) {
      if (parameter.name == kScope + name) return parameter.value;
    }
  }
  return {};
}

Cost Measure(const Case& c, const Case::Form& form, int repetitions, double limit_seconds) {
  Cost cost;
  const int64_t live = LiveTensorBytes();
  ResetPeakTensorBytes();
  const double first = SecondsOf([&] { c.Run(form); });
  cost.peak_bytes = PeakTensorBytes() - live;
  // The first pass also allocates memory from the system, so it counts only if there is no other.
  std::vector<double> seconds;
  double total = first;
  for (int i = 1; i < repetitions && total + first <= limit_seconds; ++i) {
    seconds.push_back(SecondsOf([&] { c.Run(form); }));
    total += seconds.back();
  }
  if (seconds.empty()) seconds.push_back(first);
  cost.seconds = Median(seconds);
  return cost;
}

int64_t AvailableBytes() {
  std::ifstream info("/proc/meminfo");
  std::string name;
  int64_t kilobytes = 0;
  while (info >> name >> kilobytes) {
    if (name == "MemAvailable:") return kilobytes * 1024;
    std::getline(info, name);
  }
  return int64_t{8} << 30;
}

}  // namespace lra
