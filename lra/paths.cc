// The functions of lra/files.h that open no file.
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "lra/files.h"

namespace lra {
namespace {

namespace fs = std::filesystem;

fs::path WithoutSlash(const fs::path& path) {
  return path.has_filename() ? path : path.parent_path();
}

// "a" of "a/" and "a/."; left as it is where a part cannot be read.
fs::path EndingWithAName(const fs::path& path) {
  const fs::path plain = WithoutSlash(path);
  if (plain.filename() != "." && plain.filename() != "..") return plain;
  std::error_code error;
  const fs::path whole = fs::weakly_canonical(plain, error);
  return error ? plain : WithoutSlash(whole);
}

}  // namespace

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
  return WithoutSlash(fs::absolute(std::string(path)).lexically_normal()).string();
}

absl::StatusOr<std::string> FollowLinks(absl::string_view path) {
  constexpr int kMaxLinks = 40;  // the kernel's bound
  fs::path folder = std::string(path);
  std::error_code error;
  for (int links = 0; links <= kMaxLinks; ++links) {
    folder = EndingWithAName(folder);
    if (!fs::is_symlink(folder, error)) return folder.string();
    folder = folder.parent_path() / fs::read_symlink(folder, error);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("cannot follow \"", path, "\": a circle of links, or over ", kMaxLinks));
}

}  // namespace lra
