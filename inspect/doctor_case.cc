#include "inspect/doctor_case.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "datasets/data_directory.h"
#include "eval/doctor_data.h"
#include "inspect/model_facts.h"
#include "inspect/open_checkpoint.h"
#include "lra/status_macros.h"
#include "run_folder/run_folder.h"

namespace lra {
namespace {

// Fills facts.data; the folder that the model may be run on, empty where there is none.
absl::StatusOr<std::string> AddData(const CaseRequest& request, GatheredCase* gathered) {
  const RunRecord& run = gathered->facts.run;
  const bool is_given = !request.data_dir.empty();
  std::string directory = is_given ? request.data_dir : DataDirectoryOfRun(request.run);
  if (directory.empty()) directory = DefaultDataDirectory(run.config().task());
  absl::StatusOr<DataFacts> data =
      LookAtData(directory, run, request.knowledge_of, request.threads);
  if (!data.ok() && is_given) return data.status();
  if (!data.ok()) {
    gathered->notes.emplace_back(data.status().message());
    return "";
  }
  if (!data->is_same && !is_given) {
    gathered->notes.push_back(directory +
                              " is not the data that the run was trained on; give --data");
    return "";
  }
  gathered->facts.data = *std::move(data);
  return directory;
}

// Rules are about training with labels. What pretraining took is known once it has ended.
absl::Status CheckHasLabels(const std::string& run, const RunFolder& folder) {
  const RunRecord& record = folder.record;
  const bool is_stage = record.config().has_pretrain() && record.pretrain().steps() == 0 &&
                        folder.state != RunState::kFinished;
  if (!folder.is_pretraining && !is_stage) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      run, ": is pretraining, ", RunStateName(folder.state), " at step ", folder.step(),
      folder.failure.empty() ? "" : absl::StrCat(" (", folder.failure, ")"),
      ": what is looked at is training with labels; `lra watch` shows its curve"));
}

}  // namespace

absl::StatusOr<GatheredCase> GatherCase(const CaseRequest& request) {
  LRA_ASSIGN_OR_RETURN(RunFolder folder, ReadActivePart(request.run));
  LRA_RETURN_IF_ERROR(CheckHasLabels(request.run, folder));
  GatheredCase gathered;
  if (!folder.part.empty()) gathered.notes.push_back("the curve is of " + folder.part);
  DoctorCase& facts = gathered.facts;
  facts.is_finished = folder.state == RunState::kFinished;
  facts.run = std::move(folder.record);
  if (!folder.failure.empty()) gathered.notes.push_back("it stopped: " + folder.failure);
  LRA_ASSIGN_OR_RETURN(facts.landmarks, LoadLandmarks());
  LRA_ASSIGN_OR_RETURN(const std::string data_dir, AddData(request, &gathered));
  absl::StatusOr<ModelFacts> model = LookAtModel({.path = request.run,
                                                  .data_dir = data_dir,
                                                  .threads = request.threads,
                                                  .device = request.device,
                                                  .make_classifier = request.make_classifier});
  if (model.ok()) {
    facts.model = *std::move(model);
  } else {
    if (absl::IsDataLoss(model.status())) facts.damage = std::string(model.status().message());
    gathered.notes.emplace_back(model.status().message());
  }
  return gathered;
}

}  // namespace lra
