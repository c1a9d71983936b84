#include "inspect/profile_runs.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "inspect/open_checkpoint.h"
#include "lra/status_macros.h"
#include "run_folder/find_checkpoint.h"

namespace lra {
namespace {

// The data of the first run that knows where it is; empty if none does.
std::string DataOfGroup(const ProfileGroup& group) {
  for (const ProfiledSetting& setting : group.settings) {
    for (const ProfiledRow& row : setting.rows) {
      for (const LocatedRecord* run : row.runs) {
        std::string directory = DataDirectoryOfRun(run->directory);
        if (!directory.empty()) return directory;
      }
    }
  }
  return "";
}

bool HasCheckpoint(const LocatedRecord& run) {
  return run.record.kind() == RunRecord::MEASURED && FindCheckpoint(run.directory).ok();
}

absl::Status AddPerturbed(const LocatedRecord& run, const ProfileRunsRequest& request,
                          Circumstances* seen) {
  PerturbedRequest look = request.look;
  look.checkpoint = run.directory;
  LRA_ASSIGN_OR_RETURN(const PerturbedScores scores, ScorePerturbed(look));
  std::vector<ExampleValues>& values = seen->of[run.directory];
  for (const ExampleSums& sums : scores.sums) {
    std::optional<ExampleValues> of_examples = scores.metric->ValuesOf(sums);
    if (!of_examples) {
      return absl::FailedPreconditionError(
          absl::StrCat("--perturb: ", scores.metric->name(),
                       " is no mean over examples, so several runs have "
                       "no interval; give one run"));
    }
    values.push_back(*std::move(of_examples));
  }
  seen->names = scores.names;
  return absl::OkStatus();
}

// Every run of the group that has a checkpoint, on perturbed inputs.
absl::StatusOr<Circumstances> PerturbGroup(const ProfileGroup& group,
                                           const ProfileRunsRequest& request) {
  Circumstances seen;
  seen.name = "perturbation";
  seen.definition =
      "the models on inputs whose parts change places at random, the same for every row's "
      "examples, the first of the split";
  for (const ProfiledSetting& setting : group.settings) {
    for (const ProfiledRow& row : setting.rows) {
      for (const LocatedRecord* run : row.runs) {
        if (HasCheckpoint(*run)) LRA_RETURN_IF_ERROR(AddPerturbed(*run, request, &seen));
      }
    }
  }
  if (seen.of.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "--perturb: no run of ", group.task, " has a checkpoint, and records alone hold no model"));
  }
  return seen;
}

}  // namespace

absl::StatusOr<ProfiledRuns> ProfileRuns(const ProfileRunsRequest& request) {
  ProfiledRuns profiled;
  LRA_ASSIGN_OR_RETURN(profiled.found, FindRunRecords(request.runs, Damaged::kSetAside));
  LRA_ASSIGN_OR_RETURN(profiled.groups, GroupForProfiles(profiled.found, request.look.split,
                                                         request.methods, &profiled.left_out));
  // Stored scores are about the runs' own examples, whatever the models also run on.
  const bool is_own = request.look.data_dir.empty() || request.look.allows_other_data;
  for (const ProfileGroup& group : profiled.groups) {
    LRA_ASSIGN_OR_RETURN(
        const std::vector<Strata> strata,
        request.strata_of(*group.data, is_own ? DataOfGroup(group) : request.look.data_dir));
    std::vector<Circumstances> seen;
    if (request.perturbs) {
      LRA_ASSIGN_OR_RETURN(seen.emplace_back(), PerturbGroup(group, request));
    }
    const ProfileSources sources{strata, seen, request.published};
    LRA_ASSIGN_OR_RETURN(profiled.boards.emplace_back(),
                         MakeProfileBoard(group, sources, request.confidence));
  }
  return profiled;
}

}  // namespace lra
