// Effects of designed experiments as a part of the page: what `lra ablate` wrote as JSON among the
// runs, and what was computed for the page.
#ifndef LRA_REPORT_ABLATION_PART_H_
#define LRA_REPORT_ABLATION_PART_H_

#include <string>
#include <vector>

#include "eval/ablation_text.h"
#include "nlohmann/json.hpp"

namespace lra {

struct AblationPart {
  // For each design a figure's place, its sentences, and a table of its effects.
  std::string html;
  // What the figures show: a title, the unit, and effects {label, value, low, high}.
  nlohmann::ordered_json designs = nlohmann::ordered_json::array();
};

// All files "*.json" at or below the folders, outside of runs, that hold "designs"; others are
// passed over.
AblationPart ReadAblations(const std::vector<std::string>& folders);
// Whether such a file is at or below the suite's folder, or names this suite below one of the
// others.
bool HasAblations(const std::string& suite_folder, const std::vector<std::string>& folders);
// Adds what a file of this report would.
void AddAblation(const AblationReport& report, AblationPart* part);

}  // namespace lra

#endif  // LRA_REPORT_ABLATION_PART_H_
