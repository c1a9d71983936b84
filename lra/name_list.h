// Lists of names in one flag: "listops,text".
#ifndef LRA_NAME_LIST_H_
#define LRA_NAME_LIST_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace lra {

// Each name once, in order, without blanks around it; none of an empty text. InvalidArgument names
// the flag for an empty name among others.
absl::StatusOr<std::vector<std::string>> SplitNames(absl::string_view flag, absl::string_view list);

}  // namespace lra

#endif  // LRA_NAME_LIST_H_
