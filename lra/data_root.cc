#include "lra/data_root.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "lra/files.h"

namespace lra {

std::string DataRoot() {
  const char* root = std::getenv("LRA_DATA");
  return root != nullptr && *root != '\0' ? root : "data";
}

std::string DataOnlyTaskPath(absl::string_view task) {
  return JoinPath(JoinPath(DataRoot(), task), kDataOnlyTaskFile);
}

std::vector<std::string> DataOnlyTasks() {
  std::vector<std::string> tasks;
  std::error_code error;
  const std::filesystem::directory_iterator folder(DataRoot(), error);
  if (error) return tasks;
  for (const std::filesystem::directory_entry& entry : folder) {
    std::string name = entry.path().filename().string();
    // No task has a dot in its name: such a folder is being filled, or a killed process left it.
    if (name.find('.') == std::string::npos && FileExists(DataOnlyTaskPath(name)))
      tasks.push_back(std::move(name));
  }
  std::sort(tasks.begin(), tasks.end());
  return tasks;
}

absl::Status CheckAdopted(absl::string_view name) {
  const std::string folder = JoinPath(DataRoot(), name);
  if (name.empty() || !FileExists(folder)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("task \"", name, "\" has no rules; where ", folder,
                   " holds data that some program wrote, `lra data adopt ", name, "` adds some"));
}

}  // namespace lra
