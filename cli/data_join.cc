#include "cli/data_join.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "datasets/data_directory.h"
#include "lra/files.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

// Whether `path`, which need not be there, is `folder` or lies below it, links followed.
bool LiesIn(const std::string& path, const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path inner = fs::weakly_canonical(fs::absolute(path), error);
  if (error) return false;
  const fs::path outer = fs::weakly_canonical(fs::absolute(folder), error);
  if (error) return false;
  return std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end()).first == outer.end();
}

absl::Status CheckRemovable(const JoinOptions& options, const std::string& part) {
  if (LiesIn(options.out, part)) {
    return absl::InvalidArgumentError(absl::StrCat("--out: is \"", options.out,
                                                   "\", must lie outside of the part ", part,
                                                   ", which --remove-parts removes"));
  }
  const absl::Status status = CheckHoldsOnlyData(part);
  // Joining says of what is no part what is wrong with it.
  if (status.code() != absl::StatusCode::kFailedPrecondition) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(status.message(), ", and --remove-parts would remove it: move it away"));
}

}  // namespace

absl::StatusOr<Manifest> JoinAndRemoveParts(const JoinOptions& options) {
  std::vector<std::string> folders;
  for (const std::string& part : options.parts) {
    LRA_RETURN_IF_ERROR(CheckRemovable(options, part));
    LRA_ASSIGN_OR_RETURN(folders.emplace_back(), FollowLinks(part));
  }
  LRA_ASSIGN_OR_RETURN(Manifest manifest, JoinParts(options));
  for (const std::string& folder : folders) LRA_RETURN_IF_ERROR(RemoveAll(folder));
  return manifest;
}

}  // namespace lra
