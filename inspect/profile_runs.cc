#include "inspect/profile_runs.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "inspect/open_checkpoint.h"
#include "lra/status_macros.h"
#include "run_folder/checkpoint.h"
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
  const absl::StatusOr<std::string> checkpoint = FindCheckpoint(run.directory);
  return checkpoint.ok() && LoadCheckpointState(*checkpoint).ok();
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
          absl::StrCat(scores.metric->name(),
                       " is no mean over examples, so several runs have no interval; give one"));
    }
    values.push_back(*std::move(of_examples));
  }
  seen->names = scores.names;
  return absl::OkStatus();
}

// The rows of the group whose runs all have checkpoints, on perturbed inputs; why others are not
// goes to `left_out`.
absl::StatusOr<Circumstances> PerturbGroup(const ProfileGroup& group,
                                           const ProfileRunsRequest& request,
                                           std::vector<std::string>* left_out) {
  Circumstances seen{"perturbation", kPerturbedDefinition, {}, {}};
  absl::Status error;
  for (const ProfiledSetting& setting : group.settings) {
    if (setting.kind != RunRecord::MEASURED) continue;
    for (const ProfiledRow& row : setting.rows) {
      const auto with = std::count_if(row.runs.begin(), row.runs.end(),
                                      [](const LocatedRecord* run) { return HasCheckpoint(*run); });
      if (with < static_cast<int64_t>(row.runs.size())) {
        left_out->push_back(
            absl::StrCat(row.runs.front()->directory, ": ", with, " of ", row.runs.size(),
                         " runs of its row have a checkpoint; no perturbed inputs"));
        continue;
      }
      for (const LocatedRecord* run : row.runs) {
        const absl::Status added = AddPerturbed(*run, request, &seen);
        if (absl::IsCancelled(added)) return added;
        if (added.ok()) continue;
        error.Update(added);
        left_out->push_back(
            absl::StrCat(run->directory, ": no perturbed inputs: ", added.message()));
        // A row is shown with all of its runs, or not.
        for (const LocatedRecord* of_row : row.runs) seen.of.erase(of_row->directory);
        break;
      }
    }
  }
  if (!seen.of.empty()) return seen;
  error.Update(absl::FailedPreconditionError("no row has a checkpoint of each run"));
  return error;
}

std::string NameOf(const ProfileGroup& group) {
  return absl::StrCat(group.task, " (", group.settings.front().rows.front().runs.front()->directory,
                      ", ...)");
}

// One folder of data suits one group.
absl::Status CheckData(const ProfileRunsRequest& request, const std::vector<ProfileGroup>& groups) {
  if (request.look.data_dir.empty() || groups.size() == 1) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "--data ", request.look.data_dir, ": the runs are of ", groups.size(), " kinds of data, ",
      absl::StrJoin(
          groups, "; ",
          [](std::string* out, const ProfileGroup& group) { absl::StrAppend(out, NameOf(group)); }),
      "; give the runs of one"));
}

// Keeps an error that the whole is not to fail of, as long as something else can be shown.
void SetAside(const ProfileGroup& group, absl::string_view what, const absl::Status& error,
              std::vector<std::string>* left_out) {
  left_out->push_back(absl::StrCat(NameOf(group), what, ": ", error.message()));
}

}  // namespace

absl::StatusOr<ProfiledRuns> ProfileRuns(const ProfileRunsRequest& request) {
  ProfiledRuns profiled;
  LRA_ASSIGN_OR_RETURN(profiled.found, FindRunRecords(request.runs, Damaged::kSetAside));
  LRA_ASSIGN_OR_RETURN(profiled.groups, GroupForProfiles(profiled.found, request.look.split,
                                                         request.methods, &profiled.left_out));
  LRA_RETURN_IF_ERROR(CheckData(request, profiled.groups));
  // All data is opened before the first model runs, which takes long.
  std::vector<absl::StatusOr<std::vector<Strata>>> strata;
  for (const ProfileGroup& group : profiled.groups) {
    const std::string own = request.look.data_of_run();
    strata.push_back(request.strata_of(*group.data, own.empty() ? DataOfGroup(group) : own));
  }
  absl::Status error;
  bool has_perturbed = false;
  for (size_t g = 0; g < profiled.groups.size(); ++g) {
    const ProfileGroup& group = profiled.groups[g];
    if (!strata[g].ok()) {
      error.Update(strata[g].status());
      SetAside(group, "", strata[g].status(), &profiled.left_out);
      continue;
    }
    std::vector<Circumstances> seen;
    if (request.perturbs) {
      absl::StatusOr<Circumstances> perturbed = PerturbGroup(group, request, &profiled.left_out);
      if (absl::IsCancelled(perturbed.status())) return perturbed.status();
      if (perturbed.ok()) {
        seen.push_back(*std::move(perturbed));
        has_perturbed = true;
      } else {
        error.Update(perturbed.status());
        SetAside(group, ", --perturb", perturbed.status(), &profiled.left_out);
      }
    }
    LRA_ASSIGN_OR_RETURN(
        profiled.boards.emplace_back(),
        MakeProfileBoard(group, {*strata[g], seen, request.published}, kProfileConfidence));
  }
  if (profiled.boards.empty() || (request.perturbs && !has_perturbed)) return error;
  return profiled;
}

}  // namespace lra
