#include "models/factorized/recompute.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <array>

#include "models/base/product_type.h"

namespace lra::factorized {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr int64_t kGroups = 4;  // number of groups of heads

// The tensors that may get a gradient: q, k, v, x, then what each head owns.
constexpr size_t kOwnedFirst = 4, kTensors = kOwnedFirst + 5;
using Tensors = std::array<at::Tensor, kTensors>;

Tensors Gather(const FactorizedSpec& spec, const AttentionInput& input) {
  return {input.q,
          input.k,
          input.v,
          input.x,
          spec.gate_bias,
          spec.gate_weight,
          spec.learned_scale,
          spec.length_exponent,
          spec.projection_scale};
}

struct Problem {
  FactorizedSpec spec;
  AttentionInput input;
};

// The problem of heads [first, first + heads); q, k and v are already those of these heads.
Problem Slice(const FactorizedSpec& spec, const AttentionInput& input, const Tensors& tensors,
              int64_t first, int64_t heads) {
  const auto owned = [&](size_t i) {
    const at::Tensor& t = tensors[kOwnedFirst + i];
    return t.defined() ? t.narrow(0, first, heads) : t;
  };
  Problem problem = {spec, input};
  problem.input.q = tensors[0];
  problem.input.k = tensors[1];
  problem.input.v = tensors[2];
  problem.input.x = tensors[3];
  problem.spec.gate_bias = owned(0);
  problem.spec.gate_weight = owned(1);
  problem.spec.learned_scale = owned(2);
  problem.spec.length_exponent = owned(3);
  problem.spec.projection_scale = owned(4);
  if (spec.log_decay.defined()) problem.spec.log_decay = spec.log_decay.narrow(0, first, heads);
  return problem;
}

// Calls body(first, heads) for each group.
template <class Body>
void ForGroups(int64_t heads, Body body) {
  const int64_t step = std::max<int64_t>(1, heads / kGroups);
  for (int64_t first = 0; first < heads; first += step) body(first, std::min(step, heads - first));
}

// The group's part of q, k and v, and the other tensors whole.
Tensors Group(const Tensors& all, int64_t first, int64_t heads) {
  Tensors group = all;
  for (size_t i = 0; i < 3; ++i) group[i] = all[i].narrow(1, first, heads);
  return group;
}

class ByHeadsFunction : public torch::autograd::Function<ByHeadsFunction> {
 public:
  using Optional = std::optional<at::Tensor>;

  static at::Tensor forward(AutogradContext* context, const at::Tensor& q, const at::Tensor& k,
                            const at::Tensor& v, const Optional& x, const Optional& owned0,
                            const Optional& owned1, const Optional& owned2, const Optional& owned3,
                            const Optional& owned4, AttendHeads attend, const FactorizedSpec* spec,
                            const AttentionInput* input) {
    Tensors all = {q, k, v};
    const Optional* const optional[] = {&x, &owned0, &owned1, &owned2, &owned3, &owned4};
    for (size_t i = 3; i < kTensors; ++i) all[i] = optional[i - 3]->value_or(at::Tensor());
    context->save_for_backward(variable_list(all.begin(), all.end()));
    auto& saved = context->saved_data;
    saved["attend"] = reinterpret_cast<int64_t>(attend);
    saved["spec"] = reinterpret_cast<int64_t>(spec);
    saved["keep"] = input->keep.defined() ? std::optional(input->keep) : std::nullopt;
    saved["causal"] = input->causal;
    saved["is_bfloat16"] = ActiveProductType() == ProductType::kBfloat16;
    std::vector<at::Tensor> outputs;
    ForGroups(all[0].size(1), [&](int64_t first, int64_t heads) {
      const Problem part = Slice(*spec, *input, Group(all, first, heads), first, heads);
      outputs.push_back(attend(part.spec, part.input));
    });
    return at::cat(outputs, 1);
  }

  static variable_list backward(AutogradContext* context, variable_list upstream) {
    auto& saved = context->saved_data;
    const auto attend = reinterpret_cast<AttendHeads>(saved["attend"].toInt());
    const auto& spec = *reinterpret_cast<const FactorizedSpec*>(saved["spec"].toInt());
    AttentionInput input;
    input.keep = saved["keep"].toOptional<at::Tensor>().value_or(at::Tensor());
    input.causal = saved["causal"].toBool();
    const variable_list inputs = context->get_saved_variables();
    Tensors all;
    std::copy_n(inputs.begin(), kTensors, all.begin());
    // What is made again multiplies as it did.
    const ProductTypeScope products(saved["is_bfloat16"].toBool());
    Tensors gradients;
    for (size_t i = 0; i < kTensors; ++i) {
      if (all[i].defined()) gradients[i] = at::zeros_like(all[i]);
    }
    ForGroups(all[0].size(1), [&](int64_t first, int64_t heads) {
      AddGroup(attend, spec, input, Group(all, first, heads), upstream[0].narrow(1, first, heads),
               Group(gradients, first, heads), first, heads);
    });
    variable_list result(gradients.begin(), gradients.end());
    result.resize(kTensors + 3);  // attend, spec and input get no gradient
    return result;
  }

 private:
  static void AddGroup(AttendHeads attend, const FactorizedSpec& spec, const AttentionInput& input,
                       const Tensors& group, const at::Tensor& upstream, const Tensors& gradients,
                       int64_t first, int64_t heads) {
    const at::AutoGradMode enable(true);
    Tensors leaves = group;
    variable_list wanted;
    for (at::Tensor& leaf : leaves) {
      if (!leaf.defined()) continue;
      leaf = leaf.detach().set_requires_grad(true);
      wanted.push_back(leaf);
    }
    const Problem part = Slice(spec, input, leaves, first, heads);
    const variable_list found =
        torch::autograd::grad({attend(part.spec, part.input)}, wanted, {upstream}, std::nullopt,
                              false, /*allow_unused=*/true);
    size_t next = 0;
    for (size_t i = 0; i < kTensors; ++i) {
      if (!leaves[i].defined()) continue;
      const at::Tensor& gradient = found[next++];
      if (gradient.defined()) at::Tensor(gradients[i]).add_(gradient);
    }
  }
};

}  // namespace

at::Tensor AttendByHeads(AttendHeads attend, const FactorizedSpec& spec,
                         const AttentionInput& input) {
  const auto optional = [](const at::Tensor& t) {
    return t.defined() ? std::optional(t) : std::nullopt;
  };
  const Tensors all = Gather(spec, input);
  return ByHeadsFunction::apply(all[0], all[1], all[2],
                                spec.gate_weight.defined() ? optional(all[3]) : std::nullopt,
                                optional(all[4]), optional(all[5]), optional(all[6]),
                                optional(all[7]), optional(all[8]), attend, &spec, &input);
}

}  // namespace lra::factorized
