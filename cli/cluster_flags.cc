#include "cli/cluster_flags.h"

#include <cstdlib>
#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "datasets/data_directory.h"
#include "lra/child.h"
#include "lra/config.h"
#include "lra/excerpt.h"
#include "lra/files.h"
#include "lra/status_macros.h"
#include "lra/suggest.h"

namespace lra {
namespace {

// What a package's launcher sets.
constexpr char kLauncher[] = "LRA_PROGRAM", kLibTorch[] = "LRA_LIBTORCH";

// Less holds no run, and is what a number without a unit says.
constexpr int64_t kLeastBytes = 64000000;

// What lra relies on to find again what it submitted: names of jobs, numbers of elements, and that
// sbatch submits the script at once and returns.
absl::Status CheckArguments(const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments) {
    const std::string name = argument.substr(0, argument.find('='));
    bool is_own = absl::StartsWith(name, "-J") || absl::StartsWith(name, "-a") || name == "-W";
    // sbatch takes beginnings of options, too.
    for (const char* own : {"--job-name", "--array", "--test-only", "--wrap", "--wait"})
      is_own = is_own || (name.size() > 2 && absl::StartsWith(own, name));
    if (!is_own) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "--sbatch ", Excerpt(argument),
        " cannot be given: lra finds what it submitted by names of jobs and numbers of elements of "
        "its own (--job-name, --array), and hands over scripts without waiting for them (no "
        "--test-only, --wrap, --wait); leave it out"));
  }
  return absl::OkStatus();
}

absl::Status CheckMemory(int64_t memory_bytes) {
  if (memory_bytes == 0 || memory_bytes >= kLeastBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--memory is ", memory_bytes, " bytes, must be at least ", kLeastBytes / 1000000,
                   "MB; a number without a unit is one of bytes: write 4000MB or 4GB"));
}

}  // namespace

void AddClusterFlags(CLI::App* command, ClusterFlags* flags) {
  ClusterOptions* const options = &flags->options;
  AddOption(command, "--executor", &flags->executor,
            "local: processes of this machine; slurm: job arrays, submitted by sbatch",
            {.shows_default = true, .value = kExecutorValue});
  AddOption(command, "--partition", &options->partition,
            "Slurm's partition (default: the cluster's)");
  AddOption(command, "--account", &options->account,
            "The account that Slurm charges (default: the user's)");
  AddRepeated(command, "--sbatch", &options->sbatch_arguments,
              "A further argument of sbatch, over all others: --sbatch=--gpus=1; may be repeated",
              "ARGUMENT");
  AddOption(command, "--at-most", &options->at_most,
            "Elements of the arrays that run at once (default: all)",
            {.allowed = FlagRules::kPositive});
  AddOption(command, "--time", &flags->time,
            "Time limit of each element, e.g. 4h (default: from the prediction, with a margin)",
            {.value = kTimeValue});
  AddBytes(command, "--memory", &flags->memory_bytes,
           "Memory of each element, e.g. 4GB (default: from the prediction, with a margin)");
}

absl::StatusOr<std::optional<ClusterOptions>> ClusterOf(const ClusterFlags& flags) {
  const ClusterOptions& given = flags.options;
  if (flags.executor == kLocalExecutor) {
    if (given.partition.empty() && given.account.empty() && given.sbatch_arguments.empty() &&
        given.at_most == 0 && flags.time.empty() && flags.memory_bytes == 0)
      return std::optional<ClusterOptions>();
    return absl::InvalidArgumentError(
        "--partition, --account, --sbatch, --at-most, --time and --memory are about a cluster: "
        "add --executor slurm");
  }
  if (flags.executor != "slurm")
    return UnknownNameError("executor", flags.executor, {kLocalExecutor, "slurm"});
  ClusterOptions options = given;
  options.memory_bytes = static_cast<int64_t>(flags.memory_bytes);
  LRA_RETURN_IF_ERROR(CheckArguments(options.sbatch_arguments));
  LRA_RETURN_IF_ERROR(CheckMemory(options.memory_bytes));
  if (!flags.time.empty()) {
    LRA_ASSIGN_OR_RETURN(const double seconds, SecondsOfFlag("--time", flags.time));
    options.limit_seconds = static_cast<int64_t>(seconds);
    if (options.limit_seconds < kLeastLimitSeconds) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--time \"", flags.time, "\" is too short, must be at least ", kLeastLimitSeconds / 60,
          "m: an element is told to save a minute before its limit, and Slurm may tell it another "
          "minute earlier"));
    }
  }
  return std::optional<ClusterOptions>(options);
}

std::string ClusterProgram() {
  const char* const launcher = std::getenv(kLauncher);
  return launcher != nullptr ? launcher : ThisProgram();
}

std::vector<std::pair<std::string, std::string>> ClusterEnvironment() {
  const std::filesystem::path of_a_task = DefaultDataDirectory("task");
  std::vector<std::pair<std::string, std::string>> variables = {
      {"LRA_CONFIGS", AbsolutePath(ConfigDirectory())},
      {"LRA_DATA", AbsolutePath(of_a_task.parent_path().string())}};
  const char* const libtorch = std::getenv(kLibTorch);
  if (std::getenv(kLauncher) != nullptr && libtorch != nullptr)
    variables.emplace_back(kLibTorch, AbsolutePath(libtorch));
  return variables;
}

absl::StatusOr<double> SecondsOfFlag(const std::string& flag, const std::string& text) {
  absl::Duration time = absl::ZeroDuration();
  if (!absl::ParseDuration(text, &time) || time < absl::Milliseconds(1)) {
    return absl::InvalidArgumentError(
        absl::StrCat(flag, " \"", text, "\" is no time; write 2h, 90m or 1h30m"));
  }
  // A hundred years, whose end the clock's 64 bits hold. "inf" is a duration, too.
  if (time > absl::Hours(876000)) {
    return absl::InvalidArgumentError(absl::StrCat(
        flag, " \"", text, "\" is too long, must be at most 876000h; leave it out to set none"));
  }
  return absl::ToDoubleSeconds(time);
}

}  // namespace lra
