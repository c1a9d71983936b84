// Names of runs on a page: relative to the folders that were asked for, so that a page depends
// neither on where they lie nor on how their paths were typed.
#ifndef LRA_REPORT_SHOWN_NAMES_H_
#define LRA_REPORT_SHOWN_NAMES_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace lra {

class ShownNames {
 public:
  // The folders as given to FindRunRecords. What lies in a single one is called by its path below
  // it; with several, the folder's own name comes first, numbered where two have the same.
  explicit ShownNames(const std::vector<std::string>& folders);

  // The text with every path at or below one of the folders replaced: a run's folder, or a message
  // that names files.
  std::string In(absl::string_view text) const;

 private:
  // Normalised path, and what stands for it; the longest paths first.
  std::vector<std::pair<std::string, std::string>> names_;
};

}  // namespace lra

#endif  // LRA_REPORT_SHOWN_NAMES_H_
