// What the subcommands share. Each file of this folder adds one subcommand and holds no logic:
// parse flags, call the library, print. Results go to standard output, progress and errors to
// standard error.
#ifndef LRA_CLI_COMMAND_H_
#define LRA_CLI_COMMAND_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "nlohmann/json_fwd.hpp"
#include "run_folder/run_claim.h"

namespace CLI {
class App;
}

namespace lra {

// What the program ends with, for every subcommand (docs/command_line.md). Scripts rely on these:
// a code never changes its meaning.
enum ExitCode {
  kDone = 0,
  kAnswerIsNo = 1,
  kWrongUse = 2,
  kTryLater = kInUseExitCode,
};
struct ExitCodeFact {
  int code;
  const char* meaning;
};
inline constexpr ExitCodeFact kExitCodes[] = {
    {kDone, "done; the answer is yes"},
    {kAnswerIsNo,
     "the answer is no: a verification, a check or a run failed, two runs differ, or something "
     "that "
     "was started did not end"},
    {kWrongUse,
     "wrong use: an unknown flag, name, field or value, a file that is not there or is there "
     "already; nothing was started"},
    {kTryLater,
     "another process trains in the same folder, or a time limit came near: the same "
     "command may be given again later"},
};

struct CommandContext {
  bool json = false;
  bool quiet = false;
  // The path that kernels are forced to; empty = not by a flag.
  std::string kernels;
  // The command line as typed, for records.
  std::string command_line;
  int exit_code = 0;
};

// Parses and runs; the exit code. An unknown flag or subcommand gets the nearest valid one. What
// could not be written to standard output is said, and is no success.
int RunProgram(int argc, char** argv);

// A subcommand, whose flags and body follow.
CLI::App* AddCommand(CLI::App* app, const std::string& name, const std::string& description);
// A subcommand that has subcommands itself.
CLI::App* AddGroup(CLI::App* app, const std::string& name, const std::string& description,
                   const std::string& examples);
// After the subcommand's own flags: --json and --quiet, a footer with examples that work, and what
// the subcommand does, whose error is printed and gives the exit code.
void SetBody(CLI::App* command, CommandContext* context, const std::string& examples,
             std::function<absl::Status()> body);

// To standard output. Bytes in strings that are no UTF-8 become U+FFFD.
void PrintJson(const nlohmann::ordered_json& json);

// One function per file.
void AddQuickstartCommand(CLI::App* app, CommandContext* context);
void AddListCommand(CLI::App* app, CommandContext* context);
void AddConfigCommand(CLI::App* app, CommandContext* context);
void AddDiffCommand(CLI::App* app, CommandContext* context);
void AddDataCommand(CLI::App* app, CommandContext* context);
void AddBaselineCommand(CLI::App* app, CommandContext* context);
void AddProfileCommand(CLI::App* app, CommandContext* context);
void AddCheckCommand(CLI::App* app, CommandContext* context);
void AddInitCommand(CLI::App* app, CommandContext* context);
void AddTrainCommand(CLI::App* app, CommandContext* context);
void AddRunCommand(CLI::App* app, CommandContext* context);
void AddStatusCommand(CLI::App* app, CommandContext* context);
void AddPapersCommand(CLI::App* app, CommandContext* context);
void AddEvalCommand(CLI::App* app, CommandContext* context);
void AddAttendCommand(CLI::App* app, CommandContext* context);
void AddGenerateCommand(CLI::App* app, CommandContext* context);
void AddExportCommand(CLI::App* app, CommandContext* context);
void AddLocalityCommand(CLI::App* app, CommandContext* context);
void AddScoreCommand(CLI::App* app, CommandContext* context);
void AddTableCommand(CLI::App* app, CommandContext* context);
void AddReportCommand(CLI::App* app, CommandContext* context);
void AddCompareCommand(CLI::App* app, CommandContext* context);
void AddAblateCommand(CLI::App* app, CommandContext* context);
void AddPowerCommand(CLI::App* app, CommandContext* context);
void AddRunsCommand(CLI::App* app, CommandContext* context);
void AddWatchCommand(CLI::App* app, CommandContext* context);
void AddDoctorCommand(CLI::App* app, CommandContext* context);
void AddBenchCommand(CLI::App* app, CommandContext* context);
void AddCompletionCommand(CLI::App* app, CommandContext* context);
void AddManCommand(CLI::App* app, CommandContext* context);

}  // namespace lra

#endif  // LRA_CLI_COMMAND_H_
