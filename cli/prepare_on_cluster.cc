#include "cli/prepare_on_cluster.h"

#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lra/config.h"
#include "lra/files.h"
#include "lra/status_macros.h"
#include "nlohmann/json.hpp"
#include "suite/slurm.h"
#include "suite/submissions.h"

namespace lra {
namespace {

// Path-X, the largest task that is generated, takes minutes on one core of a part of eight, and
// bounded memory (docs/data.md).
constexpr int64_t kDefaultSeconds = 3600;
constexpr int64_t kDefaultBytes = int64_t{4} << 30;
constexpr char kJoin[] = "join";

class Preparation {
 public:
  Preparation(const PrepareOptions& options, int parts, const ClusterOptions& cluster)
      : options_(options), parts_(parts), cluster_(cluster), out_(AbsolutePath(options.out)) {}

  std::string slurm_folder() const { return JoinPath(PartsFolder(), "slurm"); }

  absl::StatusOr<bool> IsWholeThere() const { return IsPrepared(options_); }

  // Parts of other data have the same numbers. FailedPrecondition where such are queued.
  absl::Status CheckQueued(const ItemStates& items) const {
    for (const auto& [name, state] : items) {
      if (name == kJoin || !state.is_queued || state.words.empty() || IsOfThisData(state.words))
        continue;
      return absl::FailedPreconditionError(absl::StrCat(
          DescribeJob(state.element, state.cluster), " makes other data in ", PartsFolder(), ": ",
          absl::StrJoin(state.words, " "), "; wait for its end, cancel it (",
          CancelCommand(Submissions::QueuedJobs({state})), ") or use another --out"));
    }
    return absl::OkStatus();
  }

  // The parts that neither are there nor are queued.
  absl::StatusOr<std::vector<std::string>> Missing(const ItemStates& items) const {
    std::vector<std::string> missing;
    for (int k = 0; k < parts_; ++k) {
      PrepareOptions part = options_;
      part.shard = absl::StrCat(k, "/", parts_);
      part.out = PartFolder(absl::StrCat(k));
      LRA_ASSIGN_OR_RETURN(const bool is_there, IsPrepared(part));
      const auto item = items.find(absl::StrCat(k));
      if (!is_there && (item == items.end() || !item->second.is_queued))
        missing.push_back(absl::StrCat(k));
    }
    return missing;
  }

  JobArray Parts(const std::vector<std::string>& items) const {
    JobArray array = Common(absl::StrCat("prepare-", options_.task));
    array.items = items;
    array.words = DataWords();
    array.words.insert(array.words.begin(), ClusterProgram());
    array.words.insert(array.words.end(), {"--out", PartFolder(kItem)});
    AddEnd(&array);
    return array;
  }

  JobArray Join(const std::vector<std::string>& after) const {
    JobArray array = Common(absl::StrCat("join-", options_.task));
    array.items = {kJoin};
    array.words = {ClusterProgram(), "data", "join"};
    for (int k = 0; k < parts_; ++k) array.words.push_back(PartFolder(absl::StrCat(k)));
    array.words.insert(array.words.end(), {"--out", out_, "--remove-parts"});
    AddEnd(&array);
    array.after = after;
    array.needs_their_success = true;
    return array;
  }

 private:
  std::string PartsFolder() const { return absl::StrCat(out_, ".parts"); }
  std::string PartFolder(const std::string& part) const { return JoinPath(PartsFolder(), part); }
  int threads() const { return std::max(1, options_.threads); }

  // The part of a command that says what it makes.
  std::vector<std::string> DataWords() const {
    std::vector<std::string> words = {"data", "prepare", options_.task};
    if (options_.seed) words.insert(words.end(), {"--seed", absl::StrCat(*options_.seed)});
    for (const std::string& set : options_.set) words.insert(words.end(), {"--set", set});
    words.insert(words.end(), {"--shard", absl::StrCat(kItem, "/", parts_)});
    return words;
  }

  // Another program or number of threads makes the same.
  bool IsOfThisData(const std::vector<std::string>& words) const {
    const std::vector<std::string> own = DataWords();
    return words.size() > own.size() && std::equal(own.begin(), own.end(), words.begin() + 1);
  }

  void AddEnd(JobArray* array) const {
    array->words.insert(array->words.end(), {"--threads", absl::StrCat(threads()), "--quiet"});
  }

  JobArray Common(const std::string& name) const {
    JobArray array;
    array.name = name;
    array.environment = ClusterEnvironment();
    array.needed_paths = {ClusterProgram(), AbsolutePath(ConfigDirectory()), slurm_folder()};
    array.limit_seconds = cluster_.limit_seconds > 0 ? cluster_.limit_seconds : kDefaultSeconds;
    array.memory_bytes = cluster_.memory_bytes > 0 ? cluster_.memory_bytes : kDefaultBytes;
    if (GivesMemory(cluster_)) array.memory_bytes = 0;
    array.cores = threads();
    return array;
  }

  const PrepareOptions& options_;
  const int parts_;
  const ClusterOptions& cluster_;
  const std::string out_;
};

absl::Status CheckFlags(const PrepareOptions& options, const PartFlags& flags) {
  if (!options.raw.empty() || !options.shard.empty() || options.force) {
    return absl::InvalidArgumentError(
        "--raw, --shard and --force do not go with --executor slurm, which generates all parts of "
        "new data");
  }
  if (flags.parts == 0) {
    return absl::InvalidArgumentError(
        "--executor slurm wants --parts, the number of parts that are made at once, e.g. --parts "
        "8");
  }
  return absl::OkStatus();
}

// What Slurm holds or was given of the data, as its user wants to know it.
void Tell(const std::string& out, const std::vector<SlurmJob>& jobs, const std::string& logs,
          const CommandContext& context) {
  if (!context.json) {
    std::cout << out << ": in Slurm's queue; logs: " << logs
              << "; to cancel: " << CancelCommand(jobs) << "\n";
    return;
  }
  nlohmann::ordered_json told = {{"directory", out}, {"jobs", NumbersOf(jobs)}, {"logs", logs}};
  std::vector<std::string> clusters;  // of each job; empty where Slurm named none
  for (const SlurmJob& job : jobs) clusters.push_back(job.cluster);
  const auto is_named = [](const std::string& cluster) { return !cluster.empty(); };
  if (std::any_of(clusters.begin(), clusters.end(), is_named)) told["clusters"] = clusters;
  PrintJson(told);
}

std::vector<ItemState> QueuedParts(const ItemStates& items) {
  std::vector<ItemState> parts;
  for (const auto& [name, state] : items)
    if (name != kJoin && state.is_queued) parts.push_back(state);
  return parts;
}

absl::Status SubmitMissing(const Preparation& preparation, const std::string& out,
                           const ClusterOptions& cluster, bool is_dry,
                           const CommandContext& context) {
  const std::string folder = preparation.slurm_folder();
  LRA_ASSIGN_OR_RETURN(Submissions submissions, Submissions::Read(folder));
  LRA_ASSIGN_OR_RETURN(const ItemStates items, submissions.Items());
  LRA_RETURN_IF_ERROR(preparation.CheckQueued(items));
  LRA_ASSIGN_OR_RETURN(const std::vector<std::string> missing, preparation.Missing(items));
  const std::vector<ItemState> parts = QueuedParts(items);
  std::vector<SlurmJob> jobs = Submissions::QueuedJobs(parts);
  // Elements of those jobs, others of which may have failed.
  std::vector<std::string> after;
  for (const ItemState& part : parts) after.push_back(part.element);
  const auto join = items.find(kJoin);
  const bool is_join_queued = join != items.end() && join->second.is_queued;
  if (is_dry) {
    if (!missing.empty())
      std::cout << SlurmScript(submissions.Named(preparation.Parts(missing)), cluster) << "\n";
    if (!missing.empty()) after.push_back("JOB");
    std::cout << SlurmScript(submissions.Named(preparation.Join(after)), cluster);
    return absl::OkStatus();
  }
  if (!missing.empty()) {
    LRA_ASSIGN_OR_RETURN(const SlurmJob job,
                         submissions.Submit(preparation.Parts(missing), cluster));
    jobs.push_back(job);
    after.push_back(job.number);
  }
  // One that waits for parts of before is of no use where a part was submitted again.
  if (!is_join_queued || !missing.empty()) {
    ClusterOptions one = cluster;
    one.at_most = 0;
    LRA_ASSIGN_OR_RETURN(const SlurmJob job, submissions.Submit(preparation.Join(after), one));
    jobs.push_back(job);
  }
  Tell(out, jobs, folder, context);
  return absl::OkStatus();
}

}  // namespace

void AddPartFlags(CLI::App* command, PartFlags* flags) {
  AddClusterFlags(command, &flags->cluster);
  AddOption(command, "--parts", &flags->parts,
            "With --executor slurm, which needs it: parts that the cluster makes and then joins",
            {.allowed = FlagRules::kRange, .least = 1, .largest = kMostElements});
  AddSwitch(command, "--dry-run", &flags->is_dry,
            "With --executor slurm: only print what would be submitted");
}

absl::Status PrepareOnCluster(const PrepareOptions& options, const PartFlags& flags,
                              const ClusterOptions& cluster, const CommandContext& context) {
  LRA_RETURN_IF_ERROR(CheckFlags(options, flags));
  const Preparation preparation(options, flags.parts, cluster);
  LRA_ASSIGN_OR_RETURN(const bool is_there, preparation.IsWholeThere());
  if (is_there) {
    if (context.json) PrintJson({{"directory", options.out}, {"was_there", true}});
    if (!context.json) std::cout << options.out << ": it was there already, nothing was done\n";
    return absl::OkStatus();
  }
  LRA_RETURN_IF_ERROR(CheckLogFolder(preparation.slurm_folder()));
  if (flags.is_dry)
    return SubmitMissing(preparation, options.out, cluster, /*is_dry=*/true, context);
  // What is refused leaves no folder.
  if (!FileExists(preparation.slurm_folder()))
    LRA_RETURN_IF_ERROR(preparation.Missing({}).status());
  LRA_ASSIGN_OR_RETURN(const auto lock, Submissions::Lock(preparation.slurm_folder()));
  return SubmitMissing(preparation, options.out, cluster, /*is_dry=*/false, context);
}

}  // namespace lra
