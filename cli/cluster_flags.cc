#include "cli/cluster_flags.h"

#include <cstdlib>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "datasets/data_directory.h"
#include "lra/child.h"
#include "lra/config.h"
#include "lra/status_macros.h"
#include "lra/suggest.h"

namespace lra {
namespace {

// What a package's launcher sets.
constexpr char kLauncher[] = "LRA_PROGRAM", kLibTorch[] = "LRA_LIBTORCH";

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
  if (flags.executor == "local") {
    if (given.partition.empty() && given.account.empty() && given.sbatch_arguments.empty() &&
        given.at_most == 0 && flags.time.empty() && flags.memory_bytes == 0)
      return std::optional<ClusterOptions>();
    return absl::InvalidArgumentError(
        "--partition, --account, --sbatch, --at-most, --time and --memory are about a cluster: "
        "add --executor slurm");
  }
  if (flags.executor != "slurm")
    return UnknownNameError("executor", flags.executor, {"local", "slurm"});
  ClusterOptions options = given;
  options.memory_bytes = static_cast<int64_t>(flags.memory_bytes);
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
  const auto absolute = [](const std::filesystem::path& path) {
    return std::filesystem::absolute(path).lexically_normal().string();
  };
  const std::filesystem::path of_a_task = DefaultDataDirectory("task");
  std::vector<std::pair<std::string, std::string>> variables = {
      {"LRA_CONFIGS", absolute(ConfigDirectory())},
      {"LRA_DATA", absolute(of_a_task.parent_path())}};
  const char* const libtorch = std::getenv(kLibTorch);
  if (std::getenv(kLauncher) != nullptr && libtorch != nullptr)
    variables.emplace_back(kLibTorch, absolute(libtorch));
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
