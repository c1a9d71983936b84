// lra completion: a script that completes the command line in a shell.
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/command.h"
#include "cli/command_tree.h"
#include "cli/completion_script.h"
#include "cli/flags.h"
#include "eval/metric.h"
#include "lra/config.h"
#include "lra/config_check.h"
#include "lra/option_facts.h"
#include "lra/reflection.h"
#include "lra/suggest.h"
#include "lra/task_files.h"

namespace lra {
namespace {

using Words = std::vector<std::string>;

void Append(const Words& more, Words* words) {
  words->insert(words->end(), more.begin(), more.end());
}

// "train.steps=", "model.pooling=MEAN|CLS".
Words Assignments(const std::vector<SettableField>& fields) {
  Words words;
  for (const SettableField& field : fields)
    if (!IsChosenByFlag(field.path))
      words.push_back(absl::StrCat(field.path, "=", absl::StrJoin(field.choices, "|")));
  return words;
}

// The options of plug-ins, each with `path` and a dot before it.
Words OptionsOf(const google::protobuf::Any& options, absl::string_view path) {
  const auto message = UnpackAny(options);
  return message == nullptr ? Words() : Assignments(SettableFields(message->GetDescriptor(), path));
}

// Plug-ins share the names of options. Each is kept once, with the choices of all.
Words Merged(const Words& words) {
  Words merged;
  std::map<std::string, size_t> places;
  std::set<std::string> seen;
  for (const std::string& word : words) {
    if (!seen.insert(word).second) continue;
    const size_t end = word.find('=');
    const auto [place, is_new] = places.emplace(word.substr(0, end), merged.size());
    if (is_new) {
      merged.push_back(word);
    } else {
      absl::StrAppend(&merged[place->second], "|", word.substr(end + 1));
    }
  }
  return merged;
}

struct PluginWords {
  Words tasks, attentions, blocks;  // assignments of options
};

PluginWords AllOptions(absl::string_view attention_path, absl::string_view block_path) {
  PluginWords words;
  for (const std::string& name : TasksInOrder()) {
    const absl::StatusOr<TaskFile> file = LoadTaskFile(name);
    if (!file.ok()) continue;  // `lra list` says why
    Append(OptionsOf(file->options(), ""), &words.tasks);
  }
  for (const std::string& name : ConfigNames("attentions")) {
    const absl::StatusOr<AttentionFile> file = LoadAttentionFile(name);
    if (!file.ok()) continue;
    Append(OptionsOf(file->attention().options(), attention_path), &words.attentions);
  }
  for (const std::string& name : ConfigNames("blocks")) {
    const absl::StatusOr<BlockFile> file = LoadBlockFile(name);
    if (!file.ok()) continue;
    Append(OptionsOf(file->block().options(), block_path), &words.blocks);
  }
  return words;
}

void AddNames(ValueWords* words) {
  Words& tasks = (*words)[kTaskValue] = TasksInOrder();
  Words& attentions = (*words)[kAttentionValue] = ConfigNames("attentions");
  (*words)[kBlockValue] = ConfigNames("blocks");
  Words& protocols = (*words)[kProtocolValue] = ConfigNames("protocols");
  for (const std::string& name : ConfigNames("protocols"))
    Append(EarlierVersions("protocols", name), &protocols);
  (*words)[kPresetValue] = ConfigNames("presets");
  (*words)[kPublishedValue] = ConfigNames("published");
  (*words)[kPaperValue] = ConfigNames("papers");
  const Words& suites = (*words)[kSuiteValue] = ConfigNames("suites");
  (*words)[kMetricValue] = MetricRegistry::Get().Names();
  (*words)[kDataValue] = tasks;
  Words& plug_ins = (*words)[kPlugInValue] = tasks;
  Append(attentions, &plug_ins);
  Append(ConfigNames("blocks"), &plug_ins);
  Words& names = (*words)[kNameValue] = plug_ins;
  Append(ConfigNames("presets"), &names);
  Append(ConfigNames("protocols"), &names);
  Append(suites, &names);
}

ValueWords KnownWords() {
  ValueWords words;
  AddNames(&words);
  const PluginWords nested = AllOptions("attention.options", "block.options");
  const PluginWords plain = AllOptions("", "");
  Words& fields = words[kFieldValue] = Assignments(SettableFields(ExperimentConfig::descriptor()));
  Append(nested.attentions, &fields);
  Append(nested.blocks, &fields);
  words[kViewFieldValue] = Assignments(SettableFields(DataView::descriptor()));
  Words& options = words[kOptionValue] = words[kTaskOptionValue] = plain.tasks;
  Append(plain.attentions, &options);
  Append(plain.blocks, &options);
  for (auto& [value, list] : words) list = Merged(list);
  return words;
}

absl::Status PrintScript(const std::string& shell, const CommandFacts& program) {
  const ValueWords words = KnownWords();
  if (shell == "bash") {
    std::cout << BashCompletion(program, words);
  } else if (shell == "zsh") {
    std::cout << ZshCompletion(program, words);
  } else if (shell == "fish") {
    std::cout << FishCompletion(program, words);
  } else {
    return UnknownNameError("shell", shell, {"bash", "fish", "zsh"});
  }
  return absl::OkStatus();
}

}  // namespace

void AddCompletionCommand(CLI::App* app, CommandContext* context) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command = AddCommand(
      app, "completion", "Print a script that completes commands, flags and values in a shell");
  AddOption(command, "shell", shell.get(), "bash, zsh or fish",
            {.is_required = true, .value = "bash|zsh|fish"});
  SetBody(
      command, context,
      "  source <(lra completion bash)     # in ~/.bashrc; in ~/.zshrc, after compinit, with zsh\n"
      "  lra completion fish | source      # in ~/.config/fish/config.fish",
      [shell, app] { return PrintScript(*shell, DescribeCommands(*app)); });
}

}  // namespace lra
