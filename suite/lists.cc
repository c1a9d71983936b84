#include "suite/lists.h"

#include <filesystem>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lra/config.pb.h"
#include "lra/files.h"
#include "lra/fingerprint.h"
#include "lra/name_list.h"
#include "lra/run_file.h"
#include "lra/status_macros.h"
#include "suite/suite_folder.h"
#include "train/request.h"

namespace lra {
namespace {

absl::Status AddNames(const char* flag, const std::string& list,
                      google::protobuf::RepeatedPtrField<std::string>* names) {
  LRA_ASSIGN_OR_RETURN(const std::vector<std::string> given, SplitNames(flag, list));
  if (!given.empty()) names->Assign(given.begin(), given.end());
  return absl::OkStatus();
}

std::string FolderNamedAfter(const SuiteFile& suite, const std::string& data_dir) {
  const auto& tasks = suite.group(0).task();
  return JoinPath("runs", absl::StrCat("lists-", ShortFingerprint(Fingerprint(suite)),
                                       tasks.empty() ? "" : DataInName(tasks[0], data_dir)));
}

}  // namespace

absl::StatusOr<SuiteFile> SuiteOfLists(const ExperimentChoice& choice, const std::string& seeds) {
  SuiteFile suite;
  suite.set_description("lra train with lists");
  SuiteGroup& group = *suite.add_group();
  if (!choice.run_file.empty()) {
    LRA_ASSIGN_OR_RETURN(const RunFile run, ReadRunFile(choice.run_file));
    if (!run.task().empty()) group.add_task(run.task());
    *group.mutable_attention() = run.attention();
    // The suite is read again from anywhere.
    group.set_run_file(std::filesystem::absolute(choice.run_file).lexically_normal().string());
  }
  LRA_RETURN_IF_ERROR(AddNames("--task", choice.task, group.mutable_task()));
  LRA_RETURN_IF_ERROR(AddNames("--attention", choice.attention, group.mutable_attention()));
  group.set_seeds(seeds);
  group.set_protocol(choice.protocol);
  group.set_preset(choice.preset);
  group.mutable_set()->Assign(choice.sets.begin(), choice.sets.end());
  return suite;
}

std::string DefaultListFolder(const SuiteFile& suite, const std::string& data_dir) {
  // Earlier builds named folders after the encoder's place, too.
  const std::string before = FolderNamedAfter(suite, data_dir);
  if (FileExists(JoinPath(before, kSuiteFile))) return before;
  SuiteFile named = suite;
  named.clear_init_from();  // the digests are known; where a copy lies makes no other runs
  return FolderNamedAfter(named, data_dir);
}

}  // namespace lra
