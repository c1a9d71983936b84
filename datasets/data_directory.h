// Where prepared data lies unless somebody says otherwise, and whether a folder is all data.
#ifndef LRA_DATASETS_DATA_DIRECTORY_H_
#define LRA_DATASETS_DATA_DIRECTORY_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace lra {

// $LRA_DATA/TASK, "data/TASK" where that variable is unset or empty.
std::string DefaultDataDirectory(absl::string_view task);

// Whether nobody loses more than data, damaged data included, where the folder is removed:
// FailedPrecondition for a manifest that is none of lra's, and for an entry that no data set has.
absl::Status CheckHoldsOnlyData(absl::string_view folder);

}  // namespace lra

#endif  // LRA_DATASETS_DATA_DIRECTORY_H_
