#include "inspect/ablation_locality.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

// What is left out is told, what is broken ends the command.
bool IsLeftOut(const absl::Status& status) {
  return absl::IsNotFound(status) || absl::IsInvalidArgument(status);
}

// Measures each run once, however many designs it belongs to.
class Runs {
 public:
  explicit Runs(const LocalityRequest& request) : request_(request) {}

  const absl::StatusOr<ModelLocality>& Of(const std::string& directory) {
    const auto known = measured_.find(directory);
    if (known != measured_.end()) return known->second;
    LocalityRequest request = request_;
    request.checkpoint = directory;
    return measured_.emplace(directory, MeasureLocality(request)).first->second;
  }

 private:
  const LocalityRequest request_;
  std::map<std::string, absl::StatusOr<ModelLocality>> measured_;
};

// Adds the cell's runs to its mean, and what equal weights would do to `uniform`.
absl::Status AddCell(const AblationTask& task, size_t cell, Runs* runs, TaskLocality* locality,
                     std::vector<Locality>* uniform) {
  CellLocality& one = locality->cells.emplace_back();
  std::vector<Locality> seeds;
  for (size_t s = 0; s < task.runs[cell].size() && cell < task.folders.size(); ++s) {
    if (task.runs[cell][s].empty()) continue;  // it did not train
    const absl::StatusOr<ModelLocality>& run = runs->Of(task.folders[cell][s].directory);
    if (!run.ok() && !IsLeftOut(run.status())) return run.status();
    if (!run.ok()) {
      one.reason = std::string(run.status().message());
      continue;
    }
    seeds.push_back(run->mean);
    uniform->push_back(run->uniform);
    one.is_absolute = one.is_absolute || run->is_absolute;
    one.passed_over = std::max(one.passed_over, run->passed_over);
    locality->windows = run->windows;
    locality->examples = run->examples;
  }
  one.seeds = static_cast<int64_t>(seeds.size());
  if (!seeds.empty()) one.mean = MeanLocality(seeds);
  return absl::OkStatus();
}

absl::Status AddTask(const std::string& split, Runs* runs, AblationTask* task) {
  TaskLocality locality;
  locality.split = split;
  std::vector<Locality> uniform;
  for (size_t cell = 0; cell < task->runs.size(); ++cell)
    LRA_RETURN_IF_ERROR(AddCell(*task, cell, runs, &locality, &uniform));
  if (!uniform.empty()) locality.uniform = MeanLocality(uniform);
  task->locality = std::move(locality);
  return absl::OkStatus();
}

}  // namespace

absl::Status AddLocality(const LocalityRequest& request, AblationReport* report) {
  Runs runs(request);
  for (AblationResult& design : report->designs) {
    for (AblationTask& task : design.ablation.tasks)
      LRA_RETURN_IF_ERROR(AddTask(request.split, &runs, &task));
  }
  return absl::OkStatus();
}

}  // namespace lra
