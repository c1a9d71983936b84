#include "models/parameter_count.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lra/config.h"
#include "lra/progress.h"
#include "lra/status_macros.h"
#include "models/base/shapes_only.h"
#include "models/classifier.h"

namespace lra {

absl::StatusOr<int64_t> CountParameters(const ExperimentConfig& config, const TaskSpec& spec) {
  const ShapesOnlyScope shapes_only;
  LRA_ASSIGN_OR_RETURN(const std::unique_ptr<Classifier> classifier,
                       Classifier::Create(config, spec));
  return classifier->parameters().count();
}

absl::StatusOr<int64_t> CountTransformerParameters(const ExperimentConfig& config,
                                                   const TaskSpec& spec) {
  if (config.attention().name() == kNoAttention) return 0;
  LRA_ASSIGN_OR_RETURN(const AttentionFile file, LoadAttentionFile(kReferenceAttention));
  ExperimentConfig reference = config;
  reference.mutable_attention()->set_name(kReferenceAttention);
  *reference.mutable_attention()->mutable_options() = file.attention().options();
  return CountParameters(reference, spec);
}

ParameterDifference CompareParameters(int64_t parameters, int64_t reference_parameters) {
  ParameterDifference compared = {parameters, parameters - reference_parameters};
  compared.percent =
      100.0 * static_cast<double>(compared.difference) / static_cast<double>(reference_parameters);
  compared.is_larger = compared.percent > kLargerPercent;
  return compared;
}

std::string DescribeParameters(int64_t parameters, int64_t transformer_parameters) {
  const ParameterDifference compared = CompareParameters(parameters, transformer_parameters);
  std::string text = absl::StrCat(
      FormatCount(parameters), " parameters, ", absl::StrFormat("%+.1f", compared.percent),
      " % beside the transformer's ", FormatCount(transformer_parameters));
  if (compared.is_larger) {
    absl::StrAppend(&text, ": above the +10 % that the benchmark allows");
  }
  return text;
}

}  // namespace lra
