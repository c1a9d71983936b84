#include "cli/check_attention.h"

#include <algorithm>
#include <cmath>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "lra/status_macros.h"
#include "models/attention_facts.h"
#include "models/conformance/against.h"
#include "models/conformance/conformance.h"
#include "models/conformance/report.h"

namespace lra {
namespace {

using Json = nlohmann::ordered_json;

// Of the sizes that the suite tries, those that refuse the fewest options.
constexpr AttentionSizes kSuiteSizes = {2, 16, 35, 640};

// JSON has no infinity.
Json Number(double value) { return std::isfinite(value) ? Json(value) : Json("not finite"); }

std::string ErrorText(double value) {
  return std::isfinite(value) ? absl::StrFormat("%.1e", value) : "not finite";
}

Json ToJson(const ConformanceResult& result) {
  return {{"measured", Number(result.measured)},
          {"bound", Number(result.bound)},
          {"detail", result.detail}};
}

Json ToJson(const std::string& name, const AttentionFacts& facts,
            const std::vector<PromiseReport>& promises, const std::vector<TraitReport>& traits) {
  Json json = {{"attention", name}, {"label", facts.traits.label}};
  json["promises"] = Json::array();
  for (const PromiseReport& promise : promises) {
    Json item = {{"id", promise.id},
                 {"promise", promise.words},
                 {"passed", promise.passed()},
                 {"comparisons", promise.comparisons},
                 {"worst", ToJson(promise.worst)}};
    item["failures"] = Json::array();
    for (const ConformanceResult& failure : promise.failures)
      item["failures"].push_back(ToJson(failure));
    json["promises"].push_back(std::move(item));
  }
  for (const TraitReport& trait : traits)
    json["traits"][trait.trait] = {{"declared", trait.declared}, {"observed", trait.observed}};
  return json;
}

void Print(const std::string& name, const AttentionFacts& facts,
           const std::vector<PromiseReport>& promises, const std::vector<TraitReport>& traits) {
  std::cout << "attention " << name << ": " << facts.traits.label << " (" << facts.traits.source
            << ")\n";
  std::cout << absl::StrFormat("  %-6s  %-4s %-64s %5s  %10s  %8s\n", "", "id", "promise", "tried",
                               "worst", "bound");
  for (const PromiseReport& promise : promises) {
    std::cout << absl::StrFormat("  %-6s  %-4s %-64s %5d  %10s  %8s\n",
                                 promise.passed() ? "ok" : "FAILED", promise.id, promise.words,
                                 promise.comparisons, ErrorText(promise.worst.measured),
                                 ErrorText(promise.worst.bound));
    for (const ConformanceResult& failure : promise.failures) {
      std::cout << "            " << failure.detail << ": " << ErrorText(failure.measured)
                << ", bound " << ErrorText(failure.bound) << "\n";
    }
  }
  std::cout << absl::StrFormat("  %-23s %-8s  %s\n", "trait", "declared", "observed");
  for (const TraitReport& trait : traits) {
    std::cout << absl::StrFormat("  %-23s %-8s  %s\n", trait.trait, trait.declared, trait.observed);
  }
}

}  // namespace

absl::StatusOr<int> CheckAndPrintAttention(const std::string& name,
                                           const std::vector<std::string>& sets, Json* json) {
  LRA_ASSIGN_OR_RETURN(const google::protobuf::Any options, LoadAttentionOptions(name, sets));
  LRA_ASSIGN_OR_RETURN(const AttentionFacts facts, DescribeAttention(name, options, kSuiteSizes));
  LRA_ASSIGN_OR_RETURN(std::vector<ConformanceResult> results, CheckAttention(name, options));
  LRA_ASSIGN_OR_RETURN(const std::vector<ConformanceResult> in_models,
                       CheckClassifier(name, options));
  results.insert(results.end(), in_models.begin(), in_models.end());
  const std::vector<PromiseReport> promises = ReportPromises(results);
  const std::vector<TraitReport> traits = ReportTraits(facts.traits, results);
  if (json != nullptr) {
    json->push_back(ToJson(name, facts, promises, traits));
  } else {
    Print(name, facts, promises, traits);
  }
  return static_cast<int>(std::count_if(promises.begin(), promises.end(),
                                        [](const PromiseReport& p) { return !p.passed(); }));
}

absl::StatusOr<int> CompareAndPrint(const std::string& name, const std::vector<std::string>& sets,
                                    const AgainstFlags& against, Json* json) {
  AgainstRequest request = {name, {}, against.max_length_tokens, against.tolerance};
  LRA_ASSIGN_OR_RETURN(request.options, LoadAttentionOptions(name, sets));
  LRA_ASSIGN_OR_RETURN(const AgainstReport report, CompareWithFile(against.file, request));
  int failures = 0;
  Json tensors = Json::array();
  if (json == nullptr) {
    std::cout << "attention " << name << " against " << against.file << " (" << report.dtype
              << (report.is_causal ? ", causal" : "") << ", longest sequence "
              << report.max_length_tokens << ", tolerance " << ErrorText(report.tolerance) << ")\n";
    std::cout << absl::StrFormat("  %-6s  %-28s %-20s %10s  %10s\n", "", "tensor", "shape",
                                 "absolute", "relative");
  }
  for (const ComparedTensor& tensor : report.tensors) {
    failures += tensor.passed ? 0 : 1;
    if (json != nullptr) {
      tensors.push_back({{"tensor", tensor.name},
                         {"shape", tensor.shape},
                         {"largest", Number(tensor.largest)},
                         {"absolute", Number(tensor.absolute)},
                         {"relative", Number(tensor.relative)},
                         {"passed", tensor.passed}});
      continue;
    }
    std::cout << absl::StrFormat("  %-6s  %-28s %-20s %10s  %10s\n",
                                 tensor.passed ? "ok" : "FAILED", tensor.name,
                                 absl::StrCat("[", absl::StrJoin(tensor.shape, ", "), "]"),
                                 ErrorText(tensor.absolute), ErrorText(tensor.relative));
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
