#include "cli/check_report.h"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "lra/text_columns.h"
#include "nlohmann/json.hpp"

namespace lra {

using Json = nlohmann::ordered_json;

Json JsonNumber(double value) { return std::isfinite(value) ? Json(value) : Json("not finite"); }

std::string ErrorText(double value) {
  return std::isfinite(value) ? absl::StrFormat("%.1e", value) : "not finite";
}

namespace {

// In the place of what was measured, where an exception came before.
constexpr char kError[] = "error";

Json ToJson(const ConformanceResult& result) {
  return {{"measured", result.was_compared ? JsonNumber(result.measured) : Json(kError)},
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

std::string PromiseLine(absl::string_view verdict, absl::string_view id, absl::string_view promise,
                        absl::string_view tried, absl::string_view worst, absl::string_view bound) {
  return absl::StrCat("  ", PadRight(verdict, 6), "  ", PadRight(id, 4), " ", PadRight(promise, 64),
                      " ", PadLeft(tried, 5), "  ", PadLeft(worst, 10), "  ", PadLeft(bound, 8),
                      "\n");
}

std::string TraitLine(absl::string_view trait, absl::string_view declared,
                      absl::string_view observed) {
  return absl::StrCat("  ", PadRight(trait, 23), " ", PadRight(declared, 8), "  ", observed, "\n");
}

void Print(const CheckedPlugin& checked) {
  std::cout << checked.kind << " " << checked.name << ": " << checked.label << " ("
            << checked.source << ")\n";
  std::cout << PromiseLine("", "id", "promise", "tried", "worst", "bound");
  for (const PromiseReport& promise : checked.promises) {
    const ConformanceResult& worst = promise.worst;
    std::cout << PromiseLine(promise.passed() ? "ok" : "FAILED", promise.id, promise.words,
                             absl::StrCat(promise.comparisons),
                             worst.was_compared ? ErrorText(worst.measured) : kError,
                             worst.was_compared ? ErrorText(worst.bound) : "");
    for (const ConformanceResult& failure : promise.failures) {
      std::cout << "            " << failure.detail;
      if (failure.was_compared) {
        std::cout << ": " << ErrorText(failure.measured) << ", bound " << ErrorText(failure.bound);
      }
      std::cout << "\n";
    }
  }
  std::cout << TraitLine("trait", "declared", "observed");
  for (const TraitReport& trait : checked.traits)
    std::cout << TraitLine(trait.trait, trait.declared, trait.observed);
}

}  // namespace

int ShowChecked(const CheckedPlugin& checked, Json* json) {
  json != nullptr ? json->push_back(ToJson(checked)) : Print(checked);
  return static_cast<int>(std::count_if(checked.promises.begin(), checked.promises.end(),
                                        [](const PromiseReport& p) { return !p.passed(); }));
}

}  // namespace lra
