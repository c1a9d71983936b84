#include "datasets/data_directory.h"

#include <cstdlib>

#include "lra/files.h"

namespace lra {

std::string DefaultDataDirectory(absl::string_view task) {
  const char* root = std::getenv("LRA_DATA");
  return JoinPath(root != nullptr && *root != 0 ? root : "data", task);
}

}  // namespace lra
