#include "suite/suite_folder.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "eval/run_folders.h"
#include "google/protobuf/util/message_differencer.h"
#include "lra/config.h"
#include "lra/experiment.h"
#include "lra/files.h"
#include "lra/protocol_rules.h"
#include "lra/sha256.h"
#include "lra/status_macros.h"
#include "lra/temporary_name.h"
#include "lra/textproto.h"
#include "suite/suite_file.h"

namespace lra {
namespace {

namespace fs = std::filesystem;

// The protocol of a group, as ResolveExperiment() finds it.
std::string ProtocolOf(const SuiteGroup& group) {
  if (!group.protocol().empty()) return group.protocol();
  const std::string path = RunFilePath(group.run_file());
  RunFile file;
  const bool is_said = !path.empty() && ReadTextProto(path, &file).ok() && !file.protocol().empty();
  return is_said ? file.protocol() : kDefaultProtocol;
}

// The suite with the versions that its protocols have today.
SuiteFile WithVersions(SuiteFile suite) {
  for (SuiteGroup& group : *suite.mutable_group()) {
    const absl::StatusOr<ConfigFragment> rules = LoadFragment("protocols", ProtocolOf(group));
    if (rules.ok()) group.set_protocol(absl::StrCat(rules->name(), "@", rules->version()));
  }
  return suite;
}

// "run_files/1a2b3c4d5e6f7a8b.textproto": by what is in it, so that a file that was edited is
// another one.
std::string KeptRunFile(const std::string& content) {
  constexpr size_t kNameDigits = 16;
  return absl::StrCat("run_files/", Sha256Hex(content).substr(0, kNameDigits), ".textproto");
}

// The suite with its users' run files as its folder keeps them. With a folder, copies them there.
absl::StatusOr<SuiteFile> WithKeptRunFiles(SuiteFile suite, const std::string& out = "") {
  for (SuiteGroup& group : *suite.mutable_group()) {
    if (!IsRunFileOfUser(group.run_file())) continue;
    LRA_ASSIGN_OR_RETURN(const std::string content, ReadFile(group.run_file()));
    group.set_run_file(KeptRunFile(content));
    const std::string copy = JoinPath(out, group.run_file());
    if (out.empty() || FileExists(copy)) continue;
    LRA_RETURN_IF_ERROR(MakeDirectories(fs::path(copy).parent_path().string()));
    LRA_RETURN_IF_ERROR(WriteFileAtomically(copy, content));
  }
  return suite;
}

// Whether both have the same runs: a description may say them better than before, and settings have
// the digest of the encoder's weights, wherever they lie.
bool IsSame(SuiteFile a, SuiteFile b) {
  for (SuiteFile* suite : {&a, &b}) {
    suite->clear_description();
    suite->clear_init_from();
  }
  return google::protobuf::util::MessageDifferencer::Equals(a, b);
}

// The protocols of a folder whose suite is `wanted` under other versions, as "strong@1 (now
// strong@2)"; empty where more than these differs, or the folder names none.
std::vector<std::string> OtherVersions(const SuiteFile& begun, SuiteFile wanted) {
  std::vector<std::string> versions;
  for (int i = 0; i < std::min(begun.group_size(), wanted.group_size()); ++i) {
    const std::string &here = begun.group(i).protocol(), now = wanted.group(i).protocol();
    if (here == now || ProtocolName(here) != ProtocolName(now) || here == ProtocolName(here))
      continue;
    versions.push_back(absl::StrCat(here, " (now ", now, ")"));
    wanted.mutable_group(i)->set_protocol(here);
  }
  return IsSame(begun, wanted) ? versions : std::vector<std::string>();
}

// The error of a folder that was begun with another suite than `wanted`.
absl::Status AnotherSuite(const std::string& out, const SuiteFile& begun, const SuiteFile& wanted) {
  const std::string file = JoinPath(out, kSuiteFile);
  const std::vector<std::string> versions = OtherVersions(begun, wanted);
  if (!versions.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        file, ": its runs are under ", absl::StrJoin(versions, ", "), "; `lra run ", file,
        " --out ", out,
        "` with the flags of before goes on with them under the rules they have, another --out "
        "begins anew"));
  }
  return absl::FailedPreconditionError(absl::StrCat(
      file,
      " is another suite than the one to be run, or an earlier form of it (a protocol without a "
      "version is today's); choose another --out, where --reuse ",
      out,
      " takes over what both have (with more seeds, say: all runs of before), or replace the file "
      "by hand if the runs there are still to count"));
}

// The errors of another suite, and of a run file that cannot be read.
absl::Status CheckSame(const std::string& out, const SuiteFile& begun, const SuiteFile& stated) {
  LRA_ASSIGN_OR_RETURN(const SuiteFile wanted, WithKeptRunFiles(stated));
  LRA_ASSIGN_OR_RETURN(const SuiteFile now, WithKeptRunFiles(WithVersions(begun)));
  if (IsSame(now, wanted)) return absl::OkStatus();
  LRA_ASSIGN_OR_RETURN(const SuiteFile there, WithKeptRunFiles(begun));
  return AnotherSuite(out, there, wanted);
}

// Earlier builds kept no run files: relative paths began in the folder where `lra run` was typed.
absl::Status RestoreRunFilesOfBefore(const std::string& path, SuiteFile* suite) {
  SuiteFile written;
  LRA_RETURN_IF_ERROR(ReadTextProto(path, &written));
  for (int i = 0; i < std::min(written.group_size(), suite->group_size()); ++i) {
    const std::string& stored = written.group(i).run_file();
    SuiteGroup& group = *suite->mutable_group(i);
    if (IsRunFileOfUser(stored) && !FileExists(group.run_file()) && FileExists(stored))
      group.set_run_file(stored);
  }
  return absl::OkStatus();
}

bool HoldsSuite(const fs::path& folder) {
  return FileExists(JoinPath(folder.string(), kSuiteFile));
}

using FolderOfPlace = std::map<std::string, std::string>;  // by where a folder really is

void AddIfSuite(const fs::path& folder, FolderOfPlace* folders) {
  if (!HoldsSuite(folder)) return;
  std::error_code error;
  const fs::path place = fs::weakly_canonical(folder, error);
  folders->emplace((error ? folder : place).string(), NormalFolder(folder.string()));
}

void AddSuiteFolders(const std::string& path, FolderOfPlace* folders) {
  const fs::path top = NormalFolder(path);
  AddIfSuite(top, folders);
  std::error_code error;
  fs::recursive_directory_iterator it(top, error), end;
  for (; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (!it->is_directory(ignored)) continue;
    const bool is_half = IsTemporaryName(it->path().filename().string());
    if (!is_half) AddIfSuite(it->path(), folders);
    if (is_half || IsRunFolder(it->path().string())) it.disable_recursion_pending();
  }
}

}  // namespace

absl::Status ClaimSuiteFolder(const std::string& out, const SuiteFile& suite) {
  if (const std::string run = IsRunFolder(out) ? out : RunAround(out); !run.empty()) {
    return absl::AlreadyExistsError(
        absl::StrCat(run,
                     " is the folder of a run; lra runs and lra table would not see runs below it: "
                     "choose another --out, or move the run to a folder of its own"));
  }
  LRA_RETURN_IF_ERROR(MakeDirectories(JoinPath(out, "logs")));
  const SuiteFile stated = WithVersions(suite);
  const absl::StatusOr<SuiteFile> there = SuiteOfFolder(out);
  if (!there.ok() && !absl::IsNotFound(there.status())) return there.status();
  if (there.ok()) LRA_RETURN_IF_ERROR(CheckSame(out, *there, stated));
  LRA_ASSIGN_OR_RETURN(SuiteFile kept, WithKeptRunFiles(there.value_or(stated), out));
  if (!stated.init_from().empty()) kept.set_init_from(stated.init_from());
  const std::string path = JoinPath(out, kSuiteFile);
  SuiteFile written;
  if (there.ok()) LRA_RETURN_IF_ERROR(ReadTextProto(path, &written));
  const bool is_written = google::protobuf::util::MessageDifferencer::Equals(written, kept);
  return there.ok() && is_written ? absl::OkStatus() : WriteFileAtomically(path, ToTextProto(kept));
}

absl::StatusOr<SuiteFile> SuiteOfFolder(const std::string& out) {
  const std::string path = JoinPath(out, kSuiteFile);
  absl::StatusOr<SuiteFile> suite = ReadSuiteFile(path);
  if (absl::IsNotFound(suite.status())) {
    return absl::NotFoundError(absl::StrCat(out, " holds no suite (it has no ", kSuiteFile,
                                            "); give the folder that `lra run` wrote"));
  }
  LRA_RETURN_IF_ERROR(suite.status());
  LRA_RETURN_IF_ERROR(RestoreRunFilesOfBefore(path, &*suite));
  return suite;
}

absl::StatusOr<SuiteFile> WithRunFilesOf(const std::string& out, SuiteFile suite) {
  LRA_ASSIGN_OR_RETURN(const SuiteFile kept, SuiteOfFolder(out));
  for (int i = 0; i < std::min(suite.group_size(), kept.group_size()); ++i) {
    SuiteGroup& group = *suite.mutable_group(i);
    if (IsRunFileOfUser(group.run_file())) group.set_run_file(kept.group(i).run_file());
  }
  return suite;
}

std::string NormalFolder(const std::string& folder) {
  const std::string normal = fs::path(folder).lexically_normal().string();
  return normal.size() > 1 ? std::string(absl::StripSuffix(normal, "/")) : normal;
}

std::vector<std::string> SuiteFoldersBelow(absl::Span<const std::string> paths) {
  FolderOfPlace found;
  for (const std::string& path : paths) AddSuiteFolders(path, &found);
  std::vector<std::string> folders;
  for (const auto& [place, folder] : found) folders.push_back(folder);
  return folders;
}

}  // namespace lra
