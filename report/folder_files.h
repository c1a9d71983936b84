// Files that people keep among their runs.
#ifndef LRA_REPORT_FOLDER_FILES_H_
#define LRA_REPORT_FOLDER_FILES_H_

#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"

namespace lra {

// Paths of the files with this extension (".jsonl") at or below the folders. What lies in a run's
// folder is the run's own and no part of it.
std::set<std::string> FilesOutsideRuns(const std::vector<std::string>& folders,
                                       absl::string_view extension);

// DataLoss, which names the file, for anything but a JSON object.
absl::StatusOr<nlohmann::ordered_json> ReadJsonObject(const std::string& path);

// A field that is a text; empty if it is missing or something else.
std::string TextField(const nlohmann::ordered_json& object, const char* name);

// One way to show rows of texts: a caption, a head, and the first cell of a row as its head.
std::string HtmlTextTable(absl::string_view caption, const std::vector<std::string>& head,
                          const std::vector<std::vector<std::string>>& rows);

}  // namespace lra

#endif  // LRA_REPORT_FOLDER_FILES_H_
