#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lra/status_macros.h"
#include "models/base/runtime.h"
#include "models/base/torch_status.h"
#include "models/conformance/attention_suite.h"
#include "models/conformance/one_thread.h"
#include "models/conformance/option_effects.h"
#include "models/conformance/option_rules.h"
#include "models/conformance/registration_rules.h"
#include "models/conformance/try_promise.h"
#include "models/interface/attend.h"
#include "models/interface/options.h"

namespace lra {
namespace internal {

absl::StatusOr<SuiteInstances> MakeInstances(const AttentionMaker& maker, at::Device device,
                                             bool has_slopes) {
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
    // ALiBi's largest with eight heads: behind 200 masked keys weights are subnormal in float32.
    for (int64_t h = 0; has_slopes && h < shape.first; ++h)
      context.distance_slopes.push_back(0.5 / static_cast<double>(h + 1));
    const auto make = [&]() -> absl::Status {
      absl::StatusOr<std::unique_ptr<Attention>> made = maker(context);
      if (made.ok()) instance.attention = *std::move(made);
      return Annotate(made.status(), absl::StrCat("made for the cases with H = ", shape.first,
                                                  ", D = ", shape.second, " and at most ",
                                                  kSuiteTokens, " tokens"));
    };
    LRA_RETURN_IF_ERROR(make());
    if (instance.attention->traits().projections == Projections::kNone) {
      // Its q, k and v are the layer's input, so E is their width.
      instance.parameters = ParameterStore(1);
      context.model_width = shape.first * shape.second;
      LRA_RETURN_IF_ERROR(make());
    }
    instance.parameters.MoveTo(device);
  }
  return instances;
}

AttentionInput AttentionSuite::InputOf(const AttentionCase& c) const {
  AttentionInput input = OnDevice(c.input, setting_.device);
  if (!traits().uses_layer_input) input.x = at::Tensor();
  return input;
}

at::Tensor AttentionSuite::Attend(const AttentionCase& c) const {
  const Attention& attention = *InstanceOf(c).attention;
  const AttentionInput input = InputOf(c);
  const at::Tensor output = attention.Attend(input);
  CheckOutput(attention, input, output);
  return output.cpu();
}

// Promises about masks and batches.
void AttentionSuite::Masks(at::ScalarType type, bool causal) {
  const std::string where = absl::StrCat(TypeName(type), causal ? ", causal" : "");
  Try("T3", where, [&] { PadContent(type, causal); });
  Try("T4", where, [&] { PadAmount(type, causal); });
  Try("T9", where, [&] { BatchIndependence(type, causal); });
  Try("T13", where, [&] { FullyMasked(type, causal); });
}

void AttentionSuite::RunFloat32() {
  EachForm([&](bool causal) {
    Try("F32", causal ? "N = 523, causal" : "N = 523", [&] { Float32(causal); });
    Float32Shapes(causal);
    Float32Longest(causal);
    Masks(at::kFloat, causal);
  });
  if (traits().supports_streaming) Try("T6", "float32", [&] { Streaming(at::kFloat, true); });
}

void AttentionSuite::RunFloat64() {
  EachForm([&](bool causal) {
    ForwardAndGradients(causal);
    Try("T2n", causal ? "N = 11, causal" : "N = 11", [&] { NumericGradients(causal); });
    Masks(at::kDouble, causal);
    Try("T2", "parameters", [&] { ParameterGradients(causal); });
    if (traits().is_row_stochastic) Try("T7", "positive q and k", [&] { RowStochastic(causal); });
    if (traits().has_weights) Try("W", "N = 33", [&] { Weights(causal); });
    Try("T10", "N = 45", [&] { Repeats(causal); });
  });
  Try("T1", "in training", [&] { CrossAndNoise(); });
  if (has_causal()) {
    Try("T5", "later tokens", [&] { Future(); });
    Try("T5", "the causal form beside the other", [&] { CausalFlag(); });
  }
  for (const bool is_ragged : {false, true}) {
    if (!traits().supports_streaming) continue;
    Try("T6", is_ragged ? "random mask" : "no mask", [&] { Streaming(at::kDouble, is_ragged); });
  }
  Try("T8", "permuted keys", [&] { Permutation(); });
  Try("R", "N = 13", [&] { ReadsWhatItClaims(); });
  Try("L", "a sequence above the longest", [&] { LengthBound(); });
}

std::vector<ConformanceResult> AttentionSuite::Run() {
  if (setting_.Tries(at::kDouble)) RunFloat64();
  if (setting_.Tries(at::kFloat)) RunFloat32();
  if (setting_.Tries(at::kBFloat16)) {
    Try("B16", "N = 263", [&] { Bfloat16(false); });
    if (has_both()) Try("B16", "N = 263, causal", [&] { Bfloat16(true); });
  }
  return std::move(results_);
}

}  // namespace internal

bool CheckSetting::Tries(at::ScalarType type) const {
  return types.empty() || std::find(types.begin(), types.end(), type) != types.end();
}

absl::StatusOr<CheckSetting> ParseCheckSetting(absl::string_view device, absl::string_view type) {
  CheckSetting setting;
  LRA_ASSIGN_OR_RETURN(setting.device, OpenDevice(device));
  if (type.empty()) return setting;
  constexpr std::pair<const char*, at::ScalarType> kTypes[] = {
      {"float64", at::kDouble}, {"float32", at::kFloat}, {"bfloat16", at::kBFloat16}};
  for (const auto& [name, known] : kTypes) {
    if (type == name) setting.types = {known};
  }
  if (!setting.types.empty()) return setting;
  return absl::InvalidArgumentError(
      absl::StrCat("--dtype: is \"", type, "\", must be float64, float32 or bfloat16"));
}

absl::StatusOr<std::vector<ConformanceResult>> CheckAttention(absl::string_view name,
                                                              const AttentionMaker& maker,
                                                              const CheckSetting& setting) {
  std::vector<ConformanceResult> results;
  const internal::OneThread one_thread;
  LRA_RETURN_IF_ERROR(CatchTorch([&]() -> absl::Status {
    LRA_ASSIGN_OR_RETURN(auto instances, internal::MakeInstances(maker, setting.device));
    LRA_ASSIGN_OR_RETURN(auto twins, internal::MakeInstances(maker, setting.device));
    LRA_ASSIGN_OR_RETURN(auto references, internal::MakeInstances(maker, at::kCPU));
    results = internal::AttentionSuite(name, setting, &instances, &twins, &references).Run();
    if (!instances.begin()->second.attention->traits().takes_distance_slopes)
      return absl::OkStatus();
    LRA_ASSIGN_OR_RETURN(auto sloped, internal::MakeInstances(maker, setting.device, true));
    LRA_ASSIGN_OR_RETURN(auto sloped_references, internal::MakeInstances(maker, at::kCPU, true));
    internal::AttentionSuite with(name, setting, &sloped, &twins, &sloped_references);
    for (ConformanceResult& result : with.RunWithSlopes(instances))
      results.push_back(std::move(result));
    return absl::OkStatus();
  }));
  return results;
}

namespace {

// E, which is of the config file's options: one that is never read has no effect beside these,
// whatever is set meanwhile.
void AddOptionEffects(absl::string_view name, const AttentionMaker& maker,
                      const google::protobuf::Any& options,
                      std::vector<ConformanceResult>* results) {
  const absl::StatusOr<google::protobuf::Any> of_file = LoadAttentionOptions(name);
  if (!of_file.ok()) {
    results->push_back(NotCompared("E", name, "options", of_file.status()));
  } else if (of_file->value() == options.value()) {
    internal::TryPromise("E", name, "options", results, [&] {
      for (ConformanceResult& result : internal::CheckOptionEffects(name, maker, options))
        results->push_back(std::move(result));
    });
  }
}

}  // namespace

absl::StatusOr<std::vector<ConformanceResult>> CheckAttention(absl::string_view name,
                                                              const google::protobuf::Any& options,
                                                              const CheckSetting& setting) {
  const AttentionMaker maker = [&](const AttentionContext& context) {
    AttentionContext with_options = context;
    with_options.options = options;
    return AttentionRegistry::Get().Create("attention", name, with_options);
  };
  LRA_ASSIGN_OR_RETURN(std::vector<ConformanceResult> results,
                       CheckAttention(name, maker, setting));
  if (!setting.types.empty()) return results;
  const AttentionMaker with_its_own = [&](const AttentionContext& context) {
    return AttentionRegistry::Get().Create("attention", name, context);
  };
  internal::TryPromise("O", name, "options", &results, [&] {
    for (ConformanceResult& result : internal::CheckOptionRules(name, with_its_own, options))
      results.push_back(std::move(result));
  });
  if (setting.device.is_cpu()) AddOptionEffects(name, with_its_own, options, &results);
  for (ConformanceResult& result : internal::CheckRegistration(name, options))
    results.push_back(std::move(result));
  return results;
}

}  // namespace lra
