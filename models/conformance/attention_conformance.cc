#include <ATen/Parallel.h>

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
    if (instance.attention->traits().projections != Projections::kNone) continue;
    // Its q, k and v are the layer's input, so E is their width.
    instance.parameters = ParameterStore(1);
    context.model_width = shape.first * shape.second;
    LRA_ASSIGN_OR_RETURN(instance.attention, maker(context));
  }
  return instances;
}

at::Tensor AttentionSuite::Attend(const AttentionCase& c) const {
  AttentionInput input = c.input;
  if (!traits().uses_layer_input) input.x = at::Tensor();
  return InstanceOf(c).attention->Attend(input);
}

std::vector<ConformanceResult> AttentionSuite::RunFloat32() {
  for (const bool causal : {false, true}) {
    if (causal && !has_both()) continue;
    Float32(causal);
    Bfloat16(causal);
    PadContent(at::kFloat, causal);
    PadAmount(at::kFloat, causal);
    BatchIndependence(at::kFloat, causal);
    FullyMasked(at::kFloat, causal);
  }
  if (traits().supports_streaming) Streaming(at::kFloat, true);
  return std::move(results_);
}

std::vector<ConformanceResult> AttentionSuite::Run() {
  for (const bool causal : {false, true}) {
    if (causal && !has_both()) continue;
    ForwardAndGradients(causal);
    NumericGradients(causal);
    Float32(causal);
    Bfloat16(causal);
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

namespace {

// The cases are small: threads would cost more than they save. M5 compares thread counts.
class OneThread {
 public:
  OneThread() : threads_(at::get_num_threads()) { at::set_num_threads(1); }
  ~OneThread() { at::set_num_threads(threads_); }

 private:
  const int threads_;
};

}  // namespace
}  // namespace internal

absl::StatusOr<std::vector<ConformanceResult>> CheckAttention(absl::string_view name,
                                                              const AttentionMaker& maker,
                                                              CheckScope scope) {
  std::vector<ConformanceResult> results;
  const internal::OneThread one_thread;
  LRA_RETURN_IF_ERROR(CatchTorch([&]() -> absl::Status {
    LRA_ASSIGN_OR_RETURN(internal::SuiteInstances instances, internal::MakeInstances(maker));
    LRA_ASSIGN_OR_RETURN(internal::SuiteInstances twins, internal::MakeInstances(maker));
    internal::AttentionSuite suite(name, &instances, &twins);
    results = scope == CheckScope::kAll ? suite.Run() : suite.RunFloat32();
    return absl::OkStatus();
  }));
  return results;
}

absl::StatusOr<std::vector<ConformanceResult>> CheckAttention(absl::string_view name,
                                                              const google::protobuf::Any& options,
                                                              CheckScope scope) {
  const AttentionMaker maker = [&](const AttentionContext& context) {
    AttentionContext with_options = context;
    with_options.options = options;
    return AttentionRegistry::Get().Create("attention", name, with_options);
  };
  return CheckAttention(name, maker, scope);
}

}  // namespace lra
