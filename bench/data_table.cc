#include "bench/data_table.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/report.h"
#include "datasets/manifest.h"
#include "lra/child.h"
#include "lra/excerpt.h"
#include "lra/files.h"
#include "lra/json_text.h"
#include "lra/progress.h"
#include "lra/status_macros.h"
#include "nlohmann/json.hpp"

namespace lra {
namespace {

using Json = nlohmann::ordered_json;

// A folder that goes with this object.
class TemporaryFolder {
 public:
  TemporaryFolder()
      : path_(absl::StrCat(std::filesystem::temp_directory_path().string(), "/lra-bench-",
                           getpid())) {}
  ~TemporaryFolder() { (void)RemoveAll(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

absl::StatusOr<ChildOutcome> RunData(const std::string& program, std::vector<std::string> words,
                                     const PreparePlan& plan) {
  words.insert(words.begin(), {program, "data"});
  for (const std::string& word :
       {std::string("--threads"), absl::StrCat(plan.threads), std::string("--quiet")})
    words.push_back(word);
  const absl::Status stopped = absl::CancelledError(absl::StrCat("stopped in lra data ", words[2]));
  if (plan.should_stop()) return stopped;
  LRA_ASSIGN_OR_RETURN(ChildOutcome child, RunChild({words, {}}));
  if (plan.should_stop()) return stopped;
  if (child.exit_code == 0 && child.signal == 0) return child;
  return absl::InvalidArgumentError(
      absl::StrCat("lra data ", words[2], ": ", LastLine(child.errors)));
}

absl::Status CountStored(const std::string& folder, PrepareTimes* times) {
  LRA_ASSIGN_OR_RETURN(const Manifest manifest, ReadManifest(folder));
  times->examples = 0;
  for (const ManifestSplit& split : manifest.splits()) times->examples += split.examples();
  times->bytes = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) times->bytes += static_cast<int64_t>(entry.file_size());
  }
  return absl::OkStatus();
}

absl::Status MeasureOnce(const PreparePlan& plan, const std::string& program, PrepareTimes* times) {
  const TemporaryFolder folder;
  // Below it, for what a process writes beside its target goes with the folder, too.
  const std::string data = JoinPath(folder.path(), "data");
  std::vector<std::string> prepare = {"prepare", plan.task, "--out", data};
  if (!plan.raw.empty()) prepare.insert(prepare.end(), {"--raw", plan.raw});
  for (const std::string& set : plan.sets) prepare.insert(prepare.end(), {"--set", set});
  LRA_ASSIGN_OR_RETURN(const ChildOutcome prepared, RunData(program, prepare, plan));
  LRA_ASSIGN_OR_RETURN(const ChildOutcome verified, RunData(program, {"verify", data}, plan));
  times->prepare_seconds.push_back(prepared.wall_seconds);
  times->prepare_cpu_seconds.push_back(prepared.cpu_seconds);
  times->verify_seconds.push_back(verified.wall_seconds);
  times->verify_cpu_seconds.push_back(verified.cpu_seconds);
  return CountStored(data, times);
}

}  // namespace

absl::StatusOr<PrepareTimes> MeasurePreparing(const PreparePlan& plan, const std::string& program) {
  PrepareTimes times;
  times.task = plan.task;
  for (int i = 0; i < plan.repetitions; ++i) {
    LRA_RETURN_IF_ERROR(MeasureOnce(plan, program, &times));
    if (plan.is_quiet) continue;
    std::fprintf(stderr, "%s, repetition %d: prepared in %.2f s, verified in %.2f s\n",
                 plan.task.c_str(), i + 1, times.prepare_seconds.back(),
                 times.verify_seconds.back());
  }
  return times;
}

std::string PrepareText(const PrepareTimes& times) {
  const double seconds = MedianOf(times.prepare_seconds);
  const double examples = double(times.examples), megabytes = double(times.bytes) / 1e6;
  TextTable table = {
      "Preparing (read or generate, encode, write, hash, flush) and verifying (hashes, ranges, "
      "labels)",
      {"task", "examples", "MB", "prepare, s (interval)", "CPU s", "examples/s", "MB/s",
       "verify, s (interval)", "CPU s"},
      {{times.task, FormatCount(times.examples), absl::StrFormat("%.0f", megabytes),
        WithInterval(IntervalOfMedian(times.prepare_seconds), 1, 2),
        absl::StrFormat("%.2f", MedianOf(times.prepare_cpu_seconds)),
        absl::StrFormat("%.0f", examples / seconds), absl::StrFormat("%.0f", megabytes / seconds),
        WithInterval(IntervalOfMedian(times.verify_seconds), 1, 2),
        absl::StrFormat("%.2f", MedianOf(times.verify_cpu_seconds))}}};
  return ToMarkdown(table);
}

std::string PrepareJson(const PrepareTimes& times) {
  const Json json = {{"task", times.task},
                     {"examples", times.examples},
                     {"bytes", times.bytes},
                     {"prepare_seconds", times.prepare_seconds},
                     {"prepare_cpu_seconds", times.prepare_cpu_seconds},
                     {"verify_seconds", times.verify_seconds},
                     {"verify_cpu_seconds", times.verify_cpu_seconds}};
  return JsonText(json) + "\n";
}

std::string LoadingText(const LoadingTimes& times) {
  TextTable table = {absl::StrCat("Reading batches: ", times.what),
                     {"batches/s alone", "ktokens/s", "padding %"},
                     {{absl::StrFormat("%.0f", times.batches_per_second),
                       absl::StrFormat("%.0f", times.tokens_per_second / 1e3),
                       absl::StrFormat("%.1f", 100 * times.padding_share)}}};
  if (times.steps > 0) {
    const double steps = static_cast<double>(times.steps);
    table.header.insert(table.header.end(),
                        {"steps", "ms a step", "ms waiting", "% of a step waiting", "page faults"});
    for (std::string cell :
         {absl::StrCat(times.steps), Milliseconds(times.step_seconds / steps),
          Milliseconds(times.waiting_seconds / steps),
          absl::StrFormat("%.3f", 100 * times.waiting_seconds / times.step_seconds),
          absl::StrFormat("%.1f", times.page_faults)})
      table.rows[0].push_back(std::move(cell));
  }
  return ToMarkdown(table);
}

std::string LoadingJson(const LoadingTimes& times) {
  const Json json = {{"what", times.what},
                     {"batches_per_second", times.batches_per_second},
                     {"tokens_per_second", times.tokens_per_second},
                     {"padding_share", times.padding_share},
                     {"steps", times.steps},
                     {"step_seconds", times.step_seconds},
                     {"waiting_seconds", times.waiting_seconds},
                     {"page_faults_a_step", times.page_faults}};
  return JsonText(json) + "\n";
}

}  // namespace lra
