// Trains a suite by Slurm's job arrays.
#include <algorithm>
#include <bit>
#include <filesystem>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "lra/files.h"
#include "lra/json_text.h"
#include "lra/progress.h"
#include "lra/status_macros.h"
#include "suite/executor.h"
#include "suite/slurm.h"
#include "suite/submissions.h"
#include "suite/suite_folder.h"

namespace lra {
namespace {

namespace fs = std::filesystem;

// What is asked of the cluster beyond what was predicted: nodes may be slower than where it was
// measured, and busy. An element that comes to its limit all the same saves and is queued again.
constexpr double kTimeMargin = 1.5, kMemoryMargin = 1.25;
constexpr int64_t kStartSeconds = 300;  // reading and hashing data from a shared disk
constexpr int64_t kLeastSeconds = 600, kStepSeconds = 300;
constexpr int64_t kStartBytes = int64_t{512} << 20;
constexpr int64_t kLeastBytes = int64_t{1} << 30, kStepBytes = int64_t{256} << 20;

int64_t RoundUp(double value, int64_t step, int64_t least) {
  const auto whole = static_cast<int64_t>(value);
  return std::max(least, (whole + step - 1) / step * step);
}

struct Element {
  const SuiteCell* cell = nullptr;
  int64_t limit_seconds = 0, memory_bytes = 0;
  // Elements of one array differ in neither by more than a factor of two.
  std::pair<int, int> kind() const {
    return {std::bit_width(static_cast<uint64_t>(limit_seconds / kLeastSeconds)),
            std::bit_width(static_cast<uint64_t>(memory_bytes / kLeastBytes))};
  }
};

// With what helps where a cluster lets a user submit, or an array have, only so many jobs.
absl::Status WithWayRound(const absl::Status& refusal) {
  // Behind the script's path, which may be of any words.
  const size_t path_end = refusal.message().rfind(".sh: ");
  const std::string words = absl::AsciiStrToLower(
      refusal.message().substr(path_end == absl::string_view::npos ? 0 : path_end));
  const bool is_limit = absl::StrContains(words, "submit") && absl::StrContains(words, "limit");
  if (!is_limit && !absl::StrContains(words, "job array specification")) return refusal;
  return absl::Status(
      refusal.code(),
      absl::StrCat(refusal.message(),
                   "\nWhere the cluster takes no more jobs of a user or elements of an array, "
                   "submit a part of the runs: --shard 0/4, and the others as these end"));
}

class BySlurm : public Executor {
 public:
  BySlurm(const SuiteRunOptions& options, const SlurmExecutorOptions& slurm)
      : options_(options), slurm_(slurm), out_(AbsolutePath(options.out)) {}

  absl::Status CheckResources(const PlannedSuite& planned) const override {
    return planned.fits_disk;
  }

  absl::StatusOr<std::string> Preview(const PlannedSuite& planned, bool as_json) override {
    LRA_RETURN_IF_ERROR(CheckLogFolder(SlurmFolder(out_)));
    LRA_RETURN_IF_ERROR(ReadQueue());
    LRA_ASSIGN_OR_RETURN(const std::vector<JobArray> arrays, Arrays(planned));
    return as_json ? ArraysJson(arrays) : ArraysText(arrays);
  }

  absl::Status Train(const PlannedSuite& planned) override {
    LRA_RETURN_IF_ERROR(CheckLogFolder(SlurmFolder(out_)));
    LRA_ASSIGN_OR_RETURN(const auto lock, Submissions::Lock(SlurmFolder(out_)));
    LRA_RETURN_IF_ERROR(ReadQueue());
    LRA_ASSIGN_OR_RETURN(const std::vector<JobArray> arrays, Arrays(planned));
    std::vector<ItemState> states;
    for (const auto& [cell, state] : items_) states.push_back(state);
    std::vector<SlurmJob> jobs = Submissions::QueuedJobs(states);
    for (JobArray array : arrays) {
      if (slurm_.cluster.at_most > 0) array.after = NumbersOf(jobs);
      const absl::StatusOr<SlurmJob> job = submissions_->Submit(array, slurm_.cluster);
      if (!job.ok()) return WithWayRound(job.status());
      jobs.push_back(*job);
      if (!options_.is_quiet)
        std::cerr << DescribeJob(job->number, job->cluster) << ": " << Describe(array) << "\n";
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<CellStatus>> Statuses(const std::vector<SuiteCell>& cells) override {
    std::vector<CellStatus> statuses = ReadStatuses(options_.out, cells);
    LRA_RETURN_IF_ERROR(AddSlurmStates(out_, cells, &statuses));
    return statuses;
  }

 private:
  absl::Status ReadQueue() {
    LRA_ASSIGN_OR_RETURN(Submissions submissions, Submissions::Read(SlurmFolder(out_)));
    LRA_ASSIGN_OR_RETURN(items_, submissions.Items());
    submissions_.emplace(std::move(submissions));
    return absl::OkStatus();
  }

  bool IsQueued(const SuiteCell& cell) const {
    const auto item = items_.find(cell.name);
    return item != items_.end() && item->second.is_queued;
  }

  // What a run had when it was killed for want of memory; 0 where it was not, or nobody knows.
  int64_t TooLittleBytes(const SuiteCell& cell, const CellStatus& status) const {
    const auto item = items_.find(cell.name);
    const bool is_accounted = item != items_.end() && item->second.lacked_memory();
    return std::max<int64_t>(status.failure.lacked_memory() ? status.failure.memory_bytes() : 0,
                             is_accounted ? item->second.memory_bytes : 0);
  }

  absl::StatusOr<Element> ElementOf(const PlannedSuite& planned, size_t i,
                                    int64_t too_little_bytes) const {
    const RunPlan& run = planned.plan.runs[i];
    Element element = {&planned.cells[i], slurm_.cluster.limit_seconds,
                       slurm_.cluster.memory_bytes};
    if (element.limit_seconds == 0 && !run.cost) {
      const auto why = planned.failures.find(CellName(planned.cells[i]));
      return absl::InvalidArgumentError(
          absl::StrCat(planned.cells[i].name, " could not be measured here",
                       why == planned.failures.end() ? "" : absl::StrCat(" (", why->second, ")"),
                       ": give --time, the time limit of each run, and --memory"));
    }
    if (element.limit_seconds == 0) {
      element.limit_seconds =
          RoundUp(kTimeMargin * run.seconds_left() + kStartSeconds, kStepSeconds, kLeastSeconds);
    }
    if (element.memory_bytes == 0 && run.cost) {
      const auto bytes = static_cast<double>(run.cost->process_memory_bytes(1) + kStartBytes);
      element.memory_bytes = RoundUp(kMemoryMargin * bytes, kStepBytes, kLeastBytes);
    }
    if (slurm_.cluster.memory_bytes == 0)
      element.memory_bytes = std::max(element.memory_bytes, 2 * too_little_bytes);
    if (GivesMemory(slurm_.cluster)) element.memory_bytes = 0;
    return element;
  }

  // The shortest first; within an array in the order of the plan.
  absl::StatusOr<std::vector<JobArray>> Arrays(const PlannedSuite& planned) const {
    std::map<std::pair<int, int>, std::vector<Element>> kinds;
    for (size_t i = 0; i < planned.cells.size(); ++i) {
      const SuiteCell& cell = planned.cells[i];
      const CellStatus status = ReadCellStatus(options_.out, cell);
      if (!IsLeft(status, options_.retries_failed) || IsQueued(cell)) continue;
      LRA_ASSIGN_OR_RETURN(const Element element,
                           ElementOf(planned, i, TooLittleBytes(cell, status)));
      kinds[element.kind()].push_back(element);
    }
    std::vector<JobArray> arrays;
    for (const auto& [kind, elements] : kinds) {
      for (size_t begin = 0; begin < elements.size(); begin += kMostElements) {
        const size_t end = std::min(elements.size(), begin + size_t{kMostElements});
        arrays.push_back(ArrayOf({elements.begin() + static_cast<ptrdiff_t>(begin),
                                  elements.begin() + static_cast<ptrdiff_t>(end)}));
      }
    }
    return arrays;
  }

  JobArray ArrayOf(const std::vector<Element>& elements) const {
    const std::string suite = JoinPath(out_, kSuiteFile);
    JobArray array;
    array.name = fs::path(out_).filename().string();
    array.folder = SlurmFolder(out_);
    for (const Element& element : elements) {
      array.items.push_back(element.cell->name);
      array.limit_seconds = std::max(array.limit_seconds, element.limit_seconds);
      array.memory_bytes = std::max(array.memory_bytes, element.memory_bytes);
    }
    array.words = {options_.program,
                   "run",
                   suite,
                   "--out",
                   out_,
                   "--cell",
                   kItem,
                   "--threads",
                   absl::StrCat(options_.threads)};
    array.words.insert(array.words.end(), slurm_.run_flags.begin(), slurm_.run_flags.end());
    array.words.push_back("--quiet");
    array.environment = slurm_.environment;
    array.needed_paths = {options_.program, suite};
    for (const auto& [name, path] : slurm_.environment) array.needed_paths.push_back(path);
    array.cores = options_.threads;
    return array;
  }

  std::string Describe(const JobArray& array) const {
    const char* const other = GivesMemory(slurm_.cluster) ? "the memory that --sbatch says"
                                                          : "the cluster's default memory";
    return absl::StrCat(array.items.size(), array.items.size() == 1 ? " run" : " runs",
                        ", each at most ", FormatSeconds(static_cast<double>(array.limit_seconds)),
                        " and ", array.memory_bytes > 0 ? FormatBytes(array.memory_bytes) : other);
  }

  std::string ArraysText(const std::vector<JobArray>& arrays) const {
    const auto is_queued = [](const auto& item) { return item.second.is_queued; };
    std::string text;
    if (const auto queued = std::count_if(items_.begin(), items_.end(), is_queued); queued > 0)
      absl::StrAppend(&text, queued, " runs are queued already\n");
    if (arrays.empty()) return absl::StrCat(text, "nothing would be submitted\n");
    for (const JobArray& array : arrays) {
      absl::StrAppend(&text, "\narray of ", Describe(array),
                      slurm_.cluster.at_most > 0 ? ", after the one before" : "", ":\n",
                      SlurmScript(submissions_->Named(array), slurm_.cluster));
    }
    return text;
  }

  std::string ArraysJson(const std::vector<JobArray>& arrays) const {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const JobArray& array : arrays) {
      all.push_back({{"runs", array.items},
                     {"limit_seconds", array.limit_seconds},
                     {"memory_bytes", array.memory_bytes},
                     {"script", SlurmScript(submissions_->Named(array), slurm_.cluster)}});
    }
    return JsonText(all, -1);
  }

  const SuiteRunOptions options_;
  const SlurmExecutorOptions slurm_;
  const std::string out_;
  std::optional<Submissions> submissions_;
  ItemStates items_;
};

}  // namespace

std::unique_ptr<Executor> SlurmExecutor(const SuiteRunOptions& options,
                                        const SlurmExecutorOptions& slurm) {
  return std::make_unique<BySlurm>(options, slurm);
}

std::string SlurmFolder(const std::string& out) { return JoinPath(out, "slurm"); }

absl::Status AddSlurmStates(const std::string& out, const std::vector<SuiteCell>& cells,
                            std::vector<CellStatus>* statuses) {
  LRA_ASSIGN_OR_RETURN(const Submissions submissions, Submissions::Read(SlurmFolder(out)));
  if (submissions.empty()) return absl::OkStatus();
  LRA_ASSIGN_OR_RETURN(const ItemStates items, submissions.Items());
  for (size_t i = 0; i < cells.size(); ++i) {
    const auto item = items.find(cells[i].name);
    if (item != items.end()) (*statuses)[i].slurm = item->second;
  }
  return absl::OkStatus();
}

std::string QueueText(const std::vector<CellStatus>& statuses) {
  std::vector<ItemState> items;
  for (const CellStatus& status : statuses)
    if (status.slurm) items.push_back(*status.slurm);
  const std::vector<SlurmJob> jobs = Submissions::QueuedJobs(items);
  if (jobs.empty()) return "";
  return absl::StrCat("to cancel what is queued (running ones save): ", CancelCommand(jobs), "\n");
}

}  // namespace lra
