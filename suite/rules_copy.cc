#include "suite/rules_copy.h"

#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lra/config.h"
#include "lra/data_root.h"
#include "lra/files.h"
#include "lra/sha256.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

namespace fs = std::filesystem;

constexpr size_t kNameDigits = 16;
constexpr int64_t kMostBytes = 16 << 20;  // of one file

using Files = std::map<std::string, std::string>;  // content by path below the folder

absl::StatusOr<Files> ReadFiles(const std::string& folder) {
  Files files;
  std::error_code error;
  const auto follow = fs::directory_options::follow_directory_symlink;
  for (fs::recursive_directory_iterator it(folder, follow, error), end; !error && it != end;
       it.increment(error)) {
    if (!it->is_regular_file()) continue;
    const std::string path = fs::path(it->path()).lexically_relative(folder).string();
    LRA_ASSIGN_OR_RETURN(files[path], ReadFile(it->path().string(), kMostBytes));
  }
  if (error) return absl::FailedPreconditionError(absl::StrCat(folder, ": ", error.message()));
  return files;
}

std::string NameOf(const Files& files) {
  std::string all;
  for (const auto& [path, content] : files)
    absl::StrAppend(&all, path, "\n", content.size(), "\n", content);
  return Sha256Hex(all).substr(0, kNameDigits);
}

absl::Status WriteFiles(const Files& files, const std::string& folder) {
  for (const auto& [path, content] : files) {
    const std::string to = JoinPath(folder, path);
    LRA_RETURN_IF_ERROR(MakeDirectories(fs::path(to).parent_path().string()));
    LRA_RETURN_IF_ERROR(WriteFileAtomically(to, content));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> CopyRules(const std::string& out) {
  LRA_ASSIGN_OR_RETURN(Files files, ReadFiles(ConfigDirectory()));
  for (const std::string& task : DataOnlyTasks()) {
    LRA_ASSIGN_OR_RETURN(std::string content, ReadFile(DataOnlyTaskPath(task), kMostBytes));
    files.emplace(absl::StrCat("tasks/", task, ".textproto"), std::move(content));
  }
  // Workers may start elsewhere.
  const std::string folder =
      fs::absolute(JoinPath(out, absl::StrCat("rules/", NameOf(files)))).lexically_normal();
  if (FileExists(folder)) return folder;
  LRA_RETURN_IF_ERROR(MakeDirectories(fs::path(folder).parent_path().string()));
  LRA_ASSIGN_OR_RETURN(StagingDirectory staging, StagingDirectory::Create(folder));
  LRA_RETURN_IF_ERROR(WriteFiles(files, staging.path()));
  const absl::Status committed = staging.Commit();
  // Another part of the suite may have been faster with the same content.
  if (!committed.ok() && !FileExists(folder)) return committed;
  return folder;
}

}  // namespace lra
