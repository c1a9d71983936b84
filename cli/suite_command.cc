#include "cli/suite_command.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/check_cells.h"
#include "cli/check_runtime.h"
#include "cli/flags.h"
#include "cli/stop_signals.h"
#include "cli/suite_output.h"
#include "datasets/manifest.h"
#include "eval/machine.h"
#include "eval/run_folders.h"
#include "lra/config.h"
#include "lra/files.h"
#include "lra/parallel.h"
#include "lra/part.h"
#include "lra/status_macros.h"
#include "lra/suggest.h"
#include "models/base/runtime.h"
#include "models/nominal_cost.h"
#include "run_folder/run_claim.h"
#include "suite/core_locks.h"
#include "suite/executor.h"
#include "suite/job_array.h"
#include "suite/plan.h"
#include "suite/reuse.h"
#include "suite/rules_copy.h"
#include "suite/state.h"
#include "suite/suite_folder.h"
#include "tasks/task.h"
#include "tasks/task_facts.h"
#include "train/data_notes.h"
#include "train/request.h"

namespace lra {
namespace {

absl::StatusOr<Deadline> DeadlineOf(const std::string& text) {
  if (text.empty()) return Deadline();
  LRA_ASSIGN_OR_RETURN(const double seconds, SecondsOfFlag("--budget", text));
  return Deadline(std::chrono::steady_clock::now() +
                  std::chrono::microseconds(static_cast<int64_t>(1e6 * seconds)));
}

std::set<std::string> TasksOf(const std::vector<SuiteCell>& cells) {
  std::set<std::string> tasks;
  for (const SuiteCell& cell : cells) tasks.insert(cell.config.task());
  return tasks;
}

// By task: data that is not there, or that is not the task's.
std::map<std::string, absl::Status> DataErrors(const std::vector<SuiteCell>& cells,
                                               const std::string& data_dir) {
  std::map<std::string, absl::Status> errors;
  for (const std::string& task : TasksOf(cells)) {
    const std::string directory = DataFolderOf(task, data_dir);
    absl::Status status = ReadManifest(directory).status();
    if (status.ok()) status = CheckDataOfTask(directory, task);
    if (!status.ok()) errors[task] = status;
  }
  return errors;
}

// A line for each task, so that all of the data can be made at once.
absl::Status CheckData(const std::map<std::string, absl::Status>& errors) {
  if (errors.empty()) return absl::OkStatus();
  std::vector<std::string> lines;
  for (const auto& [task, error] : errors) lines.push_back(std::string(error.message()));
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());  // two tasks in one folder
  return absl::Status(errors.begin()->second.code(), absl::StrJoin(lines, "\n"));
}

// Says so before anything is measured.
void LeaveOutOfMeasuring(const std::map<std::string, absl::Status>& errors,
                         SuiteRunOptions* options) {
  for (const auto& [task, error] : errors) {
    options->not_measured[task] = std::string(error.message());
    if (!options->is_quiet) std::cerr << "note: " << error.message() << "\n";
  }
}

// Each once, however many cells it is about.
void PrintDataNotes(const std::vector<SuiteCell>& cells, const std::string& data_dir) {
  std::set<std::string> notes, seen;
  for (const SuiteCell& cell : cells) {
    const std::string data_and_view =
        absl::StrCat(cell.config.task(), " ", cell.config.view().SerializeAsString(), " ",
                     cell.config.evaluation().scored_examples());
    if (!seen.insert(data_and_view).second) continue;
    for (std::string& note : DataNotes(cell.config, data_dir)) notes.insert(std::move(note));
  }
  for (const std::string& note : notes) std::cerr << "note: " << note << "\n";
}

// The longest sequence that the view leaves, or the task allows.
absl::StatusOr<int64_t> LongestTokens(const ExperimentConfig& config) {
  if (!config.view().has_pixels() && config.view().max_length_tokens() > 0)
    return config.view().max_length_tokens();
  LRA_ASSIGN_OR_RETURN(const Manifest manifest, ManifestWithoutData(config.task()));
  const int64_t side = manifest.spec().image_side_pixels();
  return side > 0 ? side * side : manifest.spec().max_length_tokens();
}

absl::StatusOr<std::vector<SuiteCell>> PartOf(const std::vector<SuiteCell>& cells,
                                              const Part& part) {
  if (part.parts == 1) return cells;
  std::vector<double> costs;
  for (const SuiteCell& cell : cells) {
    LRA_ASSIGN_OR_RETURN(const int64_t tokens, LongestTokens(cell.config));
    LRA_ASSIGN_OR_RETURN(const double cost, NominalOperations(cell.config, tokens));
    costs.push_back(cost);
  }
  return ShardOf(cells, costs, part);
}

absl::StatusOr<std::vector<SuiteCell>> OneCell(const std::vector<SuiteCell>& cells,
                                               const std::string& name) {
  std::vector<std::string> names;
  for (const SuiteCell& cell : cells) {
    if (cell.name == name) return std::vector<SuiteCell>{cell};
    names.push_back(cell.name);
  }
  return Annotate(UnknownNameError("run", name, names),
                  "--cell (were suite, run file or rules edited since the run was submitted?)");
}

absl::StatusOr<std::vector<SuiteCell>> CellsOf(const SuiteFile& suite, const SuiteFlags& flags,
                                               const Part& part) {
  LRA_ASSIGN_OR_RETURN(const std::vector<SuiteCell> cells, ExpandSuite(suite));
  return flags.cell.empty() ? PartOf(cells, part) : OneCell(cells, flags.cell);
}

// Copies what other suites have trained, and says so; of a dry run it leaves those cells out.
// Returns how many there are.
absl::StatusOr<int> ReuseRuns(const SuiteFlags& flags, const SuiteRunOptions& options,
                              std::vector<SuiteCell>* cells) {
  if (flags.reuse.empty()) return 0;
  auto found = FindReusableRuns(flags.reuse, options.out, *cells);
  if (!found.ok()) return Annotate(found.status(), "--reuse");
  std::map<std::string, int> count_of_folder;
  std::set<std::string> names;
  for (const ReusableRun& run : *found) {
    if (StopWasAsked()) return absl::CancelledError("stopped before a run began");
    if (!flags.is_dry) {
      LRA_ASSIGN_OR_RETURN(const bool is_taken, TakeRun(run, options.out));
      if (!is_taken) continue;
    }
    names.insert(run.cell.name);
    ++count_of_folder[std::filesystem::path(run.directory).parent_path().string()];
  }
  if (flags.is_dry)
    std::erase_if(*cells, [&](const SuiteCell& cell) { return names.count(cell.name) > 0; });
  for (const auto& [folder, count] : count_of_folder) {
    if (!options.is_quiet)
      std::cerr << "reused: " << count << (count == 1 ? " run of " : " runs of ") << folder << "\n";
  }
  return static_cast<int>(names.size());
}

// Workers with a plain "cuda" take the machine's cards in turn. Asked as a run begins, so that
// nothing is asked of CUDA where none is left; where it cannot say, the run itself says why.
std::string CardOfWorker(const std::string& device, int64_t place) {
  // Once, and before any worker's process: CUDA's loading sets an environment variable, which no
  // other thread may read meanwhile.
  static const int64_t cards = CardsOf(device).value_or(1);
  return cards > 1 ? DeviceOfPlace(device, static_cast<int>(place % cards), cards) : device;
}

absl::StatusOr<std::unique_ptr<Executor>> ExecutorOf(const SuiteFlags& flags,
                                                     SuiteRunOptions* options) {
  LRA_ASSIGN_OR_RETURN(const std::optional<ClusterOptions> cluster, ClusterOf(flags.cluster));
  if (!cluster) {
    options->device_of_worker = CardOfWorker;
    return PoolExecutor(*options);
  }
  if (flags.workers > 0 || flags.pins_workers || !flags.budget.empty() || !flags.cell.empty() ||
      options->at_once > 1) {
    return absl::InvalidArgumentError(
        "--workers, --pin-workers, --budget, --at-once and --cell are about processes of this "
        "machine; with --executor slurm --at-most says how many runs are trained at once");
  }
  // Said before cells are measured, which takes minutes.
  LRA_RETURN_IF_ERROR(CheckLogFolder(SlurmFolder(AbsolutePath(options->out))));
  options->program = ClusterProgram();
  options->workers = std::max(1, AvailableCores() / options->threads);
  options->measures = cluster->limit_seconds == 0;
  return SlurmExecutor(*options, {*cluster, ClusterEnvironment(), flags.cluster_flags});
}

// Unset where workers are not to be pinned.
absl::StatusOr<Pinning> PinningOf(const SuiteFlags& flags, int threads) {
  if (!flags.pins_workers) return Pinning();
  auto locks = CoreLocks::Open(CoreLocksFolder(), SiblingsLast(AllowedCores()));
  if (!locks.ok()) return Annotate(locks.status(), "--pin-workers");
  setenv(kSuiteCores, absl::StrCat(AvailableCores()).c_str(), 1);  // for the workers
  return Pinning{*std::move(locks), threads};
}

// The runs' processes find the suite's rules in their environment, and nothing of a launcher that
// started this command, once for each part of a suite, say: they would take themselves for its
// ranks, and a run for one that all of them train.
void SetEnvironmentOfRuns(const std::string& rules) {
  setenv("LRA_CONFIGS", rules.c_str(), 1);
  for (const char* name : {"RANK", "WORLD_SIZE", "SLURM_STEP_NUM_TASKS"}) unsetenv(name);
}

// The runs on their way to training. Each step below takes what the one before it gives, so a step
// that is left out, or comes too early, does not compile.
struct ChosenRuns {  // which runs the flags mean, and how they are to be trained
  std::vector<SuiteCell> cells;
  SuiteRunOptions options;
  Part part;
};
struct CheckedRuns {  // those that nothing known forbids, in a folder that is the suite's
  std::vector<SuiteCell> cells;
  SuiteRunOptions options;
  absl::Status trainable{};  // CheckCells(), which a dry run says in the end
};
struct ReadyRuns {  // those that can be planned and trained
  std::vector<SuiteCell> cells;
  SuiteRunOptions options;
  absl::Status trainable{};
  int reused = 0;  // runs copied from other suites
  std::unique_ptr<Executor> executor{};
};

// The budget is counted from here.
absl::StatusOr<ChosenRuns> ChooseRuns(const SuiteFile& suite, const SuiteFlags& flags,
                                      SuiteRunOptions options, const CommandContext& context) {
  LRA_ASSIGN_OR_RETURN(options.deadline, DeadlineOf(flags.budget));
  LRA_ASSIGN_OR_RETURN(const Part part, ParsePart(flags.shard.empty() ? "0/1" : flags.shard));
  LRA_ASSIGN_OR_RETURN(std::vector<SuiteCell> cells, CellsOf(suite, flags, part));
  const bool are_all = flags.shard.empty() && flags.cell.empty();
  if (are_all && !context.quiet) {
    std::cerr << FewSeedsText(cells);
    PrintDataNotes(cells, options.data_dir);
  }
  options.workers = flags.workers;
  options.part = part.index;
  options.retries_failed = flags.retries_failed || !flags.cell.empty();
  options.measures = flags.cell.empty();
  options.is_quiet = context.quiet;
  LRA_ASSIGN_OR_RETURN(options.pinning, PinningOf(flags, options.threads));
  return ChosenRuns{std::move(cells), std::move(options), part};
}

// A dry run claims nothing and measures what it can; what it cannot measure it says. The one run of
// an element of a job array was checked as the array was submitted.
absl::StatusOr<CheckedRuns> CheckRuns(const SuiteFile& suite, const SuiteFlags& flags,
                                      ChosenRuns chosen) {
  CheckedRuns checked = {std::move(chosen.cells), std::move(chosen.options)};
  const bool are_here = flags.cell.empty() && flags.cluster.executor == kLocalExecutor;
  LRA_RETURN_IF_ERROR(CheckRuntime(checked.cells, checked.options, are_here));
  if (flags.cell.empty()) checked.trainable = CheckCells(checked.cells, checked.options);
  const std::map<std::string, absl::Status> data_errors =
      DataErrors(checked.cells, checked.options.data_dir);
  if (flags.is_dry) {
    LeaveOutOfMeasuring(data_errors, &checked.options);
    return checked;
  }
  LRA_RETURN_IF_ERROR(CheckPrecision(checked.cells, checked.options));
  LRA_RETURN_IF_ERROR(checked.trainable);
  LRA_RETURN_IF_ERROR(CheckData(data_errors));
  LRA_RETURN_IF_ERROR(ClaimSuiteFolder(checked.options.out, suite));
  // With the run files that the folder keeps, whatever becomes of the user's while runs begin.
  LRA_ASSIGN_OR_RETURN(const SuiteFile kept, WithRunFilesOf(checked.options.out, suite));
  LRA_ASSIGN_OR_RETURN(checked.cells, CellsOf(kept, flags, chosen.part));
  return checked;
}

// Notes which data each run is trained on, and what tells the data of each task from any other.
void NoteData(std::vector<SuiteCell>* cells, SuiteRunOptions* options) {
  for (SuiteCell& cell : *cells) cell.data = DataOfRun(cell.config, options->data_dir);
  for (const std::string& task : TasksOf(*cells))
    options->data_of_task[task] = DataDigest(DataFolderOf(task, options->data_dir));
}

// Only runs on the same data are reused, so the data is noted before; a signal stops the copying,
// too. What is measured later reads the copied rules, which the environment names.
absl::StatusOr<ReadyRuns> MakeReady(const SuiteFlags& flags, CheckedRuns checked) {
  ReadyRuns ready = {std::move(checked.cells), std::move(checked.options),
                     std::move(checked.trainable)};
  NoteData(&ready.cells, &ready.options);
  OnStopSignals(StopSuite);
  LRA_ASSIGN_OR_RETURN(ready.reused, ReuseRuns(flags, ready.options, &ready.cells));
  LRA_ASSIGN_OR_RETURN(const std::string rules, CopyRules(ready.options.out));
  SetEnvironmentOfRuns(rules);
  LRA_ASSIGN_OR_RETURN(ready.executor, ExecutorOf(flags, &ready.options));
  return ready;
}

absl::Status ShowPlan(const ReadyRuns& ready, const PlannedSuite& planned,
                      const CommandContext& context) {
  LRA_RETURN_IF_ERROR(PrintSuitePlan(planned, ready.reused, ready.executor.get(), context));
  LRA_RETURN_IF_ERROR(ready.trainable);
  LRA_RETURN_IF_ERROR(JudgePlan(planned, ready.options));
  return ready.executor->CheckResources(planned);
}

absl::Status TrainAsPlanned(const SuiteFlags& flags, const ReadyRuns& ready,
                            const PlannedSuite& planned, const CommandContext& context) {
  LRA_RETURN_IF_ERROR(ready.executor->CheckResources(planned));
  const std::vector<CellStatus> before = ReadStatuses(ready.options.out, ready.cells);
  LRA_RETURN_IF_ERROR(ready.executor->Train(planned));
  LRA_ASSIGN_OR_RETURN(const std::vector<CellStatus> after, ready.executor->Statuses(ready.cells));
  PrintSuiteStatuses(ready.cells, after, context);
  absl::Status judged = JudgeSuite(ready.options.out, after);
  if (!flags.cell.empty() && IsWorthAnother(before[0], after[0])) MarkAsInUse(&judged);
  return judged;
}

// Whether a folder holds a suite or, without one, runs.
bool HasBegun(const std::string& folder) {
  if (FileExists(JoinPath(folder, kSuiteFile))) return true;
  const absl::StatusOr<std::vector<std::string>> runs = FindRunFolders({folder});
  return runs.ok() && !runs->empty();
}

}  // namespace

void AddSuiteFlags(CLI::App* command, SuiteFlags* flags) {
  AddOption(
      command, "--workers", &flags->workers,
      "Runs at once (default: as many as there are cores for their threads and memory for all)",
      {.allowed = FlagRules::kRange, .least = 1, .largest = static_cast<double>(MaxThreads())});
  AddSwitch(command, "--pin-workers", &flags->pins_workers,
            "Keep each worker on cores of its own, as many as its threads, which no other suite of "
            "this user pins workers to; where too few are free, it runs unpinned");
  AddOption(command, "--budget", &flags->budget,
            "Time after which runs are saved and stopped, e.g. 2h or 90m (default: none)",
            {.value = kTimeValue});
  AddOption(command, "--shard", &flags->shard,
            "Only part k of n of the runs, k from 0, e.g. 0/4 (default: all)", {.value = "k/n"});
  AddSwitch(command, "--retry-failed", &flags->retries_failed,
            "Train again what ended without a record");
  AddRepeated(
      command, "--reuse", &flags->reuse,
      "Copy runs of this suite that have ended (finished or diverged) in this folder or one "
      "in it, with the same settings, seed and data, e.g. runs; may be repeated",
      kFolderValue);
}

absl::Status RunSuiteFile(const SuiteFile& suite, const SuiteFlags& flags, SuiteRunOptions options,
                          const CommandContext& context) {
  LRA_ASSIGN_OR_RETURN(ChosenRuns chosen, ChooseRuns(suite, flags, std::move(options), context));
  LRA_ASSIGN_OR_RETURN(CheckedRuns checked, CheckRuns(suite, flags, std::move(chosen)));
  LRA_ASSIGN_OR_RETURN(const ReadyRuns ready, MakeReady(flags, std::move(checked)));
  LRA_ASSIGN_OR_RETURN(const PlannedSuite planned, PlanSuite(ready.cells, ready.options));
  return flags.is_dry ? ShowPlan(ready, planned, context)
                      : TrainAsPlanned(flags, ready, planned, context);
}

absl::StatusOr<std::string> SuiteFolder(const std::string& name_or_folder) {
  if (FileExists(name_or_folder)) return name_or_folder;
  const std::string of_name = JoinPath("runs", name_or_folder);
  const bool is_known = ConfigPath("suites", "suite", name_or_folder).ok();
  if (FileExists(of_name) && (!is_known || HasBegun(of_name))) return of_name;
  if (is_known) {
    return absl::NotFoundError(
        absl::StrCat(of_name, " holds no runs yet; `lra run ", name_or_folder, "` begins them"));
  }
  const std::string nearest = Nearest(name_or_folder, ConfigNames("suites"));
  if (nearest.empty() || absl::StrContains(name_or_folder, '/')) return name_or_folder;
  return absl::NotFoundError(absl::StrCat(name_or_folder, " is neither a folder nor a suite; did ",
                                          "you mean \"", nearest, "\"?"));
}

}  // namespace lra
