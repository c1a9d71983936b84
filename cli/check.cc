// lra check NAME
#include "tasks/check.h"

#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/command.h"
#include "lra/files.h"
#include "lra/status_macros.h"
#include "lra/suggest.h"
#include "nlohmann/json.hpp"
#include "tasks/task.h"

namespace lra {
namespace {

struct CheckFlags {
  std::string name;
  bool all = false;
  std::vector<std::string> set;
};

std::string ScratchDirectory(const std::string& name) {
  return JoinPath(std::filesystem::temp_directory_path().string(),
                  absl::StrCat("lra-check-", name, "-", getpid()));
}

// Prints the lines; the number of failures.
int Print(const std::string& task, const std::vector<TaskCheckLine>& lines,
          nlohmann::ordered_json* json) {
  int failures = 0;
  nlohmann::ordered_json checks = nlohmann::ordered_json::array();
  for (const TaskCheckLine& line : lines) {
    failures += line.passed ? 0 : 1;
    if (json != nullptr) {
      checks.push_back({{"name", line.name}, {"passed", line.passed}, {"detail", line.detail}});
      continue;
    }
    std::cout << (line.passed ? "  ok      " : "  FAILED  ") << line.name
              << (line.passed ? "" : ": ") << line.detail << "\n";
  }
  if (json != nullptr) json->push_back({{"task", task}, {"checks", checks}});
  return failures;
}

absl::Status Check(const CheckFlags& flags, const CommandContext& context) {
  std::vector<std::string> names = {flags.name};
  if (flags.all) names = TaskRegistry::Get().Names();
  if (names.front().empty()) {
    return absl::InvalidArgumentError("give the name of a task (lra list tasks), or --all");
  }
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  int failures = 0;
  for (const std::string& name : names) {
    if (!TaskRegistry::Get().Has(name)) {
      return UnknownNameError("task", name, TaskRegistry::Get().Names());
    }
    LRA_ASSIGN_OR_RETURN(
        const std::vector<TaskCheckLine> lines,
        CheckTask({.task = name, .scratch = ScratchDirectory(name), .set = flags.set}));
    if (!context.json) std::cout << "task " << name << "\n";
    failures += Print(name, lines, context.json ? &json : nullptr);
  }
  if (context.json) std::cout << json.dump(2) << "\n";
  if (failures == 0) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(failures, " check(s) failed"));
}

}  // namespace

void AddCheckCommand(CLI::App* app, CommandContext* context) {
  auto flags = std::make_shared<CheckFlags>();
  CLI::App* command = app->add_subcommand(
      "check", "Try a task's promises on a little of its data; exit code 1 if one is broken");
  command->add_option("name", flags->name, "Task: lra list tasks");
  command->add_flag("--all", flags->all, "Every task");
  command->add_option("--set", flags->set, "A task option, e.g. max_depth=5; repeatable")
      ->allow_extra_args(false);
  AddCommonFlags(command, context, "  lra check listops\n  lra check --all --json");
  command->callback(RunCommand(context, [flags, context] { return Check(*flags, *context); }));
}

}  // namespace lra
