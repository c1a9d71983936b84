// What the subcommands share. Each file of this folder adds one subcommand and holds no logic:
// parse flags, call the library, print. Results go to standard output, progress and errors to
// standard error.
//
// Exit codes: 0 done; 1 the answer is no (a verification, a check or a run failed); 2 wrong use
// (unknown flag, name, field or value: nothing was started).
#ifndef LRA_CLI_COMMAND_H_
#define LRA_CLI_COMMAND_H_

#include <functional>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace lra {

struct CommandContext {
  bool json = false;
  bool quiet = false;
  // The command line as typed, for records.
  std::string command_line;
  int exit_code = 0;
};

// Wraps a subcommand's body for CLI::App::callback: prints the error, sets the exit code.
std::function<void()> RunCommand(CommandContext* context, std::function<absl::Status()> body);

// Adds --json and --quiet, and a footer with examples that work.
void AddCommonFlags(CLI::App* command, CommandContext* context, const std::string& examples);

// All subcommands, version, help.
void SetUpApp(CLI::App* app, CommandContext* context);
// Parses and runs; an unknown flag or subcommand gets the nearest valid one and exit code 2.
int RunApp(CLI::App* app, CommandContext* context, int argc, char** argv);

// $LRA_DATA (default "data") / task.
std::string DefaultDataDirectory(const std::string& task);
// --data as given, or the default of the checkpoint's task.
absl::StatusOr<std::string> DataOfCheckpoint(const std::string& checkpoint,
                                             const std::string& given);

// One function per file.
void AddListCommand(CLI::App* app, CommandContext* context);
void AddConfigCommand(CLI::App* app, CommandContext* context);
void AddDiffCommand(CLI::App* app, CommandContext* context);
void AddDataCommand(CLI::App* app, CommandContext* context);
void AddBaselineCommand(CLI::App* app, CommandContext* context);
void AddCheckCommand(CLI::App* app, CommandContext* context);
void AddTrainCommand(CLI::App* app, CommandContext* context);
void AddEvalCommand(CLI::App* app, CommandContext* context);
void AddAttendCommand(CLI::App* app, CommandContext* context);
void AddScoreCommand(CLI::App* app, CommandContext* context);
void AddTableCommand(CLI::App* app, CommandContext* context);
void AddWatchCommand(CLI::App* app, CommandContext* context);
void AddDoctorCommand(CLI::App* app, CommandContext* context);

}  // namespace lra

#endif  // LRA_CLI_COMMAND_H_
