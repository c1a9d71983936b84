#include "suite/job_array.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "lra/excerpt.h"
#include "lra/files.h"
#include "lra/shell_word.h"
#include "run_folder/run_claim.h"

namespace lra {
namespace {

// One word in which the item is the shell's variable.
std::string QuotedWithItem(absl::string_view word) {
  return absl::StrReplaceAll(QuotedShellWord(word), {{kItem, "'\"$item\"'"}});
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

// Names and values of sbatch's options, in the order of the script.
std::vector<std::pair<std::string, std::string>> ScriptOptions(const JobArray& array,
                                                               const ClusterOptions& options) {
  std::vector<std::pair<std::string, std::string>> all;
  const auto add = [&](const char* name, const std::string& value) {
    all.emplace_back(name, value);
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
  return all;
}

std::string Directives(const JobArray& array, const ClusterOptions& options) {
  std::string text;
  for (const auto& [name, value] : ScriptOptions(array, options))
    absl::StrAppend(&text, "#SBATCH --", name, value.empty() ? "" : "=", value, "\n");
  return text;
}

// The variables of an option of sbatch (sbatch(1), "input environment variables"): SBATCH_PARTITION
// of --partition, and those that are named otherwise or say the contrary.
std::vector<std::string> VariablesOf(const std::string& option) {
  if (option == "array") return {"SBATCH_ARRAY_INX"};
  if (option == "time") return {"SBATCH_TIMELIMIT"};
  if (option == "mem") return {"SBATCH_MEM_PER_NODE", "SBATCH_MEM_PER_CPU", "SBATCH_MEM_PER_GPU"};
  if (option == "requeue") return {"SBATCH_REQUEUE", "SBATCH_NO_REQUEUE"};
  if (option == "output") return {"SBATCH_OUTPUT", "SBATCH_ERROR"};
  return {
      absl::StrCat("SBATCH_", absl::AsciiStrToUpper(absl::StrReplaceAll(option, {{"-", "_"}})))};
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

// A wait that a signal interrupts says nothing of the command, nor does one that finds it ended
// before (127), unless it is the first: a command that cannot be loaded ends with 127, too. Slurm's
// own count of restarts has preemptions and time limits in it, too.
constexpr char kWait[] = R"sh(child=$!
[ -z "$interrupted" ] || tell
code=127
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
  scontrol requeue "$element" && echo "lra: exit code $code: $element is queued again"
fi
exit $code
)sh";

std::string List(const char* name, const std::vector<std::string>& words) {
  std::string text = absl::StrCat(name, "=(\n");
  for (const std::string& word : words) absl::StrAppend(&text, "  ", QuotedShellWord(word), "\n");
  return absl::StrCat(text, ")\n");
}

}  // namespace

std::string SlurmScript(const JobArray& array, const ClusterOptions& options) {
  std::string text = absl::StrCat("#!/bin/bash\n", Directives(array, options), "\n");
  for (const auto& [name, value] : array.environment)
    absl::StrAppend(&text, "export ", name, "=", QuotedShellWord(value), "\n");
  absl::StrAppend(&text, List("items", array.items), List("needed", array.needed_paths), kCheck,
                  kSignals);
  std::vector<std::string> words;
  for (const std::string& word : array.words) words.push_back(QuotedWithItem(word));
  absl::StrAppend(&text, absl::StrJoin(words, " "), " &\n");
  return absl::StrCat(text,
                      absl::StrReplaceAll(kWait, {{"RETRY", absl::StrCat(kInUseExitCode)},
                                                  {"FOLDER", QuotedShellWord(array.folder)}}));
}

std::vector<std::string> VariablesOverScript(const JobArray& array, const ClusterOptions& options) {
  std::vector<std::string> variables = {"SBATCH_WAIT"};
  for (const auto& [name, value] : ScriptOptions(array, options)) {
    const std::vector<std::string> own = VariablesOf(name);
    variables.insert(variables.end(), own.begin(), own.end());
  }
  if (GivesMemory(options)) {
    const std::vector<std::string> own = VariablesOf("mem");
    variables.insert(variables.end(), own.begin(), own.end());
  }
  return variables;
}

bool GivesMemory(const ClusterOptions& options) {
  const std::vector<std::string>& arguments = options.sbatch_arguments;
  return std::any_of(arguments.begin(), arguments.end(), [](const std::string& argument) {
    const std::string name = argument.substr(0, argument.find('='));
    return name == "--mem" || name == "--mem-per-cpu" || name == "--mem-per-gpu";
  });
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
