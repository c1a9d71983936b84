#include "cli/data_join.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
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

}  // namespace

absl::StatusOr<Manifest> JoinAndRemoveParts(const JoinOptions& options) {
  for (const std::string& part : options.parts) {
    if (!LiesIn(options.out, part)) continue;
    return absl::InvalidArgumentError(absl::StrCat("--out: is \"", options.out,
                                                   "\", must lie outside of the part ", part,
                                                   ", which --remove-parts removes"));
  }
  LRA_ASSIGN_OR_RETURN(Manifest manifest, JoinParts(options));
  for (const std::string& part : options.parts) LRA_RETURN_IF_ERROR(RemoveAll(part));
  return manifest;
}

}  // namespace lra
