// Effects of designed experiments as a part of the page: what was computed for it, and what
// `lra ablate` wrote as JSON among the runs.
#ifndef LRA_REPORT_ABLATION_PART_H_
#define LRA_REPORT_ABLATION_PART_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "eval/ablation_text.h"
#include "nlohmann/json.hpp"

namespace lra {

struct AblationPart {
  // For each design a figure's place, its sentences, and a table of its effects.
  std::string html;
  // What the figures show: a title, the unit, and effects {label, value, low, high}.
  nlohmann::ordered_json designs = nlohmann::ordered_json::array();
};

// The folders that the page is about, those of them that are suites, and the effects of these that
// could be computed.
struct AblationSources {
  std::vector<std::string> folders, suites;
  std::vector<AblationReport> computed{};
};

// Files "*.json" at or below the folders, outside of runs, that hold "designs", then what was
// computed. A file of the very runs that a computed report is of (RunsFingerprint()) stands in its
// place: it may know other baselines. One that lies in a suite's folder, or names a suite, and is
// of other runs is left out and named in `problems`; one of no suite here is shown as such.
AblationPart MakeAblations(const AblationSources& sources, std::vector<std::string>* problems);

// Adds what such a file says, whatever runs it is of. `remark` stands below each design's title.
void AddAblationJson(const nlohmann::ordered_json& json, absl::string_view remark,
                     AblationPart* part);

}  // namespace lra

#endif  // LRA_REPORT_ABLATION_PART_H_
