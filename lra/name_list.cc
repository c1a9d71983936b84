#include "lra/name_list.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace lra {

absl::StatusOr<std::vector<std::string>> SplitNames(absl::string_view flag,
                                                    absl::string_view list) {
  std::vector<std::string> names;
  if (list.empty()) return names;
  for (const absl::string_view piece : absl::StrSplit(list, ',')) {
    const std::string name(absl::StripAsciiWhitespace(piece));
    if (name.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(flag, " \"", list, "\" has an empty name; write a,b,c"));
    }
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

}  // namespace lra
