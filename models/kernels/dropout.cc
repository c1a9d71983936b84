#include "models/kernels/dropout.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/native_dropout_backward.h>
#include <ATen/ops/ones.h>
#include <torch/csrc/autograd/custom_function.h>

#include <vector>

#include "lra/check.h"
#include "models/kernels/dispatch.h"
#include "models/kernels/dropout_on_device.h"
#include "models/kernels/saved_dropout_key.h"

namespace lra {

bool HasIdsOf(const DropoutKey& key, int64_t examples) {
  return !key.active() || (key.example_ids.dim() == 1 && key.example_ids.size(0) == examples &&
                           key.example_ids.scalar_type() == at::kLong && key.example_ids.is_cpu() &&
                           key.example_ids.is_contiguous());
}

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr KernelNeeds kDropoutNeeds;
constexpr int64_t kGrainElements = 1 << 15;

// mask * x + residual (unless undefined), float32 on the CPU, not empty.
at::Tensor ApplyTiled(const at::Tensor& x, const at::Tensor& residual, const DropoutKey& key) {
  const int64_t tokens = x.size(1), channels = x.size(2), rows = x.size(0) * tokens;
  const at::Tensor dense_x = x.contiguous();
  const at::Tensor dense_residual = residual.defined() ? residual.contiguous() : residual;
  at::Tensor out = at::empty_like(dense_x);
  const DropoutRows mask(key, tokens);
  const float* from = dense_x.const_data_ptr<float>();
  const float* base = residual.defined() ? dense_residual.const_data_ptr<float>() : nullptr;
  float* to = out.mutable_data_ptr<float>();
  at::parallel_for(0, rows, kGrainElements / channels + 1, [&](int64_t begin, int64_t end) {
    const int64_t at = begin * channels;
    ApplyDropoutRows(mask, begin, end - begin, channels, from + at, base ? base + at : nullptr,
                     to + at);
  });
  return out;
}

// The same, no autograd. `kept`, unless undefined, is what was drawn on the device.
at::Tensor Apply(const at::Tensor& x, const at::Tensor& residual, const DropoutKey& key,
                 const at::Tensor& kept) {
  LRA_CHECK(x.dim() == 3) << "dropout wants [B, N, C]";
  LRA_CHECK(!residual.defined() || residual.sizes() == x.sizes())
      << "the residual is " << residual.sizes() << ", x is " << x.sizes();
  LRA_CHECK(HasIdsOf(key, x.size(0))) << "dropout wants an id for each of " << x.size(0);
  if (DispatchKernel(kDropoutNeeds, {x, residual}) != KernelPath::kGeneric)
    return ApplyTiled(x, residual, key);
  const at::Tensor scaled =
      kept.defined() ? at::native_dropout_backward(x, kept.expand_as(x), key.Scale())  // one pass
                     : x * DropoutMask(key, x.size(1), x.size(2)).to(x.options());
  return residual.defined() ? residual + scaled : scaled;
}

class DropoutAddFunction : public torch::autograd::Function<DropoutAddFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x,
                            const std::optional<at::Tensor>& residual, const DropoutKey& key) {
    SaveDropoutKey("key", key, &context->saved_data);
    context->saved_data["has_residual"] = residual.has_value();
    at::Tensor kept;
    if (!x.is_cpu()) {
      kept = internal::KeptChannels(key, x.size(1), x.size(2), x.device());
      context->saved_data["kept"] = kept;
    }
    return Apply(x, residual.value_or(at::Tensor()), key, kept);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    auto& saved = context->saved_data;
    const DropoutKey key = LoadDropoutKey("key", &saved);
    const at::Tensor gradient = gradients[0].contiguous();
    const auto drawn = saved.find("kept");
    const at::Tensor kept = drawn == saved.end() ? at::Tensor() : drawn->second.toTensor();
    return {Apply(gradient, at::Tensor(), key, kept),
            saved["has_residual"].toBool() ? gradient : at::Tensor(), at::Tensor()};
  }
};

}  // namespace

at::Tensor Dropout(const at::Tensor& x, const DropoutKey& key) {
  if (!key.active()) return x;
  return DropoutAddFunction::apply(x, std::optional<at::Tensor>(), key);
}

at::Tensor DropoutAdd(const at::Tensor& x, const at::Tensor& residual, const DropoutKey& key) {
  if (!key.active()) return residual + x;
  return DropoutAddFunction::apply(x, std::optional<at::Tensor>(residual), key);
}

at::Tensor DropoutMask(const DropoutKey& key, int64_t tokens, int64_t channels, at::Device device) {
  const std::vector<int64_t> shape = {key.example_ids.size(0), tokens, channels};
  if (!device.is_cpu() && key.active()) {
    const at::Tensor kept = internal::KeptChannels(key, tokens, channels, device);
    return internal::ScaledMask(kept.expand(shape), key, at::kFloat);
  }
  const at::Tensor ones = at::ones(shape, at::TensorOptions(at::kFloat).device(device));
  return key.active() && ones.numel() > 0 ? ApplyTiled(ones, at::Tensor(), key) : ones;
}

at::Tensor WeightDropoutMask(const DropoutKey& key, int64_t heads, int64_t queries, int64_t keys,
                             at::Device device) {
  return WeightDropoutBlock(key, heads, 0, queries, 0, keys, device);
}

at::Tensor WeightDropoutBlock(const DropoutKey& key, int64_t heads, int64_t first_query,
                              int64_t queries, int64_t first_key, int64_t keys, at::Device device) {
  LRA_CHECK(first_key % kDropoutTileKeys == 0);
  if (!device.is_cpu() && key.active()) {
    return internal::ScaledMask(
        internal::KeptWeights(key, heads, first_query, queries, first_key, keys, device), key,
        at::kFloat);
  }
  at::Tensor mask = at::ones({key.example_ids.size(0), heads, queries, keys},
                             at::TensorOptions(at::kFloat).device(device));
  if (!key.active() || mask.numel() == 0) return mask;
  float* values = mask.mutable_data_ptr<float>();
  const int64_t size = queries * keys;
  at::parallel_for(0, mask.size(0) * heads, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      // Drawn as if each example had first_query + queries tokens.
      const int64_t tokens = first_query + queries;
      DropoutRows rows(key, tokens);
      rows.first_block =
          static_cast<uint32_t>(i % heads) << 18 | static_cast<uint32_t>(first_key / 8);
      // Rows are counted over all examples of one head.
      ApplyDropoutRows(rows, i / heads * tokens + first_query, queries, keys, values + i * size,
                       nullptr, values + i * size);
    }
  });
  return mask;
}

}  // namespace lra
