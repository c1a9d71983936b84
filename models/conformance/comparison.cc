#include "models/conformance/comparison.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "lra/check.h"
#include "lra/random.h"
#include "models/base/runtime.h"
#include "models/interface/attend.h"

namespace lra {
namespace {

constexpr uint32_t kSeed = 20240501;

// Rounds the value to bfloat16 and back and, in the backward, its gradient.
at::Tensor ThroughBfloat16(const at::Tensor& t) { return t.to(at::kBFloat16).to(t.scalar_type()); }

at::Tensor Run(const Attention& attention, Form form, AttentionInput input) {
  at::Tensor output;
  switch (form) {
    case Form::kFast:
      output = attention.Attend(input);
      CheckOutput(attention, input, output);
      return output;
    case Form::kOracle:
      output = attention.Oracle(input);
      CheckOutput(attention, input, output, "oracle's output");
      return output;
    case Form::kBfloat16:
    case Form::kBfloat16WithoutProducts:
      break;
  }
  const PrecisionScope bfloat16(true, input.q.device().type());
  const ProductTypeScope products(form == Form::kBfloat16 && input.q.device().is_cpu());
  for (at::Tensor* t : {&input.q, &input.k, &input.v}) *t = ThroughBfloat16(*t);
  return ThroughBfloat16(AttendWithoutAutocast(attention, input));
}

}  // namespace

at::Tensor RandomTensor(uint32_t stream, const std::vector<int64_t>& shape, at::ScalarType type) {
  at::Tensor tensor = at::empty(shape, at::kDouble);
  RandomStream random(kSeed, RandomDomain::kTest, {stream, 0, 0});
  double* values = tensor.mutable_data_ptr<double>();
  for (int64_t i = 0; i < tensor.numel(); ++i) values[i] = random.Normal();
  return tensor.to(type);
}

double MaxDifference(const at::Tensor& a, const at::Tensor& b) {
  if (a.sizes() != b.sizes()) return std::numeric_limits<double>::infinity();
  if (a.numel() == 0) return 0;
  const at::Tensor difference = (a.detach().to(at::kDouble) - b.detach().to(at::kDouble)).abs();
  if (!difference.isfinite().all().item<bool>()) return std::numeric_limits<double>::infinity();
  return difference.max().item<double>();
}

double RelativeDifference(const at::Tensor& a, const at::Tensor& b, double floor) {
  const double difference = MaxDifference(a, b);
  if (std::isinf(difference)) return difference;
  const double largest = b.numel() == 0 ? 0 : b.detach().abs().max().item<double>();
  return difference / std::max(floor, largest);
}

double Worse(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<double>::infinity();
  return std::max(a, b);
}

AttentionCase::AttentionCase(uint32_t stream, int64_t batch, int64_t heads, int64_t queries,
                             int64_t keys, int64_t width, at::ScalarType type) {
  const auto draw = [&](uint32_t which, int64_t tokens) {
    return RandomTensor(4 * stream + which, {batch, heads, tokens, width}, type)
        .transpose(1, 2)
        .contiguous()
        .transpose(1, 2);
  };
  input.q = draw(0, queries);
  input.k = draw(1, keys);
  input.v = draw(2, keys);
  upstream = draw(3, queries);
  input.x = RandomTensor(1000000 + stream, {batch, queries, LayerInputWidth(heads, width)}, type);
}

void AttentionCase::MaskFromLengths(const std::vector<int64_t>& lengths) {
  const int64_t batch = input.k.size(0), keys = input.k.size(2);
  LRA_CHECK(static_cast<int64_t>(lengths.size()) == batch);
  const at::Tensor positions = at::arange(keys, at::kLong).unsqueeze(0);
  input.keep = positions < at::tensor(lengths, at::kLong).unsqueeze(1);  // [B, Nk]
  if (input.q.size(2) != keys) return;  // queries of another sequence are all real
  // masked_fill() would lay it out anew.
  upstream = at::where(input.keep.view({batch, 1, keys, 1}), upstream, 0);
}

void AttentionCase::MaskRandomly(uint32_t stream) {
  input.keep = RandomTensor(stream, {input.k.size(0), input.k.size(2)}, at::kDouble) > -0.4;
  input.keep.select(1, 0).fill_(true);
}

void AttentionCase::MakeContiguous() {
  for (at::Tensor* t : {&input.q, &input.k, &input.v, &upstream}) *t = t->contiguous();
}

AttentionCase AttentionCase::Example(int64_t b, int64_t tokens) const {
  const auto cut = [&](const at::Tensor& t) {
    return t.narrow(0, b, 1).narrow(2, 0, tokens).contiguous();
  };
  AttentionCase one = *this;
  one.input.q = cut(input.q);
  one.input.k = cut(input.k);
  one.input.v = cut(input.v);
  one.upstream = cut(upstream);
  if (input.x.defined()) one.input.x = input.x.narrow(0, b, 1).narrow(1, 0, tokens).contiguous();
  InnerDropout& inner = one.input.inner_dropout;
  for (DropoutKey* key :
       {&one.input.weight_dropout, &inner.before_activation, &inner.after_activation}) {
    if (key->example_ids.defined()) key->example_ids = key->example_ids.narrow(0, b, 1);
  }
  if (input.keep.defined())
    one.input.keep = input.keep.narrow(0, b, 1).narrow(1, 0, tokens).contiguous();
  return one;
}

AttentionInput OnDevice(AttentionInput input, at::Device device) {
  for (at::Tensor* t : {&input.q, &input.k, &input.v, &input.x, &input.keep}) {
    if (t->defined()) *t = t->to(device);
  }
  return input;
}

namespace {

at::Tensor GradientOf(const at::Tensor& t) {
  return t.grad().defined() ? t.grad().cpu() : at::zeros_like(t, at::kCPU);
}

}  // namespace

ParametersIn::ParametersIn(at::ScalarType type, const ParameterStore& owned) {
  for (const Parameter& parameter : owned.parameters()) {
    at::Tensor value = parameter.value;
    kept_.push_back(value.detach());
    value.set_data(kept_.back().to(type));
    value.mutable_grad() = at::Tensor();
    values_.push_back(value);
  }
}

ParametersIn::~ParametersIn() {
  for (size_t i = 0; i < values_.size(); ++i) {
    values_[i].mutable_grad() = at::Tensor();
    values_[i].set_data(kept_[i]);
  }
}

std::vector<at::Tensor> ParametersIn::Gradients() const {
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& value : values_) gradients.push_back(GradientOf(value));
  return gradients;
}

AttentionOutcome RunAttention(const Attention& attention, Form form, const AttentionCase& c,
                              at::Device device, const ParameterStore& owned) {
  AttentionInput input = OnDevice(c.input, device);
  const bool uses_x = attention.traits().uses_layer_input;
  if (!uses_x) input.x = at::Tensor();
  for (at::Tensor* t : {&input.q, &input.k, &input.v, &input.x}) {
    if (t->defined()) *t = t->detach().clone().set_requires_grad(true);
  }
  const ParametersIn parameters(c.input.q.scalar_type(), owned);
  AttentionOutcome outcome;
  outcome.output = Run(attention, form, input);
  (outcome.output * c.upstream.to(device)).sum().backward();
  outcome.dq = GradientOf(input.q);
  outcome.dk = GradientOf(input.k);
  outcome.dv = GradientOf(input.v);
  if (uses_x) outcome.dx = GradientOf(input.x);
  outcome.parameters = parameters.Gradients();
  outcome.output = outcome.output.detach().cpu();
  return outcome;
}

at::Tensor RealRows(const at::Tensor& output, const AttentionCase& c) {
  if (!c.input.keep.defined() || c.input.keep.size(1) != output.size(2)) return output;
  return output.masked_fill(c.input.keep.logical_not().view({output.size(0), 1, output.size(2), 1}),
                            0);
}

double OutcomeDifference(const AttentionOutcome& a, const AttentionOutcome& b,
                         const AttentionCase& c) {
  const auto difference = [](const at::Tensor& x, const at::Tensor& y) {
    return RelativeDifference(x, y, 1.0);
  };
  LRA_CHECK(a.parameters.size() == b.parameters.size());
  double worst = a.dx.defined() ? difference(a.dx, b.dx) : 0;
  for (size_t i = 0; i < a.parameters.size(); ++i)
    worst = std::max(worst, difference(a.parameters[i], b.parameters[i]));
  return std::max({difference(RealRows(a.output, c), RealRows(b.output, c)), difference(a.dq, b.dq),
                   difference(a.dk, b.dk), difference(a.dv, b.dv), worst});
}

}  // namespace lra
