#include "cli/check_attention.h"

#include <iostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "cli/check_report.h"
#include "lra/status_macros.h"
#include "lra/text_columns.h"
#include "models/attention_facts.h"
#include "models/conformance/against.h"
#include "models/conformance/conformance.h"
#include "models/conformance/report.h"
#include "models/conformance/try_promise.h"
#include "models/interface/options.h"
#include "nlohmann/json.hpp"

namespace lra {
namespace {

using Json = nlohmann::ordered_json;

// The fewest options refuse these sizes, of those that the suite tries.
constexpr AttentionSizes kSuiteSizes = {2, 16, 35, 640};

std::string TensorLine(absl::string_view verdict, absl::string_view tensor, absl::string_view shape,
                       absl::string_view absolute, absl::string_view relative) {
  return absl::StrCat("  ", PadRight(verdict, 6), "  ", PadRight(tensor, 28), " ",
                      PadRight(shape, 20), " ", PadLeft(absolute, 10), "  ", PadLeft(relative, 10),
                      "\n");
}

}  // namespace

absl::StatusOr<int> CheckAndPrintAttention(const std::string& name,
                                           const std::vector<std::string>& sets,
                                           const TrialFlags& trial, Json* json) {
  LRA_ASSIGN_OR_RETURN(const CheckSetting setting, ParseCheckSetting(trial.device, trial.dtype));
  LRA_ASSIGN_OR_RETURN(const google::protobuf::Any options, LoadAttentionOptions(name, sets));
  LRA_ASSIGN_OR_RETURN(const AttentionFacts facts, DescribeAttention(name, options, kSuiteSizes));
  LRA_ASSIGN_OR_RETURN(std::vector<ConformanceResult> results,
                       CheckAttention(name, options, setting));
  AddOfModels(name, CheckClassifier(name, options, setting), &results);
  return ShowChecked({"attention", name, facts.traits.label, facts.traits.source,
                      ReportPromises(results), ReportTraits(facts.traits, results)},
                     json);
}

absl::StatusOr<int> CompareAndPrint(const std::string& name, const std::vector<std::string>& sets,
                                    const AgainstFlags& against, const TrialFlags& trial,
                                    Json* json) {
  if (!trial.dtype.empty())
    return absl::InvalidArgumentError("--dtype: with --against the file says which type it is");
  LRA_ASSIGN_OR_RETURN(const CheckSetting setting, ParseCheckSetting(trial.device, ""));
  AgainstRequest request = {name, {}, against.max_length_tokens, against.tolerance, setting.device};
  LRA_ASSIGN_OR_RETURN(request.options, LoadAttentionOptions(name, sets));
  LRA_ASSIGN_OR_RETURN(const AgainstReport report, CompareWithFile(against.file, request));
  int failures = 0;
  Json tensors = Json::array();
  if (json == nullptr) {
    std::cout << "attention " << name << " against " << against.file << " (" << report.dtype
              << (report.is_causal ? ", causal" : "") << ", longest sequence "
              << report.max_length_tokens << ", tolerance " << ErrorText(report.tolerance) << ")\n";
    std::cout << TensorLine("", "tensor", "shape", "absolute", "relative");
  }
  for (const ComparedTensor& tensor : report.tensors) {
    failures += tensor.passed ? 0 : 1;
    if (json != nullptr) {
      tensors.push_back({{"tensor", tensor.name},
                         {"shape", tensor.shape},
                         {"largest", JsonNumber(tensor.largest)},
                         {"absolute", JsonNumber(tensor.absolute)},
                         {"relative", JsonNumber(tensor.relative)},
                         {"passed", tensor.passed}});
      if (!tensor.not_finite.empty()) tensors.back()["not_finite"] = tensor.not_finite;
      continue;
    }
    std::cout << TensorLine(tensor.passed ? "ok" : "FAILED", tensor.name,
                            absl::StrCat("[", absl::StrJoin(tensor.shape, ", "), "]"),
                            ErrorText(tensor.absolute), ErrorText(tensor.relative));
    if (!tensor.not_finite.empty()) std::cout << "          " << tensor.not_finite << "\n";
  }
  if (json != nullptr) {
    json->push_back({{"attention", name},
                     {"against", against.file},
                     {"dtype", report.dtype},
                     {"causal", report.is_causal},
                     {"max_length_tokens", report.max_length_tokens},
                     {"tolerance", report.tolerance},
                     {"passed", report.passed()},
                     {"tensors", tensors}});
  } else {
    std::cout << (report.passed() ? "  agrees\n" : "  DISAGREES\n");
  }
  return failures;
}

}  // namespace lra
