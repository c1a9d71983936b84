#include "lra/copy_folder.h"

#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "lra/files.h"
#include "lra/status_macros.h"
#include "lra/temporary_name.h"

namespace lra {
namespace {

absl::Status CopyFile(const std::string& from, const std::string& to) {
  constexpr size_t kBlockBytes = size_t{1} << 20;
  LRA_ASSIGN_OR_RETURN(FileWriter writer, FileWriter::Open(to));
  std::ifstream file(from, std::ios::binary);
  std::string block(kBlockBytes, '\0');
  while (file) {
    file.read(block.data(), static_cast<std::streamsize>(block.size()));
    LRA_RETURN_IF_ERROR(writer.Write(block.data(), static_cast<size_t>(file.gcount())));
  }
  if (!file.eof()) return absl::InternalError(absl::StrCat("cannot read ", from));
  return writer.Close();
}

bool StaysBehind(const std::string& name) {
  return name == ".lock" || absl::StartsWith(name, ".lease-") || IsTemporaryName(name);
}

}  // namespace

absl::Status CopyFolder(const std::string& from, const std::string& to) {
  LRA_ASSIGN_OR_RETURN(StagingDirectory staging, StagingDirectory::Create(to));
  std::error_code error;
  std::filesystem::directory_iterator entry(from, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::string path = entry->path().string(), name = entry->path().filename().string();
    if (StaysBehind(name)) continue;
    const std::string target = JoinPath(staging.path(), name);
    std::error_code unknown;
    LRA_RETURN_IF_ERROR(entry->is_directory(unknown) ? CopyFolder(path, target)
                                                     : CopyFile(path, target));
  }
  if (error)
    return absl::InternalError(absl::StrCat("copying ", from, " to ", to, ": ", error.message()));
  return staging.Commit();
}

}  // namespace lra
