// lra check NAME
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/check_attention.h"
#include "cli/check_block.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/patient_threads.h"
#include "lra/config.h"
#include "lra/data_root.h"
#include "lra/files.h"
#include "lra/status_macros.h"
#include "lra/suggest.h"
#include "lra/unregistered.h"
#include "models/attention_names.h"
#include "models/block_names.h"
#include "models/conformance/conformance.h"
#include "nlohmann/json.hpp"
#include "tasks/task.h"
#include "tasks/task_check.h"

namespace lra {
namespace {

struct CheckFlags {
  std::string name;
  bool all = false;
  std::vector<std::string> set;
  AgainstFlags against;
  TrialFlags trial;
  int threads = 0;
};

std::string ScratchDirectory(const std::string& name) {
  return JoinPath(std::filesystem::temp_directory_path().string(),
                  absl::StrCat("lra-check-", name, "-", getpid()));
}

// Prints the lines and returns the number of failures.
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

bool Holds(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Returns what is to be checked: one name, or with --all everything of a kind.
absl::StatusOr<std::vector<std::string>> Names(const CheckFlags& flags) {
  const std::vector<std::string> tasks = TaskRegistry::Get().Names(), attentions = AttentionNames(),
                                 blocks = BlockNames();
  std::vector<std::string> computing = attentions, known = tasks;
  computing.insert(computing.end(), blocks.begin(), blocks.end());
  known.insert(known.end(), computing.begin(), computing.end());
  if (flags.all) {
    if (flags.name == "tasks") return tasks;
    if (flags.name == "attentions") return attentions;
    if (flags.name == "blocks") return blocks;
    // Tasks have neither a device nor a type.
    if (flags.name.empty()) return flags.trial.IsDefault() ? known : computing;
    return UnknownNameError("kind", flags.name, {"tasks", "attentions", "blocks"});
  }
  if (flags.name.empty()) {
    return absl::InvalidArgumentError(
        "give the name of a task, an attention or a block (lra list), or --all");
  }
  if (Holds(known, flags.name)) return std::vector<std::string>{flags.name};
  if (KnowsTask(flags.name)) {
    LRA_RETURN_IF_ERROR(LoadTaskFile(flags.name).status());
    return absl::InvalidArgumentError(absl::StrCat("task \"", flags.name,
                                                   "\" has no code to check; `lra data verify ",
                                                   flags.name, "` checks its data"));
  }
  for (const char* kind : {"task", "attention", "block"})
    LRA_RETURN_IF_ERROR(CheckNoFileOf(kind, flags.name));
  LRA_RETURN_IF_ERROR(CheckAdopted(flags.name));
  return UnknownNameError("task, attention or block", flags.name, known);
}

absl::StatusOr<int> CheckOne(const std::string& name, const CheckFlags& flags,
                             nlohmann::ordered_json* json) {
  const std::vector<std::string> attentions = AttentionNames();
  const bool is_attention = Holds(attentions, name);
  if (!flags.against.file.empty()) {
    if (is_attention) return CompareAndPrint(name, flags.set, flags.against, flags.trial, json);
    return UnknownNameError("attention", name, attentions);
  }
  if (is_attention) return CheckAndPrintAttention(name, flags.set, flags.trial, json);
  if (Holds(BlockNames(), name)) return CheckAndPrintBlock(name, flags.set, flags.trial, json);
  if (!flags.trial.IsDefault()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--device and --dtype are about attentions and blocks, not about task ", name));
  }
  LRA_ASSIGN_OR_RETURN(
      const std::vector<TaskCheckLine> lines,
      CheckTask({.task = name, .scratch = ScratchDirectory(name), .set = flags.set}));
  if (json == nullptr) std::cout << "task " << name << "\n";
  return Print(name, lines, json);
}

// An entry of what cannot be made or tried at all: one failure.
int ShowFailed(const std::string& name, const absl::Status& why, nlohmann::ordered_json* json) {
  const bool is_attention = Holds(AttentionNames(), name);
  const bool is_task = !is_attention && !Holds(BlockNames(), name);
  const char* const kind = is_attention ? "attention" : is_task ? "task" : "block";
  const std::string error =
      absl::StrCat("could not be ", is_task ? "checked" : "made", ": ", why.message());
  if (json != nullptr) {
    json->push_back({{kind, name}, {"error", error}});
  } else {
    std::cout << kind << " " << name << "\n  FAILED  " << error << "\n";
  }
  return 1;
}

// With --all the others are tried whatever comes of one.
absl::StatusOr<int> CheckOneOf(const std::string& name, const CheckFlags& flags,
                               nlohmann::ordered_json* json) {
  const absl::StatusOr<int> failed = CheckOne(name, flags, json);
  return failed.ok() || !flags.all ? failed : ShowFailed(name, failed.status(), json);
}

absl::Status Check(const CheckFlags& flags, const CommandContext& context) {
  LRA_ASSIGN_OR_RETURN(const std::vector<std::string> names, Names(flags));
  if (flags.all && (!flags.set.empty() || !flags.against.file.empty())) {
    return absl::InvalidArgumentError("--set and --against are about one NAME, not about --all");
  }
  LRA_RETURN_IF_ERROR(StartComputing(flags.threads, context));
  if (flags.all)
    LRA_RETURN_IF_ERROR(ParseCheckSetting(flags.trial.device, flags.trial.dtype).status());
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  int failures = 0;
  for (const std::string& name : names) {
    LRA_ASSIGN_OR_RETURN(const int failed, CheckOneOf(name, flags, context.json ? &json : nullptr));
    failures += failed;
    std::cout << std::flush;
  }
  if (context.json) PrintJson(json);
  if (failures == 0) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(failures, " check(s) failed"));
}

}  // namespace

void AddCheckCommand(CLI::App* app, CommandContext* context) {
  auto flags = std::make_shared<CheckFlags>();
  CLI::App* command = AddCommand(
      app, "check",
      "Try the promises of a task (on a little of its data), an attention or a block, or compare "
      "an attention with numbers of other code; exit code 1 if one is broken");
  AddOption(command, "name", &flags->name,
            "Task, attention or block: lra list; with --all, tasks, attentions or blocks",
            {.value = kPlugInValue});
  AddSwitch(command, "--all", &flags->all,
            "Everything, or everything of a kind (with --device or --dtype, no tasks)");
  AddSets(command, &flags->set, "An option of what is checked, e.g. max_depth=5; may be repeated",
          kOptionValue);
  AddOption(command, "--against", &flags->against.file,
            "A safetensors file with q, k, v, out and gradients of other code "
            "(docs/checking_your_attention.md)",
            {.value = kFileValue});
  AddOption(command, "--tolerance", &flags->against.tolerance,
            "Largest error that agrees, relative to a tensor's largest value (default: 1e-5 for "
            "float32, 1e-9 for float64)",
            {.allowed = FlagRules::kNonNegative, .needs = "--against"});
  AddOption(command, "--max-length", &flags->against.max_length_tokens,
            "The longest sequence that the attention is made for (default: the file's)",
            {.allowed = FlagRules::kNonNegative, .needs = "--against"});
  AddOption(command, "--device", &flags->trial.device,
            "Where attentions and blocks compute: cpu, cuda, cuda:NUMBER, or fake, which computes "
            "on the host in a GPU's place and refuses what a GPU would",
            {.shows_default = true, .value = kDeviceValue});
  AddOption(command, "--dtype", &flags->trial.dtype,
            "Only the promises of attentions and blocks about this type (default: all)",
            {.value = "float64|float32|bfloat16"});
  AddThreads(command, &flags->threads);
  AddKernels(command, &context->kernels);
  SetBody(command, context,
          "  lra check listops\n"
          "  lra check performer --set features=32\n"
          "  lra check mixer\n"
          "  lra check cosformer --against mine.safetensors --max-length 4096\n"
          "  lra check linear --dtype float32 --kernels avx2\n"
          "  lra check cosformer --device fake\n"
          "  lra check --all attentions --json",
          [flags, context] { return Check(*flags, *context); });
}

}  // namespace lra
