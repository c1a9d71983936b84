#include <utility>

#include "lra/status_macros.h"
#include "models/conformance/attention_suite.h"
#include "models/torch_status.h"

namespace lra {
namespace internal {

absl::StatusOr<SuiteInstances> MakeInstances(const AttentionMaker& maker) {
  SuiteInstances instances;
  for (const std::pair<int64_t, int64_t> shape :
       {std::pair{2, 4}, {3, 5}, {2, 6}, {2, 8}, {2, 16}}) {
    SuiteInstance& instance = instances[shape];
    AttentionContext context;
    context.heads = shape.first;
    context.head_width = shape.second;
    context.model_width = LayerInputWidth(shape.first, shape.second);
    context.max_length_tokens = kSuiteTokens;
    context.parameters = &instance.parameters;
    context.scope = "attention.";
    LRA_ASSIGN_OR_RETURN(instance.attention, maker(context));
  }
  return instances;
}

at::Tensor AttentionSuite::Attend(const AttentionCase& c) const {
  AttentionInput input = c.input;
  if (!traits().uses_layer_input) input.x = at::Tensor();
  return InstanceOf(c).attention->Attend(input);
}

std::vector<ConformanceResult> AttentionSuite::Run() {
  for (const bool causal : {false, true}) {
    if (causal && !has_both()) continue;
    ForwardAndGradients(causal);
    NumericGradients(causal);
    Float32(causal);
    for (const at::ScalarType type : {at::kDouble, at::kFloat}) {
      PadContent(type, causal);
      PadAmount(type, causal);
      BatchIndependence(type, causal);
      FullyMasked(type, causal);
    }
  }
  CrossAndNoise();
  ParameterGradients();
  if (has_causal()) {
    Future();
    CausalFlag();
  }
  if (traits().supports_streaming) {
    Streaming(at::kDouble, false);
    Streaming(at::kDouble, true);
    Streaming(at::kFloat, true);
  }
  if (traits().is_row_stochastic) RowStochastic();
  Permutation();
  if (traits().has_weights) Weights();
  ReadsWhatItClaims();
  LengthBound();
  Repeats();
  return std::move(results_);
}

}  // namespace internal

absl::StatusOr<std::vector<ConformanceResult>> CheckAttention(absl::string_view name,
                                                              const AttentionMaker& maker) {
  std::vector<ConformanceResult> results;
  LRA_RETURN_IF_ERROR(CatchTorch([&]() -> absl::Status {
    LRA_ASSIGN_OR_RETURN(internal::SuiteInstances instances, internal::MakeInstances(maker));
    LRA_ASSIGN_OR_RETURN(internal::SuiteInstances twins, internal::MakeInstances(maker));
    results = internal::AttentionSuite(name, &instances, &twins).Run();
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
