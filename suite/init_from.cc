#include "suite/init_from.h"

#include <filesystem>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "lra/status_macros.h"
#include "run_folder/checkpoint.h"
#include "run_folder/find_checkpoint.h"
#include "suite/own_encoders.h"
#include "train/encoder_recipe.h"

namespace lra {
namespace {

constexpr char kEncoderWeights[] = "encoder_weights_sha256=";

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

// The settings with these words.
std::vector<std::string*> SettingsWith(const std::string& words, SuiteFile* suite) {
  std::vector<std::string*> found;
  for (SuiteGroup& group : *suite->mutable_group()) {
    for (Settings* sets : SettingsOf(&group)) {
      for (std::string& set : *sets)
        if (absl::StrContains(set, words)) found.push_back(&set);
    }
  }
  return found;
}

// Another place of the weights that the settings of the suite name already.
absl::Status CheckSameWeights(const std::string& run, const std::string& digest, SuiteFile* suite) {
  if (!SettingsWith(absl::StrCat(kEncoderWeights, digest), suite).empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--init-from ", run, ": its weights are ", digest, ", the suite sets ",
                   *SettingsWith(kEncoderWeights, suite)[0],
                   "; name a copy of these, or run the suite's own file into another --out"));
}

}  // namespace

absl::Status SetInitFrom(const std::string& run, SuiteFile* suite) {
  LRA_RETURN_IF_ERROR(CheckEncoderPath(run));
  if (IsEncoderOfEachSeed(run)) return ListOwnEncoders(run, suite);
  const std::vector<std::string*> asking = SettingsWith(kInitFrom, suite);
  if (run.empty()) {
    if (asking.empty() || suite->encoder_size() > 0) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("the suite sets ", *asking[0],
                     ": its runs start from another run's encoder; name that run with --init-from "
                     "RUN, or one for each seed with --init-from 'RUN-s{seed}'"));
  }
  if (suite->encoder_size() > 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--init-from ", run, ": each run of the suite has an encoder of its own; name them all ",
        "with ", kSeedPlace, " in their seeds' place"));
  }
  if (SettingsWith(kEncoderWeights, suite).empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--init-from ", run, ": no run of the suite sets ", kEncoderWeights, kInitFrom));
  }
  LRA_ASSIGN_OR_RETURN(const std::string checkpoint, FindCheckpoint(run));
  LRA_ASSIGN_OR_RETURN(const CheckpointState state, LoadCheckpointState(checkpoint));
  if (asking.empty()) LRA_RETURN_IF_ERROR(CheckSameWeights(run, state.weights_sha256(), suite));
  for (std::string* set : asking) absl::StrReplaceAll({{kInitFrom, state.weights_sha256()}}, set);
  suite->set_init_from(std::filesystem::absolute(checkpoint).lexically_normal().string());
  return absl::OkStatus();
}

absl::Status StartAllFrom(const TrainChoice& choice, SuiteFile* suite) {
  LRA_RETURN_IF_ERROR(CheckStart(choice));
  std::string set = absl::StrCat(kEncoderWeights, kInitFrom);
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
