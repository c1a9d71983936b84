#include "report/shown_names.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace lra {
namespace {

// The form that FindRunRecords gives to paths, without a slash at the end.
std::string Normal(const std::string& folder) {
  std::string path = std::filesystem::path(folder).lexically_normal().string();
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

std::string LastName(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename().string();
  return name == "." || name == ".." || name.empty() ? "runs" : name;
}

bool IsPathCharacter(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::StrContains("._-/", c);
}

}  // namespace

ShownNames::ShownNames(const std::vector<std::string>& folders) {
  std::map<std::string, int> used;
  for (const std::string& folder : folders) {
    const std::string path = Normal(folder);
    const std::string name = LastName(path);
    const int count = ++used[name];
    names_.emplace_back(path, count == 1 ? name : absl::StrCat(name, " (", count, ")"));
  }
  if (names_.size() == 1) names_.front().second.clear();
  std::stable_sort(names_.begin(), names_.end(),
                   [](const auto& a, const auto& b) { return a.first.size() > b.first.size(); });
}

std::string ShownNames::In(absl::string_view text) const {
  std::string shown;
  while (!text.empty()) {
    const bool begins = shown.empty() || !IsPathCharacter(shown.back());
    const auto folder = std::find_if(names_.begin(), names_.end(), [&](const auto& name) {
      const absl::string_view path = name.first;
      return begins && absl::StartsWith(text, path) &&
             (text.size() == path.size() || path == "/" || text[path.size()] == '/' ||
              !IsPathCharacter(text[path.size()]));
    });
    if (folder == names_.end()) {
      shown += text.front();
      text.remove_prefix(1);
      continue;
    }
    text.remove_prefix(folder->first.size());
    const bool is_below = absl::StartsWith(text, "/");
    shown += folder->second.empty() && !is_below ? LastName(folder->first) : folder->second;
    if (is_below && folder->second.empty()) text.remove_prefix(1);
    // The rest of this path is shown as it is.
    while (!text.empty() && IsPathCharacter(text.front())) {
      shown += text.front();
      text.remove_prefix(1);
    }
  }
  return shown;
}

}  // namespace lra
