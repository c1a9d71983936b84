#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lra/status_macros.h"
#include "models/base/torch_status.h"
#include "models/conformance/block_suite.h"
#include "models/conformance/one_thread.h"

namespace lra {
namespace internal {
namespace {

// What a block's parts may treat apart: explicit weights that can be dropped; positions and a
// length; no projections and no padding invariance; a state.
constexpr const char* kAttentions[] = {"transformer", "cosformer", "fnet", "s4d"};
constexpr int64_t kLongestTokens = 640;

// Every change of a vector moves it away from where it starts: norms of ones, biases of zeros and
// scales near zero hide what is missing.
void Stir(const ParameterStore& store, at::ScalarType type) {
  for (const auto* list : {&store.parameters(), &store.buffers()}) {
    for (const Parameter& parameter : *list) {
      at::Tensor value = parameter.value;
      at::Tensor stirred = value.detach().to(at::kDouble);
      if (stirred.dim() == 1)
        stirred = stirred + at::linspace(-0.3, 0.3, stirred.size(0), at::kDouble);
      value.set_data(stirred.to(at::kFloat).to(type));  // equal values in both types
    }
  }
}

}  // namespace

ModelConfig BlockSuite::MainModel() {
  ModelConfig model;
  model.set_width(12);
  model.set_heads(2);
  model.set_qkv_width(8);
  model.set_mlp_width(10);
  model.set_activation(ModelConfig::GELU_ERF);
  model.set_attention_bias(false);
  model.set_norm_epsilon(1e-5f);
  model.set_mask(ModelConfig::KEYS);
  model.set_norm(ModelConfig::LAYER);
  model.set_norm_placement(ModelConfig::BEFORE);
  return model;
}

absl::StatusOr<BlockContext> BlockSuite::ContextOf(const Variant& variant) const {
  BlockContext context;
  context.model = variant.model;
  context.attention.set_name(variant.attention);
  if (variant.attention != kNoAttention) {
    LRA_ASSIGN_OR_RETURN(const AttentionFile file, LoadAttentionFile(variant.attention));
    context.attention = file.attention();
  }
  context.attention.set_causal(variant.is_causal);
  context.index = variant.index;
  context.max_length_tokens = kLongestTokens;
  context.scope = "block.";
  return context;
}

absl::StatusOr<BlockSuite::Instance> BlockSuite::TryToMake(const Variant& variant) const {
  auto instance = std::make_unique<BlockInstance>();
  LRA_ASSIGN_OR_RETURN(BlockContext context, ContextOf(variant));
  context.parameters = &instance->parameters;
  LRA_ASSIGN_OR_RETURN(instance->block, maker_(context));
  Stir(instance->parameters, variant.type);
  return instance;
}

BlockSuite::Instance BlockSuite::Make(const Variant& variant) const {
  absl::StatusOr<Instance> instance = TryToMake(variant);
  TORCH_CHECK(instance.ok(), std::string(instance.status().message()));
  (*instance)->parameters.MoveTo(setting_.device);
  return *std::move(instance);
}

// --- Cases ---

BlockCase::BlockCase(uint32_t stream, int64_t batch, int64_t tokens, int64_t width,
                     at::ScalarType type) {
  input.x = RandomTensor(2 * stream, {batch, tokens, width}, type);
  upstream = RandomTensor(2 * stream + 1, {batch, tokens, width}, type);
  input.run.example_ids = at::arange(100, 100 + batch, at::kLong);
}

void BlockCase::PadFrom(const std::vector<int64_t>& lengths) {
  const at::Tensor positions = at::arange(input.x.size(1), at::kLong).unsqueeze(0);
  input.real = positions < at::tensor(lengths, at::kLong).unsqueeze(1);
  upstream = Real(upstream);
}

void BlockCase::PadRandomly(uint32_t stream) {
  input.real = RandomTensor(stream, {input.x.size(0), input.x.size(1)}, at::kDouble) > -0.4;
  input.real.select(1, 0).fill_(true);
  upstream = Real(upstream);
}

void BlockCase::Drop(double probability, double weight_probability, uint32_t step) {
  input.run.probability = static_cast<float>(probability);
  input.run.weight_probability = static_cast<float>(weight_probability);
  input.run.seed = 5;
  input.run.step = step;
  input.run.is_training = true;
}

void BlockCase::ReadFirstOnly() {
  input.reads_first_only = true;
  upstream = at::constant_pad_nd(upstream.narrow(1, 0, 1), {0, 0, 0, upstream.size(1) - 1});
}

BlockCase BlockCase::Example(int64_t b, int64_t tokens) const {
  BlockCase one = *this;
  const auto pick = [&](const at::Tensor& t) {
    return t.defined() ? t.narrow(0, b, 1).narrow(1, 0, tokens) : t;
  };
  one.input.x = pick(input.x);
  one.input.real = pick(input.real);
  one.upstream = pick(upstream);
  one.input.run.example_ids = input.run.example_ids.narrow(0, b, 1);
  return one;
}

at::Tensor BlockCase::Real(const at::Tensor& rows) const {
  return input.real.defined() ? rows.masked_fill(input.real.logical_not().unsqueeze(2), 0) : rows;
}

BlockInput BlockSuite::Place(const BlockInput& input) const {
  BlockInput placed = input;
  placed.x = input.x.to(setting_.device);
  if (input.real.defined()) placed.real = input.real.to(setting_.device);
  return placed;
}

namespace {

using Compute = at::Tensor (Block::*)(const BlockInput& input) const;

BlockOutcome RunForm(const BlockInstance& instance, Compute compute, BlockInput input,
                     const at::Tensor& upstream) {
  input.x = input.x.detach().clone().requires_grad_();
  for (const Parameter& p : instance.parameters.parameters())
    at::Tensor(p.value).mutable_grad() = at::Tensor();
  const at::Tensor output = (instance.block.get()->*compute)(input);
  output.backward(upstream.narrow(1, 0, output.size(1)).to(output.device()));
  BlockOutcome outcome = {output.detach().cpu(), input.x.grad().cpu(), {}};
  for (const Parameter& p : instance.parameters.parameters()) {
    outcome.parameters.push_back(
        (p.value.grad().defined() ? p.value.grad().clone() : at::zeros_like(p.value))
            .detach()
            .cpu());
  }
  return outcome;
}

}  // namespace

BlockOutcome BlockSuite::RunFast(const BlockInstance& instance, const BlockCase& c) const {
  return RunForm(instance, &Block::Forward, Place(c.input), c.upstream);
}

BlockOutcome BlockSuite::RunFast(const Variant& variant, const BlockCase& c) const {
  return RunFast(*Make(variant), c);
}

BlockOutcome BlockSuite::RunOracle(const Variant& variant, const BlockCase& c) const {
  return RunForm(*TryToMake(variant).value(), &Block::Oracle, c.input, c.upstream);
}

at::Tensor BlockSuite::Forward(const BlockInstance& instance, const BlockCase& c) const {
  return c.Real(instance.block->Forward(Place(c.input)).detach().cpu());
}

double OutcomeDifference(const BlockOutcome& a, const BlockOutcome& b, const BlockCase& c) {
  double worst = std::max(RelativeDifference(c.Real(a.output), c.Real(b.output), 1.0),
                          RelativeDifference(c.Real(a.dx), c.Real(b.dx), 1.0));
  double largest = 1.0;
  for (const at::Tensor& gradient : b.parameters)
    largest = std::max(largest, gradient.abs().max().item<double>());
  for (size_t i = 0; i < a.parameters.size(); ++i)
    worst = std::max(worst, MaxDifference(a.parameters[i], b.parameters[i]) / largest);
  return worst;
}

// --- The suite ---

void BlockSuite::RunWith(const std::string& attention) {
  attention_ = attention;
  const Variant main = Main();
  Variant in_float32 = main;
  in_float32.type = at::kFloat;
  for (const Variant& variant : {main, in_float32}) {
    if (!setting_.Tries(variant.type)) continue;
    Try("T3", [&] { PadContent(variant); });
    Try("T4", [&] { PadAmount(variant); });
    Try("T9", [&] { BatchIndependence(variant); });
  }
  if (setting_.Tries(at::kFloat)) {
    Try("F32", [&] { Float32(in_float32); });
    if (attention_ != kNoAttention) Try("F32", [&] { Float32WithFilters(in_float32); });
    Try("A", [&] { ActivationMemory(); });
  }
  if (setting_.Tries(at::kBFloat16)) Try("B16", [&] { Bfloat16(in_float32); });
  if (setting_.Tries(at::kDouble)) RunFloat64(main);
}

void BlockSuite::RunFloat64(const Variant& main) {
  Try("T1", [&] { ForwardAndGradients(main); });
  Try("T2n", [&] { NumericGradients(main); });
  Try("T1", [&] { OtherModels(); });
  Try("R", [&] { PositionsInside(); });
  for (const bool is_tied : {false, true}) Try("D", [&] { DropoutKeys(is_tied); });
  Try("T5", [&] { Causality(); });
  Try("P", [&] { Owns(); });
  Try("T10", [&] { Repeats(); });
}

absl::StatusOr<BlockTraits> BlockSuite::Traits() const {
  absl::StatusOr<Instance> instance = TryToMake({kNoAttention, "", MainModel()});
  if (!instance.ok()) instance = TryToMake({kAttentions[0], "", MainModel()});
  if (!instance.ok()) return instance.status();
  return (*instance)->block->traits();
}

absl::StatusOr<std::vector<ConformanceResult>> BlockSuite::Run() {
  // Whether it uses an attention is seen by what takes the name "none".
  LRA_RETURN_IF_ERROR(Traits().status());
  if (TryToMake({kNoAttention, "", MainModel()}).ok()) {
    RunWith(kNoAttention);
  } else {
    for (const char* attention : kAttentions) RunWith(attention);
  }
  if (setting_.Tries(at::kDouble)) Try("R", [&] { UsesAttention(); });
  return std::move(results_);
}

}  // namespace internal

absl::StatusOr<std::vector<ConformanceResult>> CheckBlock(absl::string_view name,
                                                          const BlockMaker& maker,
                                                          const CheckSetting& setting) {
  absl::StatusOr<std::vector<ConformanceResult>> results;
  const internal::OneThread one_thread;
  LRA_RETURN_IF_ERROR(CatchTorch([&]() -> absl::Status {
    results = internal::BlockSuite(name, maker, setting).Run();
    return results.status();
  }));
  return results;
}

namespace {

BlockMaker RegisteredMaker(absl::string_view name, const google::protobuf::Any& options) {
  return [name, &options](const BlockContext& context) {
    BlockContext with_options = context;
    with_options.options = options;
    return BlockRegistry::Get().Create("block", name, with_options);
  };
}

}  // namespace

absl::StatusOr<std::vector<ConformanceResult>> CheckBlock(absl::string_view name,
                                                          const google::protobuf::Any& options,
                                                          const CheckSetting& setting) {
  return CheckBlock(name, RegisteredMaker(name, options), setting);
}

absl::StatusOr<BlockTraits> TraitsOfCheckedBlock(absl::string_view name,
                                                 const google::protobuf::Any& options) {
  return internal::BlockSuite(name, RegisteredMaker(name, options)).Traits();
}

}  // namespace lra
