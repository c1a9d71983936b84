// Copies folders, such as those of runs.
#ifndef LRA_COPY_FOLDER_H_
#define LRA_COPY_FOLDER_H_

#include <string>

#include "absl/status/status.h"

namespace lra {

// The copy appears whole or not at all, with all files and folders flushed to the disk. What a
// process holds the folder by (.lock, .lease-*) and what a killed one left (*.tmp-PID-N) stay
// behind. AlreadyExists, or the errors of StagingDirectory, where `to` holds something.
absl::Status CopyFolder(const std::string& from, const std::string& to);

}  // namespace lra

#endif  // LRA_COPY_FOLDER_H_
