#include "train/run_estimate.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "datasets/dataset.h"
#include "datasets/loader.h"
#include "eval/machine.h"
#include "lra/cpu_time.h"
#include "lra/files.h"
#include "lra/parallel.h"
#include "lra/progress.h"
#include "lra/seconds.h"
#include "lra/status_macros.h"
#include "models/base/torch_status.h"
#include "run_folder/checkpoint.h"
#include "train/estimate.h"
#include "train/label_objective.h"
#include "train/pretrain.h"
#include "train/probe.h"
#include "train/stage_checkpoints.h"
#include "train/token_objective.h"
#include "train/validations.h"

namespace lra {
namespace {

// Selected and last.
constexpr int kMostCheckpointsScored = 2;

// Wall time since this process was started, by what the kernel noted of it (field 22 of proc(5)'s
// stat, in clock ticks since boot); 0 where it does not tell.
double SecondsSinceStart() {
  std::string stat;
  std::getline(std::ifstream("/proc/self/stat"), stat);
  // Behind the program's name, which may hold anything, comes field 3.
  const std::vector<std::string> fields =
      absl::StrSplit(stat.substr(stat.rfind(')') + 1), ' ', absl::SkipEmpty());
  constexpr size_t kStartTime = 22 - 3;
  double ticks = 0;
  timespec now{};
  if (fields.size() <= kStartTime || !absl::SimpleAtod(fields[kStartTime], &ticks) ||
      clock_gettime(CLOCK_BOOTTIME, &now) != 0)
    return 0;
  const double seconds = static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  return std::max(0.0, seconds - ticks / static_cast<double>(sysconf(_SC_CLK_TCK)));
}

// Wall and processor time since it was made.
class Timer {
 public:
  double wall() const { return SecondsSince(begin_); }
  double cpu() const { return ProcessCpuSeconds() - cpu_begin_; }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  double cpu_begin_ = ProcessCpuSeconds();
};

absl::StatusOr<double> ProbeStep(const Run& run, const Stage& stage,
                                 const std::vector<int64_t>& examples) {
  const Timer timer;
  LRA_RETURN_IF_ERROR(stage.objective
                          ->AddGradient(MakeBatch(run.train, examples), stage.micro_batch_examples,
                                        {.training = true})
                          .status());
  LRA_RETURN_IF_ERROR(CatchTorch([&] {
    stage.optimizer->Step(stage.objective->MakeSchedule(0).At(0));
    return absl::OkStatus();
  }));
  stage.optimizer->ZeroGradients();
  return timer.wall();
}

// Mean seconds of a forward pass over a batch of the validation split.
absl::StatusOr<double> BatchSeconds(const Run& run) {
  const int64_t batch_examples = run.config().train().batch_examples();
  const BatchPlan plan = PlanEvaluation(run.validation, batch_examples, run.validation.size());
  return MeanProbe(plan,
                   [&](const auto& batch) { return ProbeForward(run, run.validation, batch); });
}

int64_t DirectoryBytes(const std::string& directory) {
  int64_t bytes = 0;
  std::error_code failed;
  std::filesystem::recursive_directory_iterator entry(directory, failed);
  for (; entry != std::filesystem::recursive_directory_iterator(); entry.increment(failed))
    if (entry->is_regular_file(failed)) bytes += static_cast<int64_t>(entry->file_size(failed));
  return bytes;
}

double StageSeconds(const StageCost& stage) {
  return static_cast<double>(stage.steps()) * stage.step_seconds() +
         static_cast<double>(stage.validations()) *
             (stage.validation_seconds() + stage.save_seconds());
}

// Checkpoints of a stage that stay: the newest, the best and that of a fixed step, of as many as
// there are. A stage that ends before one is due by time has those of its validations alone.
int CheckpointsKept(const Stage& stage, const RuntimeConfig& runtime, const StageCost& cost) {
  const int best = stage.objective->is_tested() ? 1 : 0;
  const int fixed = stage.objective->kept_step() >= 0 ? 1 : 0;
  const int kept = std::max(1, runtime.keep_checkpoints()) + best + fixed;
  const double every_seconds = 60 * runtime.checkpoint_every_minutes();
  const bool has_others = runtime.checkpoint_every_steps() > 0 ||
                          (every_seconds > 0 && StageSeconds(cost) >= every_seconds);
  return has_others ? kept : static_cast<int>(std::min<int64_t>(kept, cost.validations() + fixed));
}

// Steps first, so that the checkpoint holds moments.
absl::StatusOr<StageCost> MeasureStage(const Run& run, const Stage& stage, double batch_seconds) {
  StageCost cost;
  cost.set_name(stage.objective->name());
  cost.set_steps(stage.objective->steps());
  const BatchPlan plan = BatchesByLength(run, stage.objective->order());
  LRA_RETURN_IF_ERROR(ProbeStep(run, stage, plan.back()).status());  // memory, warm-up
  LRA_ASSIGN_OR_RETURN(const double step,
                       MeanProbe(plan, [&](const auto& b) { return ProbeStep(run, stage, b); }));
  cost.set_step_seconds(step);
  cost.set_validations(CountValidations(*stage.objective, run.config().train()));
  cost.set_validation_seconds(batch_seconds * ValidationBatches(run, *stage.objective));
  StageCheckpoints checkpoints(run.request.runtime, stage);
  LRA_RETURN_IF_ERROR(MakeDirectories(stage.directory));
  const Timer timer;
  LRA_RETURN_IF_ERROR(checkpoints.Save());
  cost.set_save_seconds(timer.wall());
  cost.set_checkpoint_bytes(DirectoryBytes(CheckpointPath(stage.directory, stage.state->step())));
  cost.set_checkpoints(CheckpointsKept(stage, run.request.runtime, cost));
  return cost;
}

absl::StatusOr<StageCost> MeasurePretraining(const Run& run, double batch_seconds) {
  LRA_ASSIGN_OR_RETURN(const std::unique_ptr<TokenObjective> objective,
                       TokenObjective::Create(run));
  Optimizer optimizer(PretrainOptimizer(run.config().optimizer()), objective->parameters());
  CheckpointState state = run.state;
  Stage stage = {objective.get(), JoinPath(run.request.runtime.out_dir(), kPretrainFolder),
                 &optimizer, &state};
  LRA_RETURN_IF_ERROR(PlanStage(run, &stage));
  return MeasureStage(run, stage, batch_seconds);
}

// The scoring of test and validation in the end.
struct Scoring {
  double batches = 0;
  double open_seconds = 0;  // of the test split, whose hashes are checked
};

absl::StatusOr<Scoring> MeasureScoring(const Run& run) {
  const DataView& view = run.config().view();
  const Timer timer;
  LRA_ASSIGN_OR_RETURN(
      const Dataset data,
      Dataset::Open(run.request.runtime.data_dir(),
                    {.splits = {"test"}, .view = &view, .threads = run.request.runtime.threads()}));
  LRA_ASSIGN_OR_RETURN(const SplitView test, SplitView::Create(data, "test", view));
  const int64_t limit = run.config().evaluation().scored_examples();
  return Scoring{.batches = EvaluationBatches(run.config(), test.size(), limit) +
                            EvaluationBatches(run.config(), run.validation.size(), limit),
                 .open_seconds = timer.wall()};
}

void AddSums(double cpu_share, RunEstimate* estimate) {
  const bool is_search = estimate->trials() > 1;
  double trial = estimate->start_seconds();
  for (const StageCost& stage : estimate->stage()) trial += StageSeconds(stage);
  estimate->set_wall_seconds(estimate->trials() * trial + estimate->score_seconds() +
                             (is_search ? estimate->start_seconds() : 0));
  estimate->set_cpu_seconds(cpu_share * estimate->wall_seconds());
}

// Each trial of a search has a folder of its own, the run a copy of the best one's after labels.
// One more checkpoint than stay is there while it is written.
int64_t CheckpointBytes(const RunEstimate& estimate) {
  int64_t trial = 0, being_written = 0;
  for (const StageCost& stage : estimate.stage()) {
    trial += stage.checkpoints() * stage.checkpoint_bytes();
    being_written = std::max(being_written, stage.checkpoint_bytes());
  }
  const StageCost& labels = estimate.stage(estimate.stage_size() - 1);
  const int64_t copy = estimate.trials() > 1 ? labels.checkpoints() * labels.checkpoint_bytes() : 0;
  return estimate.trials() * trial + copy + being_written;
}

int64_t PredictionBytes(const Run& run, double batches) {
  const double examples = batches * run.config().train().batch_examples();
  const double value_bytes = run.request.half_logits ? 2 : 4;
  const int checkpoints = run.request.skips_last_checkpoint ? 1 : kMostCheckpointsScored;
  const TaskSpec& spec = run.train.spec();
  const double example_bytes =
      spec.guesses_tokens() ? sizeof(double) : spec.classes() * value_bytes;
  return static_cast<int64_t>(examples * example_bytes * checkpoints);
}

absl::StatusOr<RunEstimate> Measure(const TrainRequest& request) {
  const double loading_seconds = SecondsSinceStart();
  const Timer timer;
  LRA_ASSIGN_OR_RETURN(const std::unique_ptr<Run> run, OpenRun(request));
  const LabelObjective objective(*run);
  Stage stage = LabelStage(objective, run.get());
  LRA_RETURN_IF_ERROR(PlanStage(*run, &stage));
  RunEstimate estimate;
  estimate.set_start_seconds(loading_seconds + timer.wall());
  const Timer probes;
  LRA_ASSIGN_OR_RETURN(const double batch_seconds, BatchSeconds(*run));
  if (run->config().has_pretrain()) {
    LRA_ASSIGN_OR_RETURN(*estimate.add_stage(), MeasurePretraining(*run, batch_seconds));
  }
  LRA_ASSIGN_OR_RETURN(*estimate.add_stage(), MeasureStage(*run, stage, batch_seconds));
  const double cpu_share = probes.cpu() / probes.wall();
  LRA_ASSIGN_OR_RETURN(const Scoring scoring, MeasureScoring(*run));
  estimate.set_score_seconds(scoring.open_seconds +
                             CheckpointsScored(request) * scoring.batches * batch_seconds);
  const SearchConfig& search = run->config().search();
  estimate.set_trials(std::max(1, search.budget_trials()));
  AddSums(cpu_share, &estimate);
  estimate.set_peak_memory_bytes(PeakMemoryBytes());
  estimate.set_checkpoint_bytes(estimate.stage(estimate.stage_size() - 1).checkpoint_bytes());
  estimate.set_disk_bytes(CheckpointBytes(estimate) + PredictionBytes(*run, scoring.batches));
  estimate.set_parameters(objective.parameters().count());
  estimate.set_micro_batch_examples(stage.micro_batch_examples);
  estimate.set_threads(ResolveThreads(request.runtime.threads()));
  return estimate;
}

}  // namespace

absl::StatusOr<RunEstimate> EstimateRun(const TrainRequest& request) {
  const std::string parent =
      std::filesystem::path(request.runtime.out_dir()).parent_path().string();
  const bool makes_parent = !parent.empty() && !FileExists(parent);
  absl::StatusOr<RunEstimate> estimate;
  {
    LRA_ASSIGN_OR_RETURN(const StagingDirectory scratch,
                         StagingDirectory::Create(request.runtime.out_dir() + ".dry-run"));
    TrainRequest probe = request;
    probe.runtime.set_out_dir(JoinPath(scratch.path(), "run"));
    probe.runtime.set_quiet(true);
    probe.leaves_out_warnings = true;
    probe.resume = false;
    estimate = Measure(probe);
  }
  std::error_code not_empty;
  if (makes_parent) std::filesystem::remove(parent, not_empty);
  return estimate;
}

std::string DescribeRunEstimate(const RunEstimate& estimate) {
  std::string text =
      absl::StrCat(FormatCount(estimate.parameters()), " parameters, ", estimate.threads(),
                   estimate.threads() == 1 ? " thread" : " threads", ", start ",
                   FormatSeconds(estimate.start_seconds()), "\n");
  if (estimate.trials() > 1) absl::StrAppend(&text, estimate.trials(), " trials of:\n");
  for (const StageCost& stage : estimate.stage()) {
    absl::StrAppend(&text, stage.name(), ": ", FormatCount(stage.steps()), " steps of ",
                    absl::StrFormat("%.3g s", stage.step_seconds()), ", ", stage.validations(),
                    stage.validations() == 1 ? " validation of " : " validations of ",
                    FormatSeconds(stage.validation_seconds()), "\n");
  }
  return absl::StrCat(text, "scoring: ", FormatSeconds(estimate.score_seconds()), "\nabout ",
                      FormatSeconds(estimate.wall_seconds()), " (",
                      FormatSeconds(estimate.cpu_seconds()), " of a core), ",
                      FormatBytes(estimate.peak_memory_bytes()), " of memory, ",
                      FormatBytes(estimate.disk_bytes()), " of disk\n");
}

}  // namespace lra
