#include "cli/command.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <new>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "cli/flags.h"
#include "lra/config_directory.h"
#include "lra/json_text.h"
#include "lra/status_macros.h"
#include "lra/suggest.h"
#include "lra/version.h"
#include "nlohmann/json.hpp"

namespace lra {
namespace {

ExitCode ExitCodeOf(const absl::Status& status) {
  if (IsInUse(status)) return kTryLater;
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return kDone;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kNotFound:
      return kWrongUse;
    default:
      return kAnswerIsNo;
  }
}

// Names that would have been valid where parsing stopped: subcommands for a word, flags for a flag.
std::vector<std::string> ValidNames(const CLI::App& app, const std::string& word) {
  std::vector<std::string> names;
  if (word.rfind("--", 0) != 0) {
    for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
    return names;
  }
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// The innermost subcommand that was given.
const CLI::App& Innermost(const CLI::App& app) {
  const CLI::App* current = &app;
  while (!current->get_subcommands().empty()) current = current->get_subcommands().front();
  return *current;
}

// "lra data prepare"
std::string CommandPath(const CLI::App& app) {
  std::string path = "lra";
  for (const CLI::App* current = &app; !current->get_subcommands().empty();) {
    current = current->get_subcommands().front();
    path += " " + current->get_name();
  }
  return path;
}

// What other programs call a setting that here is one of many, and what sets it.
constexpr std::pair<const char*, const char*> kOtherFlags[] = {
    {"--batch", "--set train.batch_examples=NUMBER"},
    {"--batch-size", "--set train.batch_examples=NUMBER"},
    {"--cuda", "--device cuda"},
    {"--dropout", "--set model.dropout=NUMBER"},
    {"--gpu", "--device cuda"},
    {"--learning-rate", "--set schedule.learning_rate=NUMBER"},
    {"--lr", "--set schedule.learning_rate=NUMBER"},
    {"--max-steps", "--set train.steps=NUMBER"},
    {"--num-steps", "--set train.steps=NUMBER"},
    {"--steps", "--set train.steps=NUMBER"},
};

// The valid flag that an unknown one stands for; empty where none is near.
std::string FlagFor(const CLI::App& command, const std::string& word) {
  const std::vector<std::string> valid = ValidNames(command, word);
  for (const auto& [other, right] : kOtherFlags) {
    const std::string flag(right, std::strcspn(right, " "));
    if (word == other && std::find(valid.begin(), valid.end(), flag) != valid.end()) return right;
  }
  return Nearest(word, valid);
}

// `unknown subcommand "trian"; did you mean train?`
std::string UnknownWord(const std::string& kind, const std::string& word,
                        const std::string& nearest) {
  return "unknown " + kind + " \"" + word + "\"" +
         (nearest.empty() ? "" : "; did you mean " + nearest + "?");
}

// What is wrong, as UnknownWord() says it, with the first word that nothing wanted (flags
// first, since a flag's value is left over with it); else CLI11's own words.
std::string Explain(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& command = Innermost(app);
  std::vector<std::string> words = app.remaining(true);
  std::stable_partition(words.begin(), words.end(),
                        [](const std::string& word) { return word.rfind("--", 0) == 0; });
  if (words.empty()) return error.what();
  // Long flags with one dash: "-task".
  if (words.front().size() > 2 && words.front()[0] == '-' && words.front()[1] != '-')
    words.front().insert(0, "-");
  const std::string word = words.front().substr(0, words.front().find('='));
  const bool is_flag = word.rfind("--", 0) == 0;
  if (!is_flag && command.get_subcommands({}).empty()) return "unexpected \"" + word + "\"";
  const std::string nearest =
      is_flag ? FlagFor(command, word) : Nearest(word, ValidNames(command, word));
  return UnknownWord(is_flag ? "flag" : "subcommand", word, nearest);
}

// The first word that should be a subcommand and is none, with what stands before it in `path`;
// empty where there is no such word. CLI11 would go on, and complain of a flag behind it, or take
// the next word for a subcommand.
std::string WordWithoutSubcommand(const CLI::App& app, int argc, char** argv,
                                  const CLI::App** group, std::string* path) {
  *group = &app;
  *path = "lra";
  for (int i = 1; i < argc && argv[i][0] != '-'; ++i) {
    const std::vector<const CLI::App*> commands = (*group)->get_subcommands({});
    if (commands.empty()) return "";
    const auto found = std::find_if(commands.begin(), commands.end(), [&](const CLI::App* command) {
      return command->get_name() == argv[i];
    });
    if (found == commands.end()) return argv[i];
    *group = *found;
    *path += std::string(" ") + argv[i];
  }
  return "";
}

// The last resort: what no library function turned into a status (memory, a file system that fails
// while listed).
absl::Status Guarded(const std::function<absl::Status()>& body) {
  try {
    LRA_RETURN_IF_ERROR(CheckConfigDirectory());
    return body();
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("out of memory");
  } catch (const std::exception& error) {
    return absl::InternalError(error.what());
  }
}

void AddCommands(CLI::App* app, CommandContext* context) {
  AddQuickstartCommand(app, context);
  AddListCommand(app, context);
  AddDataCommand(app, context);
  AddBaselineCommand(app, context);
  AddCheckCommand(app, context);
  AddInitCommand(app, context);
  AddConfigCommand(app, context);
  AddTrainCommand(app, context);
  AddRunCommand(app, context);
  AddStatusCommand(app, context);
  AddPapersCommand(app, context);
  AddEvalCommand(app, context);
  AddAttendCommand(app, context);
  AddGenerateCommand(app, context);
  AddExportCommand(app, context);
  AddLocalityCommand(app, context);
  AddScoreCommand(app, context);
  AddTableCommand(app, context);
  AddReportCommand(app, context);
  AddCompareCommand(app, context);
  AddAblateCommand(app, context);
  AddPowerCommand(app, context);
  AddDiffCommand(app, context);
  AddProfileCommand(app, context);
  AddRunsCommand(app, context);
  AddWatchCommand(app, context);
  AddDoctorCommand(app, context);
  AddBenchCommand(app, context);
  AddCompletionCommand(app, context);
  AddManCommand(app, context);
}

// All subcommands, version, help.
void SetUp(CLI::App* app, CommandContext* context) {
  app->name("lra");
  app->set_version_flag("--version", "lra " LRA_VERSION);
  app->set_help_all_flag("--help-all", "Help of all subcommands");
  app->require_subcommand(1);
  app->footer(
      "Examples:\n"
      "  lra data prepare listops\n"
      "  lra train --task listops --attention cosformer --preset small\n"
      "Every subcommand has its own --help. Exit codes: 0 done, 1 the answer is no, 2 wrong use, "
      "75 try again later.");
  AddCommands(app, context);
}

// "--seeds" of `--seeds=`, for which CLI11 would take the next word; empty where there is none.
std::string FlagWithoutValue(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const size_t equals = word.find('=');
    if (word.rfind("--", 0) == 0 && equals == word.size() - 1) return word.substr(0, equals);
  }
  return "";
}

int ParseAndRun(int argc, char** argv) {
  CommandContext context;
  context.command_line = "lra";
  for (int i = 1; i < argc; ++i) context.command_line += std::string(" ") + argv[i];
  CLI::App app{
      "lra: the Long-Range Arena. Data that is generated or imported and verified, one encoder "
      "with any\n"
      "attention, runs that resume bit for bit, tables made from records."};
  SetUp(&app, &context);
  if (const std::string flag = FlagWithoutValue(argc, argv); !flag.empty()) {
    std::cerr << "lra: " << flag << ": " << kIsEmpty << "\n";
    return kWrongUse;
  }
  const CLI::App* group = nullptr;
  std::string path;
  if (const std::string word = WordWithoutSubcommand(app, argc, argv, &group, &path);
      !word.empty()) {
    std::cerr << "lra: " << UnknownWord("subcommand", word, Nearest(word, ValidNames(*group, word)))
              << "\nSee: " << path << " --help\n";
    return kWrongUse;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // help and version
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    std::cerr << "lra: " << Explain(app, error) << "\nSee: " << CommandPath(app) << " --help\n";
    return kWrongUse;
  }
  return context.exit_code;
}

// Writes what is left of standard output, which std::cout shares with C. errno of what could not be
// written; 0 = nothing. An earlier failure's own is lost, so a line break is tried: the output is
// cut short as it is.
int FinishOutput() {
  const bool was_cut = std::ferror(stdout) != 0;
  std::clearerr(stdout);
  if (was_cut) std::fputc('\n', stdout);
  errno = 0;
  if (std::fflush(stdout) != 0) return errno;
  return was_cut ? EIO : 0;
}

}  // namespace

int RunProgram(int argc, char** argv) {
  const int exit_code = ParseAndRun(argc, argv);
  const int error = FinishOutput();
  // A reader that leaves early has what it wanted.
  if (error == 0 || error == EPIPE) return exit_code;
  std::cerr << "lra: standard output: cannot write: " << std::strerror(error) << "\n";
  return exit_code == kDone ? kAnswerIsNo : exit_code;
}

CLI::App* AddCommand(CLI::App* app, const std::string& name, const std::string& description) {
  return app->add_subcommand(name, description);
}

CLI::App* AddGroup(CLI::App* app, const std::string& name, const std::string& description,
                   const std::string& examples) {
  CLI::App* group = AddCommand(app, name, description);
  group->require_subcommand(1);
  group->footer("Examples:\n" + examples);
  return group;
}

void SetBody(CLI::App* command, CommandContext* context, const std::string& examples,
             std::function<absl::Status()> body) {
  command->add_flag("--json", context->json, "Print the result as JSON");
  command->add_flag("--quiet", context->quiet, "No progress on standard error");
  command->footer("Examples:\n" + examples);
  command->callback([context, body = std::move(body)] {
    const absl::Status status = Guarded(body);
    context->exit_code = ExitCodeOf(status);
    if (!status.ok()) std::cerr << "lra: " << status.message() << "\n";
  });
}

void PrintJson(const nlohmann::ordered_json& json) { std::cout << JsonText(json) << "\n"; }

}  // namespace lra
