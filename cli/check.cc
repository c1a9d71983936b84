// lra check NAME
#include "tasks/check.h"

#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/check_attention.h"
#include "cli/command.h"
#include "lra/files.h"
#include "lra/status_macros.h"
#include "lra/suggest.h"
#include "models/attention/attention.h"
#include "models/runtime.h"
#include "nlohmann/json.hpp"
#include "tasks/task.h"

namespace lra {
namespace {

struct CheckFlags {
  std::string name;
  bool all = false;
  std::vector<std::string> set;
  AgainstFlags against;
  int threads = 0;
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

// What is to be checked: one name, or with --all everything of a kind.
absl::StatusOr<std::vector<std::string>> Names(const CheckFlags& flags) {
  const std::vector<std::string> tasks = TaskRegistry::Get().Names(),
                                 attentions = AttentionRegistry::Get().Names();
  std::vector<std::string> both = tasks;
  both.insert(both.end(), attentions.begin(), attentions.end());
  if (flags.all) {
    if (flags.name == "tasks") return tasks;
    if (flags.name == "attentions") return attentions;
    if (flags.name.empty()) return both;
    return UnknownNameError("kind", flags.name, {"tasks", "attentions"});
  }
  if (flags.name.empty()) {
    return absl::InvalidArgumentError(
        "give the name of a task (lra list tasks) or an attention (lra list attentions), or --all");
  }
  if (TaskRegistry::Get().Has(flags.name) || AttentionRegistry::Get().Has(flags.name))
    return std::vector<std::string>{flags.name};
  return UnknownNameError("task or attention", flags.name, both);
}

absl::StatusOr<int> CheckOne(const std::string& name, const CheckFlags& flags,
                             nlohmann::ordered_json* json) {
  if (!flags.against.file.empty()) {
    if (AttentionRegistry::Get().Has(name))
      return CompareAndPrint(name, flags.set, flags.against, json);
    return UnknownNameError("attention", name, AttentionRegistry::Get().Names());
  }
  if (AttentionRegistry::Get().Has(name)) return CheckAndPrintAttention(name, flags.set, json);
  LRA_ASSIGN_OR_RETURN(
      const std::vector<TaskCheckLine> lines,
      CheckTask({.task = name, .scratch = ScratchDirectory(name), .set = flags.set}));
  if (json == nullptr) std::cout << "task " << name << "\n";
  return Print(name, lines, json);
}

absl::Status Check(const CheckFlags& flags, const CommandContext& context) {
  LRA_ASSIGN_OR_RETURN(const std::vector<std::string> names, Names(flags));
  if (flags.all && (!flags.set.empty() || !flags.against.file.empty())) {
    return absl::InvalidArgumentError("--set and --against are about one NAME, not about --all");
  }
  StartRuntime(flags.threads);
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  int failures = 0;
  for (const std::string& name : names) {
    LRA_ASSIGN_OR_RETURN(const int failed, CheckOne(name, flags, context.json ? &json : nullptr));
    failures += failed;
    std::cout << std::flush;
  }
  if (context.json) std::cout << json.dump(2) << "\n";
  if (failures == 0) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(failures, " check(s) failed"));
}

}  // namespace

void AddCheckCommand(CLI::App* app, CommandContext* context) {
  auto flags = std::make_shared<CheckFlags>();
  CLI::App* command = app->add_subcommand(
      "check",
      "Try the promises of a task (on a little of its data) or an attention, or compare an "
      "attention with numbers of other code; exit code 1 if one is broken");
  command->add_option("name", flags->name,
                      "Task or attention: lra list; with --all, tasks or attentions");
  command->add_flag("--all", flags->all, "Every task and attention, or every one of a kind");
  command
      ->add_option("--set", flags->set,
                   "An option of the task or attention, e.g. max_depth=5; repeatable")
      ->allow_extra_args(false);
  CLI::Option* against =
      command->add_option("--against", flags->against.file,
                          "safetensors file with q, k, v, out and gradients of other code "
                          "(docs/checking_your_attention.md)");
  command
      ->add_option("--tolerance", flags->against.tolerance,
                   "Of --against: error relative to a tensor's largest value (default: 1e-5 for "
                   "float32, 1e-9 for float64)")
      ->check(CLI::NonNegativeNumber)
      ->needs(against);
  command
      ->add_option("--max-length", flags->against.max_length_tokens,
                   "Of --against: the longest sequence that the attention is made for (default: "
                   "the file's)")
      ->check(CLI::NonNegativeNumber)
      ->needs(against);
  command->add_option("--threads", flags->threads, "Threads; 0 = all cores")
      ->check(CLI::NonNegativeNumber);
  AddCommonFlags(command, context,
                 "  lra check listops\n"
                 "  lra check performer --set features=32\n"
                 "  lra check cosformer --against mine.safetensors --max-length 4096\n"
                 "  lra check --all attentions --json");
  command->callback(RunCommand(context, [flags, context] { return Check(*flags, *context); }));
}

}  // namespace lra
