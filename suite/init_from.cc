#include "suite/init_from.h"

#include <filesystem>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "lra/status_macros.h"
#include "run_folder/checkpoint.h"
#include "run_folder/find_checkpoint.h"

namespace lra {
namespace {

using Settings = google::protobuf::RepeatedPtrField<std::string>;

std::vector<Settings*> SettingsOf(SuiteGroup* group) {
  std::vector<Settings*> all = {group->mutable_set()};
  for (SuiteTask& task : *group->mutable_for_task()) all.push_back(task.mutable_set());
  for (SuiteCase& cell : *group->mutable_cell()) all.push_back(cell.mutable_set());
  for (SuiteFactor& factor : *group->mutable_factor())
    for (SuiteLevel& level : *factor.mutable_level()) all.push_back(level.mutable_set());
  for (SuitePair& pair : *group->mutable_pair()) {
    if (pair.has_first()) all.push_back(pair.mutable_first()->mutable_set());
    if (pair.has_second()) all.push_back(pair.mutable_second()->mutable_set());
  }
  return all;
}

// The settings that ask for a run's weights.
std::vector<std::string*> Asking(SuiteFile* suite) {
  std::vector<std::string*> asking;
  for (SuiteGroup& group : *suite->mutable_group()) {
    for (Settings* sets : SettingsOf(&group)) {
      for (std::string& set : *sets)
        if (absl::StrContains(set, kInitFrom)) asking.push_back(&set);
    }
  }
  return asking;
}

}  // namespace

absl::Status SetInitFrom(const std::string& run, SuiteFile* suite) {
  const std::vector<std::string*> asking = Asking(suite);
  if (run.empty()) {
    if (asking.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("the suite sets ", *asking[0],
                     ": its runs start from another run's encoder; name that run with --init-from "
                     "RUN"));
  }
  if (asking.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--init-from ", run, ": no run of the suite sets encoder_weights_sha256=", kInitFrom));
  }
  LRA_ASSIGN_OR_RETURN(const std::string checkpoint, FindCheckpoint(run));
  LRA_ASSIGN_OR_RETURN(const CheckpointState state, LoadCheckpointState(checkpoint));
  for (std::string* set : asking) absl::StrReplaceAll({{kInitFrom, state.weights_sha256()}}, set);
  suite->set_init_from(std::filesystem::absolute(checkpoint).lexically_normal().string());
  return absl::OkStatus();
}

absl::Status StartAllFrom(const TrainChoice& choice, SuiteFile* suite) {
  LRA_RETURN_IF_ERROR(CheckStart(choice));
  std::string set = absl::StrCat("encoder_weights_sha256=", kInitFrom);
  if (!choice.from.empty()) {
    LRA_ASSIGN_OR_RETURN(const std::string checkpoint, FindCheckpoint(choice.from));
    LRA_ASSIGN_OR_RETURN(const CheckpointState state, LoadCheckpointState(checkpoint));
    set = absl::StrCat("start_weights_sha256=", state.weights_sha256());
  }
  if (choice.from.empty() && choice.init_from.empty()) return absl::OkStatus();
  for (SuiteGroup& group : *suite->mutable_group()) group.add_set(set);
  return SetInitFrom(choice.init_from, suite);
}

}  // namespace lra
