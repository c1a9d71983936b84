// lra init
#include <iostream>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "cli/command.h"
#include "cli/experiment_flags.h"
#include "cli/flags.h"
#include "lra/run_file.h"
#include "lra/shell_word.h"
#include "lra/status_macros.h"
#include "nlohmann/json.hpp"

namespace lra {
namespace {

struct InitFlags {
  std::string file = "run.textproto";
  ExperimentChoice choice = {.task = "listops", .attention = "linear"};
};

absl::Status Init(const InitFlags& flags, const CommandContext& context) {
  LRA_RETURN_IF_ERROR(WriteRunFile(flags.choice, flags.file));
  const std::string next = absl::StrCat("lra train --config ", ShellWord(flags.file));
  if (context.json) {
    PrintJson({{"file", flags.file}, {"next", next}});
  } else {
    std::cout << "wrote " << flags.file << "; edit it, then: " << next << "\n";
  }
  return absl::OkStatus();
}

}  // namespace

void AddInitCommand(CLI::App* app, CommandContext* context) {
  auto flags = std::make_shared<InitFlags>();
  CLI::App* command =
      AddCommand(app, "init", "Write a run file with comments, to be edited and trained");
  AddOption(command, "file", &flags->file, "The file, which must not exist",
            {.shows_default = true, .value = kFileValue});
  AddNewExperimentFlags(command, &flags->choice);
  SetBody(command, context,
          "  lra init\n"
          "  lra init mine.textproto --task text --attention cosformer --set train.steps=2000",
          [flags, context] { return Init(*flags, *context); });
}

}  // namespace lra
