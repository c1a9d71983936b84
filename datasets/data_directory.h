// Where prepared data lies unless somebody says otherwise.
#ifndef LRA_DATASETS_DATA_DIRECTORY_H_
#define LRA_DATASETS_DATA_DIRECTORY_H_

#include <string>

#include "absl/strings/string_view.h"

namespace lra {

// $LRA_DATA/TASK, "data/TASK" where that variable is unset or empty.
std::string DefaultDataDirectory(absl::string_view task);

}  // namespace lra

#endif  // LRA_DATASETS_DATA_DIRECTORY_H_
