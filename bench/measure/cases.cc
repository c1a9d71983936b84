#include "bench/measure/cases.h"

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "lra/status_macros.h"
#include "models/interface/options.h"

namespace lra {
namespace {

constexpr char kScope[] = "attention.";

absl::StatusOr<std::unique_ptr<Attention>> Create(const BenchRequest& request,
                                                  ParameterStore* store) {
  AttentionContext context;
  context.heads = request.heads();
  context.head_width = request.head_width();
  context.model_width = context.heads * context.head_width;
  context.max_length_tokens = request.tokens();
  context.parameters = store;
  context.scope = kScope;
  LRA_ASSIGN_OR_RETURN(context.options,
                       LoadAttentionOptions(request.attention(),
                                            {request.options().begin(), request.options().end()}));
  return AttentionRegistry::Get().Create("attention", request.attention(), context);
}

at::Tensor Random(const BenchRequest& request) {
  return at::randn({request.batch(), request.tokens(), request.heads(), request.head_width()})
      .transpose(1, 2);
}

at::Tensor Leaf(const BenchRequest& request) {
  return Random(request).detach().set_requires_grad(true);
}

// Lengths fall evenly from N to N / 2.
at::Tensor Keep(const BenchRequest& request) {
  const int64_t n = request.tokens(), last = std::max<int64_t>(1, request.batch() - 1);
  std::vector<int64_t> lengths;
  for (int64_t b = 0; b < request.batch(); ++b) lengths.push_back(n - n / 2 * b / last);
  return at::arange(n).unsqueeze(0) < at::tensor(lengths).unsqueeze(1);
}

absl::Status CheckCausal(const Traits& traits, const BenchRequest& request) {
  if (!request.causal() || traits.causality != Causality::kNever) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("attention \"", request.attention(), "\" has ", NoCausalForm(traits)));
}

}  // namespace

std::vector<MethodChoice> RegisteredMethods() {
  std::vector<MethodChoice> methods;
  for (const std::string& name : AttentionRegistry::Get().Names()) {
    BenchRequest request;
    request.set_attention(name);
    request.set_heads(kHeads);
    request.set_head_width(kHeadWidth);
    request.set_tokens(1024);
    ParameterStore store(1);
    const auto attention = Create(request, &store);
    if (!attention.ok()) continue;
    const Causality causality = (*attention)->traits().causality;
    if (causality != Causality::kAlways) methods.push_back({name, {}, false});
    if (causality != Causality::kNever) methods.push_back({name, {}, true});
  }
  return methods;
}

absl::StatusOr<std::unique_ptr<Case>> Case::Make(const BenchRequest& request) {
  std::unique_ptr<Case> c(new Case());
  LRA_ASSIGN_OR_RETURN(c->attention_, Create(request, &c->store_));
  const Traits& traits = c->attention_->traits();
  LRA_RETURN_IF_ERROR(CheckCausal(traits, request));
  at::manual_seed(1);
  AttentionInput& input = c->input_;
  input.q = Leaf(request);
  input.k = traits.projections == Projections::kQueryKeyValue ? Leaf(request) : input.q;
  input.v = traits.projections == Projections::kNone ? input.q : Leaf(request);
  if (traits.uses_layer_input) {
    input.x = at::randn({request.batch(), request.tokens(),
                         int64_t{request.heads()} * request.head_width()})
                  .set_requires_grad(true);
  }
  if (request.padded()) input.keep = Keep(request);
  input.causal = request.causal();
  c->upstream_ = Random(request);
  return c;
}

int Case::distinct_inputs() const {
  return 1 + (input_.k.is_same(input_.q) ? 0 : 1) + (input_.v.is_same(input_.q) ? 0 : 1);
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

}  // namespace lra
