// Measured cells of `lra bench efficiency` that lie among the runs, as a part of the page.
#ifndef LRA_REPORT_EFFICIENCY_PART_H_
#define LRA_REPORT_EFFICIENCY_PART_H_

#include <string>
#include <vector>

#include "nlohmann/json.hpp"

namespace lra {

struct EfficiencyPart {
  // Tables of time and memory over the length, a figure's place before each pair.
  std::string html;
  // What the figures show: of each panel a title and series with "time" and "memory", arrays of
  // [tokens, seconds or bytes].
  nlohmann::ordered_json panels = nlohmann::ordered_json::array();
};

// Reads all files "*.jsonl" of cells at or below the folders, outside of runs, by path. Empty
// without any; files that are no such records are named in `problems`.
EfficiencyPart ReadEfficiency(const std::vector<std::string>& folders,
                              std::vector<std::string>* problems);

}  // namespace lra

#endif  // LRA_REPORT_EFFICIENCY_PART_H_
