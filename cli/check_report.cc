#include "cli/check_report.h"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <utility>

#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"

namespace lra {

using Json = nlohmann::ordered_json;

Json JsonNumber(double value) { return std::isfinite(value) ? Json(value) : Json("not finite"); }

std::string ErrorText(double value) {
  return std::isfinite(value) ? absl::StrFormat("%.1e", value) : "not finite";
}

namespace {

Json ToJson(const ConformanceResult& result) {
  return {{"measured", JsonNumber(result.measured)},
          {"bound", JsonNumber(result.bound)},
          {"detail", result.detail}};
}

Json ToJson(const CheckedPlugin& checked) {
  Json json = {{checked.kind, checked.name}, {"label", checked.label}};
  json["promises"] = Json::array();
  for (const PromiseReport& promise : checked.promises) {
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
  for (const TraitReport& trait : checked.traits)
    json["traits"][trait.trait] = {{"declared", trait.declared}, {"observed", trait.observed}};
  return json;
}

void Print(const CheckedPlugin& checked) {
  std::cout << checked.kind << " " << checked.name << ": " << checked.label << " ("
            << checked.source << ")\n";
  std::cout << absl::StrFormat("  %-6s  %-4s %-64s %5s  %10s  %8s\n", "", "id", "promise", "tried",
                               "worst", "bound");
  for (const PromiseReport& promise : checked.promises) {
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
  for (const TraitReport& trait : checked.traits) {
    std::cout << absl::StrFormat("  %-23s %-8s  %s\n", trait.trait, trait.declared, trait.observed);
  }
}

}  // namespace

int ShowChecked(const CheckedPlugin& checked, Json* json) {
  json != nullptr ? json->push_back(ToJson(checked)) : Print(checked);
  return static_cast<int>(std::count_if(checked.promises.begin(), checked.promises.end(),
                                        [](const PromiseReport& p) { return !p.passed(); }));
}

}  // namespace lra
