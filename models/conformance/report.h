// What the results of the conformance suite mean, for people: `lra check NAME`.
#ifndef LRA_MODELS_CONFORMANCE_REPORT_H_
#define LRA_MODELS_CONFORMANCE_REPORT_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "models/conformance/conformance.h"
#include "models/interface/attention.h"
#include "models/interface/block.h"

namespace lra {

// "T4" -> "the amount of padding changes nothing"; empty for an id that has no words here.
absl::string_view PromiseWords(absl::string_view id);

// All comparisons of one promise.
struct PromiseReport {
  std::string id, words;
  int comparisons = 0;
  // The comparison that came nearest to its bound, or went farthest beyond it.
  ConformanceResult worst;
  std::vector<ConformanceResult> failures;

  bool passed() const { return failures.empty(); }
};

// One promise an entry, in order of first appearance.
std::vector<PromiseReport> ReportPromises(const std::vector<ConformanceResult>& results);

// A trait as declared, and what the suite saw of it.
struct TraitReport {
  std::string trait;     // "padding_invariant"
  std::string declared;  // "yes", "no", "optional"
  // "seen in 8 comparisons (T4, M1, M2)", "2 of 8 comparisons failed (T4)", "not tried".
  std::string observed;
};
std::vector<TraitReport> ReportTraits(const Traits& traits,
                                      const std::vector<ConformanceResult>& results);
std::vector<TraitReport> ReportTraits(const BlockTraits& traits,
                                      const std::vector<ConformanceResult>& results);

}  // namespace lra

#endif  // LRA_MODELS_CONFORMANCE_REPORT_H_
