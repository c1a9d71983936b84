#include "tasks/task_check.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "datasets/manifest.h"
#include "lra/config.h"
#include "lra/files.h"
#include "lra/status_macros.h"
#include "tasks/join.h"
#include "tasks/prepare.h"
#include "tasks/verify.h"

namespace lra {
namespace {

namespace fs = std::filesystem;

constexpr int kThreads[] = {1, 2, 8};
constexpr int kParts = 3;
constexpr uint32_t kSampleSeed = 1;

absl::Status Wrong(absl::string_view what) { return absl::DataLossError(what); }

// Expects that both folders hold files with equal names and bytes.
absl::Status CompareFolders(const std::string& a, const std::string& b) {
  std::vector<std::string> names[2];
  for (int side = 0; side < 2; ++side) {
    for (const auto& entry : fs::directory_iterator(side == 0 ? a : b)) {
      names[side].push_back(entry.path().filename().string());
    }
    std::sort(names[side].begin(), names[side].end());
  }
  if (names[0] != names[1]) {
    return Wrong(absl::StrCat("other files: ", absl::StrJoin(names[0], " "), " and ",
                              absl::StrJoin(names[1], " ")));
  }
  for (const std::string& name : names[0]) {
    LRA_ASSIGN_OR_RETURN(const std::string left, ReadFile(JoinPath(a, name)));
    LRA_ASSIGN_OR_RETURN(const std::string right, ReadFile(JoinPath(b, name)));
    if (left != right) return Wrong(absl::StrCat(name, " differs"));
  }
  return absl::OkStatus();
}

class TaskCheck {
 public:
  TaskCheck(const TaskCheckOptions& options, std::vector<std::string> set,
            std::unique_ptr<Task> task)
      : options_(options), set_(std::move(set)), task_(std::move(task)) {}

  absl::StatusOr<std::vector<TaskCheckLine>> Run(const TaskFile& file) {
    LRA_RETURN_IF_ERROR(TryData());
    Add("name, version and is_imported are those of its file", internal::CheckSpec(*task_, file));
    return std::move(lines_);
  }

 private:
  // An error where there is no data to try.
  absl::Status TryData() {
    if (task_->CanGenerate()) {
      CheckMaking("generated", "");
      Add("generated in parts and joined: the same bytes", CheckParts());
      Add("another seed gives other data", CheckSeeds());
    }
    const std::string raw = JoinPath(options_.scratch, "raw");
    LRA_RETURN_IF_ERROR(MakeDirectories(raw));
    const absl::StatusOr<std::vector<int64_t>> sample = task_->WriteSample(raw, kSampleSeed);
    if (sample.ok()) {
      CheckMaking("imported", raw);
      Add("imported: every example of the sample", CheckCounts(*sample));
    } else if (!absl::IsUnimplemented(sample.status())) {
      Add("writes a sample of raw data", sample.status());
    }
    if (lines_.empty()) {
      return absl::UnimplementedError(absl::StrCat(
          "task ", options_.task, " can neither be generated nor writes a sample to import"));
    }
    return absl::OkStatus();
  }

  void Add(absl::string_view name, const absl::Status& status) {
    lines_.push_back({std::string(name), status.ok(), std::string(status.message())});
  }

  std::string Folder(absl::string_view name) const { return JoinPath(options_.scratch, name); }

  absl::Status Make(const std::string& out, const std::string& raw, int threads,
                    std::optional<uint32_t> seed = std::nullopt,
                    const std::string& shard = "") const {
    PrepareOptions prepare;
    prepare.task = options_.task;
    prepare.raw = raw;
    prepare.out = Folder(out);
    prepare.seed = seed;
    prepare.shard = shard;
    prepare.set = set_;
    prepare.threads = threads;
    prepare.quiet = true;
    return Prepare(prepare).status();
  }

  absl::Status CheckThreads(const std::string& origin, const std::string& raw) const {
    for (int threads : kThreads) {
      const std::string out = absl::StrCat(origin, threads);
      LRA_RETURN_IF_ERROR(Make(out, raw, threads));
      LRA_RETURN_IF_ERROR(CompareFolders(Folder(absl::StrCat(origin, 1)), Folder(out)));
    }
    return absl::OkStatus();
  }

  // Checks everything about one data set.
  void CheckMaking(const std::string& origin, const std::string& raw) {
    const absl::Status made = CheckThreads(origin, raw);
    Add(absl::StrCat(origin, ": the same bytes with 1, 2 and 8 threads"), made);
    const absl::StatusOr<Dataset> data = Dataset::Open(Folder(absl::StrCat(origin, 1)), {});
    if (!data.ok()) {
      if (made.ok()) Add(absl::StrCat(origin, ": can be opened"), data.status());
      return;
    }
    Add(absl::StrCat(origin, ": verified (bytes, ids below V, labels below C, oracle)"),
        CheckVerified(*data));
    const absl::Status round_trips = internal::CheckRoundTrips(*task_, *data);
    if (!absl::IsUnimplemented(round_trips)) {
      Add(absl::StrCat(origin, ": round trip through the raw form"), round_trips);
    }
    Add(absl::StrCat(origin, ": splits are disjoint and complete"), internal::CheckSplits(*data));
    Add(absl::StrCat(origin, ": every field of a view changes only what it says"),
        internal::CheckViews(*data));
  }

  static absl::Status CheckVerified(const Dataset& data) {
    LRA_ASSIGN_OR_RETURN(const VerifyReport report,
                         VerifyDataset(data.directory(), {.quiet = true}));
    return report.ok() ? absl::OkStatus() : Wrong(report.problems.front());
  }

  absl::Status CheckParts() const {
    JoinOptions join;
    join.out = Folder("joined");
    join.quiet = true;
    for (int i = kParts - 1; i >= 0; --i) {
      const std::string out = absl::StrCat("part", i);
      LRA_RETURN_IF_ERROR(Make(out, "", 0, std::nullopt, absl::StrCat(i, "/", kParts)));
      join.parts.push_back(Folder(out));
    }
    LRA_RETURN_IF_ERROR(JoinParts(join).status());
    return CompareFolders(Folder("generated1"), join.out);
  }

  absl::Status CheckSeeds() const {
    LRA_ASSIGN_OR_RETURN(const Manifest first, ReadManifest(Folder("generated1")));
    LRA_RETURN_IF_ERROR(Make("reseeded", "", 0, first.seed() + 1));
    LRA_ASSIGN_OR_RETURN(const Manifest other, ReadManifest(Folder("reseeded")));
    for (int i = 0; i < first.splits_size(); ++i) {
      if (first.splits(i).content_fingerprint() != other.splits(i).content_fingerprint()) continue;
      return Wrong(absl::StrCat("split ", first.splits(i).name(), " is the same with seeds ",
                                first.seed(), " and ", other.seed()));
    }
    return absl::OkStatus();
  }

  absl::Status CheckCounts(const std::vector<int64_t>& expected) const {
    LRA_ASSIGN_OR_RETURN(const Manifest manifest, ReadManifest(Folder("imported1")));
    std::vector<int64_t> counts;
    for (const ManifestSplit& split : manifest.splits()) counts.push_back(split.examples());
    if (counts == expected) return absl::OkStatus();
    return Wrong(absl::StrCat("the sample has ", absl::StrJoin(expected, ", "),
                              " examples, imported were ", absl::StrJoin(counts, ", ")));
  }

  const TaskCheckOptions& options_;
  const std::vector<std::string> set_;
  const std::unique_ptr<Task> task_;
  std::vector<TaskCheckLine> lines_;
};

}  // namespace

namespace internal {

absl::Status CheckSpec(const Task& task, const TaskFile& file) {
  const TaskSpec spec = task.Spec();
  const std::string where = absl::StrCat("configs/tasks/", file.name(), ".textproto");
  if (spec.name() != file.name()) {
    return Wrong(absl::StrCat("Spec() has the name \"", spec.name(), "\", ", where, " is of \"",
                              file.name(), "\"; set spec.name to that"));
  }
  if (spec.version() != file.version()) {
    return Wrong(absl::StrCat("Spec() has version ", spec.version(), ", ", where, " has version ",
                              file.version()));
  }
  if (file.is_imported() != task.CanGenerate()) return absl::OkStatus();
  return Wrong(absl::StrCat(where, ": is_imported must be ", task.CanGenerate() ? "false" : "true",
                            ", for the task is ",
                            task.CanGenerate() ? "generated" : "made from raw files"));
}

}  // namespace internal

absl::StatusOr<std::vector<TaskCheckLine>> CheckTask(const TaskCheckOptions& options) {
  LRA_ASSIGN_OR_RETURN(TaskFile file, LoadTaskFile(options.task));
  std::vector<std::string> set(file.check_option().begin(), file.check_option().end());
  set.insert(set.end(), options.set.begin(), options.set.end());
  for (const std::string& assignment : set) {
    LRA_RETURN_IF_ERROR(SetField(&file, absl::StrCat("options.", assignment)));
  }
  LRA_ASSIGN_OR_RETURN(std::unique_ptr<Task> task,
                       TaskRegistry::Get().Create("task", options.task, file.options()));
  LRA_RETURN_IF_ERROR(MakeDirectories(options.scratch));
  absl::StatusOr<std::vector<TaskCheckLine>> lines =
      TaskCheck(options, std::move(set), std::move(task)).Run(file);
  LRA_RETURN_IF_ERROR(RemoveAll(options.scratch));
  return lines;
}

}  // namespace lra
