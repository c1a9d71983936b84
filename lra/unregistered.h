// Names that no plug-in of this program has, although there may be a file for one in configs/.
#ifndef LRA_UNREGISTERED_H_
#define LRA_UNREGISTERED_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace lra {

// InvalidArgument where configs/<kind>s/<name>.textproto is there, for a name that is not
// registered: the file calls itself otherwise, as a copy does, the program was built before the
// source came, or registers another name. `kind` is "attention", "block" or "task".
absl::Status CheckNoFileOf(absl::string_view kind, absl::string_view name);

// The error of CheckNoFileOf(), otherwise UnknownNameError() (lra/suggest.h).
absl::Status UnregisteredError(absl::string_view kind, absl::string_view name,
                               const std::vector<std::string>& registered);

}  // namespace lra

#endif  // LRA_UNREGISTERED_H_
