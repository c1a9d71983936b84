// Effects of designed experiments, which `lra ablate` wrote as JSON among the runs, as a part of
// the page.
#ifndef LRA_REPORT_ABLATION_PART_H_
#define LRA_REPORT_ABLATION_PART_H_

#include <string>
#include <vector>

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

}  // namespace lra

#endif  // LRA_REPORT_ABLATION_PART_H_
