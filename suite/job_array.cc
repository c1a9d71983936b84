#include "suite/job_array.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "lra/excerpt.h"
#include "lra/files.h"
#include "run_folder/run_claim.h"

namespace lra {
namespace {

// One word of the shell.
std::string Quoted(absl::string_view text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

// One word in which the item is the shell's variable.
std::string QuotedWithItem(absl::string_view word) {
  return absl::StrReplaceAll(Quoted(word), {{kItem, "'\"$item\"'"}});
}

// Time for the step that is being made and for saving; Slurm looks once a minute.
int64_t WarningSeconds(int64_t limit_seconds) {
  return std::clamp<int64_t>(limit_seconds / 10, 60, 600);
}

std::string TimeText(int64_t seconds) {
  const int64_t minutes = (seconds + 59) / 60;
  return absl::StrFormat("%d:%02d:00", minutes / 60, minutes % 60);
}

std::string Dependency(const JobArray& array) {
  return absl::StrCat(array.needs_their_success ? "afterok:" : "afterany:",
                      absl::StrJoin(array.after, ":"));
}

// The folder in the pattern of a log's name (sbatch's --output), within double quotes.
std::string InLogPattern(absl::string_view folder) {
  return absl::StrReplaceAll(folder, {{"%", "%%"}, {"\"", "\\\""}});
}

std::string Directives(const JobArray& array, const ClusterOptions& options) {
  std::string text;
  const auto add = [&](const char* name, const std::string& value) {
    absl::StrAppend(&text, "#SBATCH --", name, value.empty() ? "" : "=", value, "\n");
  };
  add("job-name", array.name);
  add("array", absl::StrCat("0-", array.items.size() - 1,
                            options.at_most > 0 ? absl::StrCat("%", options.at_most) : ""));
  add("time", TimeText(array.limit_seconds));
  if (array.memory_bytes > 0) add("mem", absl::StrCat((array.memory_bytes + 1048575) >> 20, "M"));
  add("ntasks", "1");
  add("cpus-per-task", absl::StrCat(array.cores));
  if (!options.partition.empty()) add("partition", options.partition);
  if (!options.account.empty()) add("account", options.account);
  add("requeue", "");
  add("open-mode", "append");
  add("signal", absl::StrCat("B:USR1@", WarningSeconds(array.limit_seconds)));
  add("output", absl::StrCat("\"", InLogPattern(array.folder), "/%A_%a.log\""));
  if (!array.after.empty()) {
    add("dependency", Dependency(array));
    add("kill-on-invalid-dep", "yes");
  }
  return text;
}

constexpr char kCheck[] = R"(item=${items[$SLURM_ARRAY_TASK_ID]}
for path in "${needed[@]}"; do
  if [ ! -e "$path" ]; then
    echo "lra: node $(hostname) does not see $path: program, data and results must be shared"
    exit 1
  fi
done
)";

// Slurm signals every process of a job that it ends, and this shell alone near the time limit.
constexpr char kSignals[] = R"(child= near_limit= ended_by_slurm= interrupted=
tell() { interrupted=1; [ -z "$child" ] || kill -TERM "$child"; }
trap 'near_limit=1; tell' USR1
trap 'ended_by_slurm=1; tell' TERM
)";

// A wait that a signal interrupts says nothing of the command. Slurm's own count of restarts has
// preemptions and time limits in it, too.
constexpr char kWait[] = R"sh(child=$!
[ -z "$interrupted" ] || tell
code=0
while
  interrupted=
  wait "$child"
  ended=$?
  [ $ended = 127 ] || code=$ended
  [ -n "$interrupted" ]
do :; done
element=${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID
retries=FOLDER/$element.retries
again=
if [ -n "$near_limit" ]; then
  [ $code != RETRY ] || again=1
elif [ $code = RETRY ] || [ $code -ge 128 ]; then
  [ "$(cat "$retries" 2>/dev/null | wc -l)" -ge 3 ] || again=1
fi
if [ -n "$again" ] && [ -z "$ended_by_slurm" ]; then
  [ -n "$near_limit" ] || echo "exit code $code" >>"$retries" || exit $code
  echo "lra: exit code $code: $element is queued again"
  scontrol requeue "$element"
fi
exit $code
)sh";

std::string List(const char* name, const std::vector<std::string>& words) {
  std::string text = absl::StrCat(name, "=(\n");
  for (const std::string& word : words) absl::StrAppend(&text, "  ", Quoted(word), "\n");
  return absl::StrCat(text, ")\n");
}

}  // namespace

std::string SlurmScript(const JobArray& array, const ClusterOptions& options) {
  std::string text = absl::StrCat("#!/bin/bash\n", Directives(array, options), "\n");
  for (const auto& [name, value] : array.environment)
    absl::StrAppend(&text, "export ", name, "=", Quoted(value), "\n");
  absl::StrAppend(&text, List("items", array.items), List("needed", array.needed_paths), kCheck,
                  kSignals);
  std::vector<std::string> words;
  for (const std::string& word : array.words) words.push_back(QuotedWithItem(word));
  absl::StrAppend(&text, absl::StrJoin(words, " "), " &\n");
  return absl::StrCat(text, absl::StrReplaceAll(kWait, {{"RETRY", absl::StrCat(kInUseExitCode)},
                                                        {"FOLDER", Quoted(array.folder)}}));
}

absl::Status CheckLogFolder(const std::string& folder) {
  if (folder.find_first_of("\\\n") == std::string::npos) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "logs of Slurm's elements would go to ", Excerpt(folder, folder.size()),
      ", must be a folder without backslashes and line breaks: Slurm puts no numbers of elements "
      "into a path with a backslash; use another --out"));
}

std::string LogOfElement(const std::string& folder, const std::string& element) {
  return JoinPath(folder, absl::StrCat(element, ".log"));
}

}  // namespace lra
