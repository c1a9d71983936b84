#include "train/run.h"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "datasets/classes.h"
#include "datasets/leakage.h"
#include "eval/data_identity.h"
#include "eval/run_record.h"
#include "lra/config.h"
#include "lra/files.h"
#include "lra/parallel.h"
#include "lra/pretrain_budget.h"
#include "lra/status_macros.h"
#include "lra/temporary_name.h"
#include "models/base/device_work.h"
#include "models/base/product_type.h"
#include "models/base/runtime.h"
#include "models/base/torch_status.h"
#include "run_folder/checkpoint.h"
#include "run_folder/tensorboard.h"
#include "train/data_notes.h"
#include "train/finish.h"
#include "train/shared_run.h"
#include "train/size_check.h"
#include "train/start_weights.h"
#include "train/step_graphs.h"
#include "train/stretches.h"
#include "train/trainable.h"

namespace lra {
namespace {

// The first field in which two messages differ, as "model.width is 64, the checkpoint has 32";
// `where` is "the checkpoint".
std::string FirstDifference(const google::protobuf::Message& now,
                            const google::protobuf::Message& then, absl::string_view where) {
  std::map<std::string, std::string> old_values;
  for (auto& [path, value] : ComparedFields(then)) old_values[path] = value;
  for (auto& [path, value] : ComparedFields(now)) {
    auto it = old_values.find(path);
    if (it == old_values.end())
      return absl::StrCat(path, " is ", value, ", ", where, " has it unset");
    if (it->second != value)
      return absl::StrCat(path, " is ", value, ", ", where, " has ", it->second);
    old_values.erase(it);
  }
  if (old_values.empty()) return "";
  return absl::StrCat(old_values.begin()->first, " is unset, ", where, " has ",
                      old_values.begin()->second);
}

absl::Status CheckSame(const google::protobuf::Message& now, const google::protobuf::Message& then,
                       absl::string_view what, absl::string_view run_dir,
                       absl::string_view where = "the checkpoint") {
  const std::string difference = FirstDifference(now, then, where);
  if (difference.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("cannot resume ", run_dir, ": its ", what, " differs: ", difference,
                   "; give the run's own settings, or another --out"));
}

// What the loop and the evaluator take from a checkpoint's specification.
TaskSpec Essentials(const TaskSpec& spec) {
  TaskSpec part;
  part.set_name(spec.name());
  part.set_version(spec.version());
  part.set_vocabulary_size(spec.vocabulary_size());
  part.set_classes(spec.classes());
  part.set_metric_name(MetricName(spec));
  part.set_guesses_tokens(spec.guesses_tokens());
  part.set_hides_tokens(spec.hides_tokens());
  return part;
}

absl::Status CheckSameRun(const CheckpointState& now, const CheckpointState& then,
                          absl::string_view directory) {
  LRA_RETURN_IF_ERROR(CheckSame(now.config(), then.config(), "configuration", directory));
  LRA_RETURN_IF_ERROR(CheckSame(now.data(), then.data(), "data", directory));
  return CheckSame(Essentials(now.spec()), Essentials(then.spec()), "task specification",
                   directory);
}

void NoteThreads(absl::string_view directory, int before, int now) {
  if (before == now) return;
  std::cerr << "note: " << directory << " was trained with " << before << " threads, now " << now
            << ": the last digits will differ from an undisturbed run\n";
}

void NoteReduction(absl::string_view directory, const CheckpointState& before, bool now) {
  if (before.step() == 0 || before.efficiency().exact_reduction() == now) return;
  std::cerr << "note: " << directory << " was trained "
            << (now ? "without --exact-reduction, now with it"
                    : "with --exact-reduction, now without")
            << ": the last digits will differ from an undisturbed run, and its record does not say "
               "that the number of processes changes none\n";
}

// What a killed process was writing, of pretraining too.
void RemoveLeftovers(const std::string& run) {
  const std::string pretrain = JoinPath(run, kPretrainFolder);
  const std::string events = std::filesystem::path(kTensorBoardFile).parent_path().string();
  for (const std::string& folder :
       {run, JoinPath(run, events), pretrain, JoinPath(pretrain, events)}) {
    std::error_code ignored;
    std::filesystem::directory_iterator entry(folder, ignored);
    for (; entry != std::filesystem::directory_iterator(); entry.increment(ignored)) {
      if (!IsTemporaryName(entry->path().filename().string())) continue;
      std::error_code failed;  // a leftover that cannot be removed does no harm
      std::filesystem::remove_all(entry->path(), failed);
    }
  }
}

absl::Status RestoreIfThere(Run* run) {
  LRA_RETURN_IF_ERROR(CheckRunDirectory(run->request));
  const std::string& out = run->request.runtime.out_dir();
  const bool goes_on = run->request.resume && !absl::IsNotFound(LatestCheckpoint(out).status());
  if (!goes_on) {
    LRA_RETURN_IF_ERROR(LoadStart(run));
    run->optimizer->BeginAverage();
  }
  if (!run->request.resume) return absl::OkStatus();
  return RestoreLatest(out, run->request, run->model->parameters(), run->optimizer.get(),
                       &run->state);
}

absl::Status OpenData(Run* run) {
  const RuntimeConfig& runtime = run->request.runtime;
  const ExperimentConfig& config = run->config();
  LRA_ASSIGN_OR_RETURN(run->data,
                       Dataset::Open(runtime.data_dir(), {.splits = {"train", "validation"},
                                                          .view = &config.view(),
                                                          .threads = runtime.threads()}));
  if (run->data.spec().name() != config.task()) {
    return absl::InvalidArgumentError(absl::StrCat(runtime.data_dir(), " holds task \"",
                                                   run->data.spec().name(),
                                                   "\", the run is about \"", config.task(), "\""));
  }
  LRA_ASSIGN_OR_RETURN(run->train, SplitView::Create(run->data, "train", config.view()));
  LRA_ASSIGN_OR_RETURN(run->validation, SplitView::Create(run->data, "validation", config.view()));
  return absl::OkStatus();
}

// What the data says of itself.
std::vector<std::string> DataWarnings(const Run& run) {
  std::vector<std::string> warnings = DescribeOverlap(run.data.manifest());
  if (run.train.spec().guesses_tokens()) return warnings;
  for (std::string& sentence : DescribeClasses(run.data.manifest()))
    warnings.push_back(std::move(sentence));
  if (std::string sorted = OneClassWarning(
          run.validation, run.config().train().validation_examples(), "train.validation_examples");
      !sorted.empty())
    warnings.push_back(std::move(sorted));
  return warnings;
}

// Beside what the configuration does, each once: that of a run that goes on has the data's already.
std::vector<std::string> WarningsOf(const Run& run) {
  std::vector<std::string> warnings = run.request.resolved.warnings;
  for (std::string& warning : DataWarnings(run)) {
    if (std::find(warnings.begin(), warnings.end(), warning) == warnings.end())
      warnings.push_back(std::move(warning));
  }
  return warnings;
}

void StartState(Run* run) {
  CheckpointState& state = run->state;
  *state.mutable_config() = run->config();
  *state.mutable_spec() = run->train.spec();
  *state.mutable_data() = IdentifyData(run->data.manifest(), run->config().view());
  state.set_data_dir(std::filesystem::absolute(run->request.runtime.data_dir()).lexically_normal());
  state.set_best_step(-1);
  state.mutable_provenance()->insert(run->request.resolved.provenance.begin(),
                                     run->request.resolved.provenance.end());
  const ResolvedConfig& resolved = run->request.resolved;
  state.mutable_changed_rule()->Assign(resolved.changed_rules.begin(),
                                       resolved.changed_rules.end());
  const std::vector<std::string> warnings = WarningsOf(*run);
  state.mutable_warning()->Assign(warnings.begin(), warnings.end());
}

// Said with --quiet, too, which leaves out progress alone.
void PrintWarnings(const Run& run) {
  const TrainRequest& request = run.request;
  if (request.leaves_out_warnings || request.is_same_process || !run.writes()) return;
  for (const std::string& warning : WarningsOf(run)) std::cerr << "warning: " << warning << "\n";
}

void NoteSmallSplit(const Run& run) {
  const int64_t batch = run.config().train().batch_examples(), held = run.train.size();
  if (held >= batch || run.request.runtime.quiet()) return;
  std::cerr << "note: train.batch_examples is " << batch << ", the training split has " << held
            << " examples: every batch is the whole split\n";
}

void NoteSlowBfloat16(const Run& run, at::Device device) {
  const bool is_rounded = run.config().numerics().precision() == NumericsConfig::BF16;
  if (!is_rounded || !device.is_cpu() || run.request.runtime.quiet()) return;
  const std::string why = WhyBfloat16IsSlow();
  if (!why.empty()) std::cerr << "note: numerics.precision=BF16: " << why << "\n";
}

// What a rank does by itself before the run begins.
absl::Status Open(Run* run) {
  const TrainRequest& request = run->request;
  LRA_RETURN_IF_ERROR(CheckShareable(request, *run->ranks));
  LRA_ASSIGN_OR_RETURN(const at::Device device,
                       OpenDevice(request.runtime.device(), run->ranks->launch().local_rank));
  LRA_RETURN_IF_ERROR(
      SetTf32For(run->config().numerics().precision() == NumericsConfig::TF32, device));
  LRA_RETURN_IF_ERROR(CheckGraphs(request.graphs, device));
  LRA_RETURN_IF_ERROR(OpenData(run));
  LRA_ASSIGN_OR_RETURN(run->metric, MetricOf(run->train.spec()));
  LRA_RETURN_IF_ERROR(CheckTask(request, run->data.manifest(), run->train.spec()));
  PrintWarnings(*run);
  NoteSmallSplit(*run);
  NoteSlowBfloat16(*run, device);
  LRA_RETURN_IF_ERROR(CheckTrainingFits(*run, device.is_cpu()));
  LRA_RETURN_IF_ERROR(CatchTorch([&] {
    LRA_ASSIGN_OR_RETURN(run->model, request.make_classifier(run->config(), run->train.spec()));
    run->model->MoveTo(device);
    return absl::OkStatus();
  }));
  run->optimizer = std::make_unique<Optimizer>(run->config().optimizer(), run->model->parameters());
  StartState(run);
  if (!run->writes()) return absl::OkStatus();
  LRA_ASSIGN_OR_RETURN(RunClaim claim, RunClaim::Take(request.runtime.out_dir()));
  run->claim.emplace(std::move(claim));
  LRA_RETURN_IF_ERROR(RestoreIfThere(run));
  NoteTrainer(DescribeTrainer(run->config(), device), &run->state);
  return absl::OkStatus();
}

}  // namespace

absl::Status RestoreLatest(const std::string& directory, const TrainRequest& request,
                           const ParameterStore& parameters, Optimizer* optimizer,
                           CheckpointState* state, bool is_pretraining) {
  const absl::StatusOr<std::string> checkpoint = LatestCheckpoint(directory);
  RemoveLeftovers(directory);
  if (absl::IsNotFound(checkpoint.status()))
    return absl::OkStatus();  // killed before its first checkpoint
  LRA_RETURN_IF_ERROR(checkpoint.status());
  LRA_ASSIGN_OR_RETURN(CheckpointState restored, LoadCheckpointState(*checkpoint));
  const ExperimentConfig config = state->config();
  if (is_pretraining) {
    *state->mutable_config()->mutable_pretrain() =
        AsBefore(config.pretrain(), restored.config().pretrain());
  }
  LRA_RETURN_IF_ERROR(CheckSameRun(*state, restored, directory));
  LRA_RETURN_IF_ERROR(LoadWeights(*checkpoint, restored, parameters));
  LRA_RETURN_IF_ERROR(LoadOptimizer(*checkpoint, restored, [&](const NamedTensors& moments) {
    return optimizer->Restore(moments);
  }));
  const bool has_ended =
      is_pretraining ? restored.step() >= PretrainSteps(config) : IsTrained(restored);
  if (!has_ended) {
    NoteThreads(directory, restored.efficiency().threads(),
                ResolveThreads(request.runtime.threads()));
    NoteReduction(directory, restored, request.exact_reduction);
  }
  *state = std::move(restored);
  if (is_pretraining) *state->mutable_config() = config;
  if (!request.is_same_process)
    state->mutable_efficiency()->set_resumes(state->efficiency().resumes() + 1);
  return absl::OkStatus();
}

absl::Status CheckIsNoEvaluation(const RunRecord& record, absl::string_view directory) {
  if (!record.has_later_look()) return absl::OkStatus();
  return absl::AlreadyExistsError(absl::StrCat(
      directory, " holds an evaluation (`lra eval`), not a run; choose another --out"));
}

absl::Status CheckSameRecord(const ExperimentConfig& config, const DataIdentity& data,
                             const RunRecord& record, absl::string_view directory) {
  constexpr absl::string_view kWhere = "its record";
  LRA_RETURN_IF_ERROR(CheckIsNoEvaluation(record, directory));
  LRA_RETURN_IF_ERROR(CheckSame(config, record.config(), "configuration", directory, kWhere));
  return CheckSame(data, record.data(), "data", directory, kWhere);
}

absl::StatusOr<std::unique_ptr<Run>> OpenRun(const TrainRequest& request) {
  auto run = std::make_unique<Run>();
  run->request = request;
  run->ranks = request.ranks != nullptr ? request.ranks : std::make_shared<Ranks>();
  LRA_RETURN_IF_ERROR(run->ranks->Agree(Open(run.get())));
  LRA_RETURN_IF_ERROR(
      ShareStart(run->ranks.get(), run->model->parameters(), run->optimizer.get(), &run->state));
  return run;
}

}  // namespace lra
