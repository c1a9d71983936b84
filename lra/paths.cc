// The functions of lra/files.h that open no file.
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "lra/files.h"

namespace lra {

bool FileExists(absl::string_view path) {
  struct stat info;
  return stat(std::string(path).c_str(), &info) == 0;
}

std::string JoinPath(absl::string_view a, absl::string_view b) {
  if (a.empty() || (!b.empty() && b.front() == '/')) return std::string(b);
  if (b.empty() || a.back() == '/') return absl::StrCat(a, b);
  return absl::StrCat(a, "/", b);
}

std::string AbsolutePath(absl::string_view path) {
  const std::filesystem::path whole =
      std::filesystem::absolute(std::string(path)).lexically_normal();
  return (whole.has_filename() ? whole : whole.parent_path()).string();
}

}  // namespace lra
