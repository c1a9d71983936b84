// lra run
#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/flags.h"
#include "cli/suite_command.h"
#include "lra/files.h"
#include "lra/parallel.h"
#include "lra/status_macros.h"
#include "suite/init_from.h"
#include "suite/suite_file.h"

namespace lra {
namespace {

struct RunFlags {
  std::string suite, out, init_from, device = "cpu";
  int threads = 1, at_once = 1;
  bool no_last = false;
  SuiteFlags how;
};

// The flags that `lra train` gets for each run, and `lra run` in the elements of job arrays.
std::vector<std::string> PassedOn(const RunFlags& flags) {
  std::vector<std::string> words;
  if (flags.device != "cpu") words.insert(words.end(), {"--device", flags.device});
  if (flags.no_last) words.push_back("--no-last");
  return words;
}

absl::Status RunSuite(const RunFlags& flags, const CommandContext& context) {
  LRA_ASSIGN_OR_RETURN(SuiteFile suite, LoadSuite(flags.suite));
  LRA_RETURN_IF_ERROR(SetInitFrom(flags.init_from, &suite));
  SuiteRunOptions options;
  options.out = flags.out.empty() ? JoinPath("runs", SuiteName(flags.suite)) : flags.out;
  options.threads = flags.threads;
  options.at_once = flags.at_once;
  options.train_flags = PassedOn(flags);
  SuiteFlags how = flags.how;
  how.cluster_flags = options.train_flags;
  return RunSuiteFile(suite, how, options, context);
}

}  // namespace

void AddRunCommand(CLI::App* app, CommandContext* context) {
  auto flags = std::make_shared<RunFlags>();
  CLI::App* command = AddCommand(app, "run", "Train the runs of a suite, several at once");
  AddOption(command, "suite", &flags->suite,
            "A suite (`lra list suites`), or the path of a file like these",
            {.is_required = true, .value = kSuiteValue});
  AddOption(command, "--out", &flags->out, "Folder of the run folders (default: runs/SUITE)",
            {.value = kFolderValue});
  AddOption(command, "--init-from", &flags->init_from,
            "A run, checkpoint or weights file; runs for which the suite sets "
            "encoder_weights_sha256={init-from} start from its encoder; "
            "'RUNS/{attention}-s{seed}' names one for each of them",
            {.value = kRunValue});
  AddSwitch(
      command, "--dry-run", &flags->how.is_dry,
      "Only measure some steps, and print the time, memory and disk that the runs will take, and "
      "what would be submitted");
  AddOption(command, "--threads", &flags->threads, "Threads of each run",
            {.shows_default = true,
             .allowed = FlagRules::kRange,
             .least = 1,
             .largest = static_cast<double>(MaxThreads())});
  AddDevice(command, &flags->device);
  AddSuiteFlags(command, &flags->how);
  AddOption(command, "--at-once", &flags->at_once,
            "Seeds of a cell that each worker trains side by side in one process: small models "
            "fill a GPU together",
            {.shows_default = true, .allowed = FlagRules::kPositive});
  AddSwitch(command, "--no-last", &flags->no_last,
            "Score the selected checkpoint of each run only, not the last one as well");
  AddOption(command, "--cell", &flags->how.cell,
            "Only the run of this name, without measuring; exit code 75 where the same command "
            "would get further");
  AddClusterFlags(command, &flags->how.cluster);
  SetBody(command, context,
          "  lra run listops_smoke --dry-run\n"
          "  lra run listops_smoke --budget 2h\n"
          "  lra run listops_smoke --executor slurm --partition cpu --at-most 64\n"
          "  lra table runs/listops_smoke",
          [flags, context] { return RunSuite(*flags, *context); });
}

}  // namespace lra
