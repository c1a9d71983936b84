#include "datasets/data_directory.h"

#include "lra/data_root.h"
#include "lra/files.h"

namespace lra {

std::string DefaultDataDirectory(absl::string_view task) { return JoinPath(DataRoot(), task); }

}  // namespace lra
