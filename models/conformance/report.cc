#include "models/conformance/report.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace lra {
namespace {

struct Words {
  const char* id;
  const char* words;
};
constexpr Words kWords[] = {
    {"T1", "the fast form equals the dense oracle in float64"},
    {"T2", "its gradients equal the oracle's by autograd"},
    {"T2n", "its gradients equal central differences"},
    {"T3", "garbage and NaN in padded positions change nothing"},
    {"T4", "the amount of padding changes what the traits say"},
    {"T5", "later tokens reach no earlier output, nor its gradient"},
    {"T6", "streaming, in any pieces, equals all tokens at once"},
    {"T7", "weights are >= 0 and sum to 1: averages of the values"},
    {"T8", "the order of the keys matters as the traits say"},
    {"T9", "an example alone equals the same in a batch"},
    {"T10", "equal runs and equal seeds give equal bits"},
    {"T13", "no keys give zeros and zero gradients"},
    {"F32", "float32 stays near the float64 oracle"},
    {"B16", "so does training in bfloat16, on the same rounded inputs"},
    {"D", "dropout follows example, step, layer, text, and nothing else"},
    {"P", "owns as many parameters as it declares"},
    {"A", "keeps the memory that it declares, within a factor of 2"},
    {"W", "the implied weights times the values are the output"},
    {"R", "reads what it claims to read"},
    {"L", "sequences above its longest are refused or taken, as declared"},
    {"O", "every option has a value and a range, and none is filled in"},
    {"E", "no option is without effect"},
    {"S", "says what it is, and why there is no choice of a causal form"},
    {"C", "no protocol drops weights of it that are not there"},
    {"M1", "a model's padding changes nothing in training"},
    {"M2", "a model's example alone equals the same in a batch"},
    {"M3", "gradients of two halves add up to the batch's"},
    {"M4", "the same training step twice gives equal bits"},
    {"M5", "the number of threads changes rounding only"},
    {"M6", "dropout follows the step, and is off in evaluation"},
};

// Returns a key that orders results by severity: every failure comes above every pass. Then the
// used part of the bound decides or, for a bound of 0, what was measured.
std::pair<bool, double> Severity(const ConformanceResult& result) {
  const double used = result.bound > 0 ? result.measured / result.bound : result.measured;
  return {!result.passed, used};
}

const char* YesNo(bool value) { return value ? "yes" : "no"; }

const char* CausalityWord(Causality causality) {
  switch (causality) {
    case Causality::kNever:
      return "no";
    case Causality::kOptional:
      return "optional";
    case Causality::kAlways:
      return "always";
  }
  return "";
}

// Sums up what was observed of a trait: counts the results with one of the ids whose detail
// contains `part`.
TraitReport Observe(std::string trait, std::string declared, const std::vector<std::string>& ids,
                    absl::string_view part, const std::vector<ConformanceResult>& results) {
  int tried = 0, failed = 0;
  std::vector<std::string> used;
  for (const ConformanceResult& result : results) {
    if (std::find(ids.begin(), ids.end(), result.id) == ids.end()) continue;
    if (!absl::StrContains(result.detail, part)) continue;
    if (std::find(used.begin(), used.end(), result.id) == used.end()) used.push_back(result.id);
    ++tried;
    failed += result.passed ? 0 : 1;
  }
  std::string observed = "not tried";
  const std::string where = absl::StrCat(" (", absl::StrJoin(used, ", "), ")");
  if (failed > 0) {
    observed = absl::StrCat(failed, " of ", tried, " comparisons say otherwise", where);
  } else if (tried > 0) {
    observed =
        absl::StrCat("as declared in ", tried, tried == 1 ? " comparison" : " comparisons", where);
  }
  return {std::move(trait), std::move(declared), std::move(observed)};
}

}  // namespace

absl::string_view PromiseWords(absl::string_view id) {
  for (const Words& known : kWords) {
    if (id == known.id) return known.words;
  }
  return "";
}

std::vector<PromiseReport> ReportPromises(const std::vector<ConformanceResult>& results) {
  std::vector<PromiseReport> reports;
  for (const ConformanceResult& result : results) {
    auto report = std::find_if(reports.begin(), reports.end(),
                               [&](const PromiseReport& known) { return known.id == result.id; });
    if (report == reports.end()) {
      reports.push_back({result.id, std::string(PromiseWords(result.id)), 0, result, {}});
      report = std::prev(reports.end());
    }
    ++report->comparisons;
    if (Severity(result) > Severity(report->worst)) report->worst = result;
    if (!result.passed) report->failures.push_back(result);
  }
  return reports;
}

std::vector<TraitReport> ReportTraits(const Traits& traits,
                                      const std::vector<ConformanceResult>& results) {
  const auto observe = [&](const char* trait, std::string declared, std::vector<std::string> ids,
                           absl::string_view part = "") {
    return Observe(trait, std::move(declared), ids, part, results);
  };
  return {
      observe("exact_softmax", YesNo(traits.is_exact_softmax), {"R"}, "softmax"),
      observe("row_stochastic", YesNo(traits.is_row_stochastic), {"T7"}),
      observe("permutation_invariant", YesNo(traits.is_permutation_invariant), {"T8"}),
      observe("padding_invariant", YesNo(traits.is_padding_invariant), {"T4", "M1", "M2"}),
      observe("causal", CausalityWord(traits.causality), {"T5"}),
      observe("streaming", YesNo(traits.supports_streaming), {"T6"}),
      observe("cross", YesNo(traits.supports_cross), {"T1"}, "queries"),
      observe("weight_dropout", YesNo(traits.supports_weight_dropout), {"T1"}, "weight dropout"),
      observe("weights", YesNo(traits.has_weights), {"W"}),
      observe("length_bound", YesNo(traits.is_length_bound), {"L"}),
      observe("bfloat16_stable", YesNo(traits.bfloat16_reason.empty()), {"B16"}, "moved"),
      observe("layer_input", YesNo(traits.uses_layer_input), {"R"}, "layer input"),
  };
}

std::vector<TraitReport> ReportTraits(const BlockTraits& traits,
                                      const std::vector<ConformanceResult>& results) {
  const char* causal = traits.is_causal               ? "always"
                       : traits.causal_reason.empty() ? "optional"
                                                      : "no";
  return {
      Observe("attention", YesNo(traits.uses_attention), {"R"}, "", results),
      Observe("padding_invariant", YesNo(traits.is_padding_invariant), {"T4", "M1", "M2"}, "",
              results),
      Observe("causal", causal, {"T5"}, "", results),
      Observe("streaming", "where causal", {"T6"}, "", results),
  };
}

}  // namespace lra
