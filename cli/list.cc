// lra list: what there is, from the configs and the registries.
#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/list_attention.h"
#include "cli/list_block.h"
#include "lra/config.h"
#include "lra/experiment.h"
#include "lra/json_text.h"
#include "lra/progress.h"
#include "lra/protocol_page.h"
#include "lra/status_macros.h"
#include "lra/suggest.h"
#include "lra/task_files.h"
#include "lra/text_columns.h"
#include "nlohmann/json.hpp"
#include "suite/cells.h"
#include "suite/suite_file.h"
#include "tasks/task_facts.h"

namespace lra {
namespace {

using Json = nlohmann::ordered_json;

struct ListFlags {
  std::string kind, name;
  bool params = false;
  bool markdown = false;
  // Whose sizes attentions are shown at.
  ExperimentChoice model = {.task = "listops", .preset = kDefaultPreset};
};

const std::vector<std::string>& Kinds() {
  static const auto* const kinds = new std::vector<std::string>{"tasks",   "attentions", "blocks",
                                                                "presets", "protocols",  "suites"};
  return *kinds;
}

Json ToJson(const std::vector<std::pair<std::string, std::string>>& leaves) {
  Json fields = Json::object();
  for (const auto& [path, value] : leaves) fields[path] = value;
  return fields;
}

// --- One line each ---

// The key of an item in the place of its description.
constexpr char kListError[] = "error";

absl::StatusOr<std::string> DescriptionOf(const std::string& kind, const std::string& name) {
  if (kind != "suites") return ConfigDescription(kind, name);
  LRA_ASSIGN_OR_RETURN(const SuiteFile suite, LoadSuite(name));
  return suite.description();
}

// A file that cannot be read, such as that of a plug-in that the program lacks, is no reason to
// hide the others: what is wrong with it is its line.
Json ListKind(const std::string& kind) {
  Json items = Json::array();
  for (const std::string& name : kind == "tasks" ? TasksInOrder() : ConfigNames(kind)) {
    const absl::StatusOr<std::string> description = DescriptionOf(kind, name);
    if (description.ok()) {
      items.push_back({{"name", name}, {"description", *description}});
    } else {
      items.push_back({{"name", name}, {kListError, std::string(description.status().message())}});
    }
  }
  return items;
}

// --- One in full ---

absl::StatusOr<Json> TaskJson(const std::string& name) {
  LRA_ASSIGN_OR_RETURN(const TaskFacts facts, DescribeTask(name));
  const TaskSpec& spec = facts.spec;
  Json result = {{"name", name},
                 {"description", facts.description},
                 {"version", facts.version},
                 {"stores", absl::AsciiStrToLower(TaskSpec::Content_Name(spec.content()))},
                 {"pairs", spec.is_pair()},
                 {"vocabulary_size", spec.vocabulary_size()},
                 {"classes", spec.classes()},
                 {"max_length_tokens", spec.max_length_tokens()}};
  if (facts.block_examples > 1) result["block_examples"] = facts.block_examples;
  for (const SplitSize& split : facts.generated)
    result["generated_examples"][split.name] = split.examples;
  if (!facts.generated.empty()) result["canonical_seed"] = facts.canonical_seed;
  if (!facts.imported_from.empty()) result["imported_from"] = facts.imported_from;
  result["oracle_of_generated_data"] = facts.has_oracle_of_generated;
  result["oracle_of_imported_data"] = facts.has_oracle_of_imported;
  for (const BaselineFacts& baseline : facts.baselines)
    result["baselines"][baseline.name] = baseline.description;
  if (!facts.options.empty()) result["options"] = ToJson(facts.options);
  return result;
}

absl::StatusOr<Json> DescribeFragment(const std::string& kind, const std::string& name) {
  LRA_ASSIGN_OR_RETURN(const ConfigFragment file, LoadFragmentForAllTasks(kind, name));
  Json result = {{"name", name}, {"version", file.version()}, {"description", file.description()}};
  result["every task"] = ToJson(LeafFields(file.base()));
  for (const std::string& task : TasksInOrder()) {
    const auto part = file.task().find(task);
    if (part != file.task().end()) result[task] = ToJson(LeafFields(part->second));
  }
  return result;
}

void AddOnce(const std::string& word, std::vector<std::string>* words) {
  if (std::find(words->begin(), words->end(), word) == words->end()) words->push_back(word);
}

absl::StatusOr<Json> SuiteJson(const std::string& name) {
  LRA_ASSIGN_OR_RETURN(const SuiteFile suite, LoadSuite(name));
  LRA_ASSIGN_OR_RETURN(const std::vector<SuiteCell> cells, ExpandSuite(suite));
  std::vector<std::string> tasks, methods;
  for (const SuiteCell& cell : cells) {
    AddOnce(cell.config.task(), &tasks);
    AddOnce(MethodOf(cell.config), &methods);
  }
  Json result = {{"name", name}, {"description", suite.description()}};
  result["tasks"] = tasks;
  result["methods"] = methods;
  result["runs"] = cells.size();
  result["file"] = ConfigPath("suites", "suite", name).value_or(name);
  return result;
}

absl::StatusOr<Json> Describe(const ListFlags& flags) {
  if (flags.kind == "tasks") return TaskJson(flags.name);
  if (flags.kind == "attentions") return AttentionJson(flags.name, flags.model);
  if (flags.kind == "blocks") return BlockJson(flags.name, flags.model);
  if (flags.kind == "suites") return SuiteJson(flags.name);
  return DescribeFragment(flags.kind, flags.name);
}

// --- Printing ---

std::string Text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_number_integer()) return FormatCount(value.get<int64_t>());
  if (value.is_array()) return absl::StrJoin(value.get<std::vector<std::string>>(), ", ");
  return JsonText(value, -1);
}

// "key  value" lines with aligned values; an object inside is a heading with its own lines.
void PrintObject(const Json& object, int indent) {
  size_t width = 0;
  for (const auto& [key, value] : object.items()) {
    if (!value.is_object()) width = std::max(width, CountCharacters(key));
  }
  for (const auto& [key, value] : object.items()) {
    const std::string margin(indent, ' ');
    if (!value.is_object()) {
      std::cout << margin << PadRight(key, width) << "  " << Text(value) << "\n";
    } else if (!value.empty()) {
      std::cout << margin << key << "\n";
      PrintObject(value, indent + 2);
    }
  }
}

void PrintItems(const Json& items) {
  // The first column is the margin.
  std::vector<std::vector<std::string>> lines;
  for (const Json& item : items) {
    lines.push_back({"", Text(item["name"]),
                     item.contains(kListError) ? absl::StrCat("error: ", Text(item[kListError]))
                                               : Text(item["description"])});
  }
  std::cout << AlignedText(lines);
  if (items.empty()) std::cout << "  (none)\n";
}

absl::Status CheckKind(const std::string& kind) {
  for (const std::string& known : Kinds()) {
    if (kind == known) return absl::OkStatus();
  }
  return UnknownNameError("kind", kind, Kinds());
}

absl::Status ListParameters(const ListFlags& flags, bool json) {
  if (!flags.kind.empty() && flags.kind != "attentions") {
    return absl::InvalidArgumentError(
        absl::StrCat("--params counts the models of attentions, not of ", flags.kind));
  }
  std::vector<std::string> names = ConfigNames("attentions");
  if (!flags.name.empty()) names = {flags.name};
  LRA_ASSIGN_OR_RETURN(const std::unique_ptr<Task> task, MakeTask(flags.model.task));
  LRA_ASSIGN_OR_RETURN(const Json counts, ParametersJson(names, flags.model, task->Spec()));
  json ? PrintJson(counts) : PrintParameters(counts, flags.model);
  return absl::OkStatus();
}

absl::Status PrintPage(const ListFlags& flags) {
  if (flags.kind != "protocols" || !flags.name.empty()) {
    return absl::InvalidArgumentError("--markdown makes the page of: lra list protocols");
  }
  LRA_ASSIGN_OR_RETURN(const std::string page, ProtocolPage());
  std::cout << page;
  return absl::OkStatus();
}

// Everything, or everything of a kind; an error at the end where a file could not be read.
absl::Status ListAll(const std::string& chosen, bool json) {
  Json all;
  int bad = 0;
  for (const std::string& kind : Kinds()) {
    if (!chosen.empty() && kind != chosen) continue;
    all[kind] = ListKind(kind);
    for (const Json& item : all[kind]) bad += item.contains(kListError) ? 1 : 0;
  }
  if (json) {
    PrintJson(all);
  } else {
    for (const auto& [kind, items] : all.items()) {
      std::cout << kind << "\n";
      PrintItems(items);
    }
  }
  if (bad == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(bad, bad == 1 ? " file" : " files",
                                                 " cannot be read; the list says what is wrong"));
}

absl::Status List(const ListFlags& flags, bool json) {
  if (!flags.kind.empty()) LRA_RETURN_IF_ERROR(CheckKind(flags.kind));
  // A program without its configurations.
  if (ConfigNames("protocols").empty())
    return ConfigPath("protocols", "protocol", kDefaultProtocol).status();
  if (flags.params) return ListParameters(flags, json);
  if (flags.markdown) return PrintPage(flags);
  if (!flags.name.empty()) {
    LRA_ASSIGN_OR_RETURN(const Json result, Describe(flags));
    if (json) {
      PrintJson(result);
    } else {
      flags.kind == "attentions" ? PrintAttention(result) : PrintObject(result, 0);
    }
    return absl::OkStatus();
  }
  return ListAll(flags.kind, json);
}

}  // namespace

void AddListCommand(CLI::App* app, CommandContext* context) {
  auto flags = std::make_shared<ListFlags>();
  CLI::App* command = AddCommand(
      app, "list", "What there is: tasks, attentions, blocks, presets, protocols, suites");
  AddOption(command, "KIND", &flags->kind,
            "tasks, attentions, blocks, presets, protocols or suites",
            {.value = "tasks|attentions|blocks|presets|protocols|suites"});
  AddOption(command, "NAME", &flags->name, "Show this one in full", {.value = kNameValue});
  AddSwitch(command, "--params", &flags->params,
            "Count the parameters of each attention's model, and compare them with the "
            "transformer's");
  AddSwitch(command, "--markdown", &flags->markdown, "Protocols as the page docs/protocols.md");
  AddOption(command, "--task", &flags->model.task, "Task of the models whose sizes are shown",
            {.shows_default = true, .value = kTaskValue});
  AddOption(command, "--preset", &flags->model.preset, "Sizes of these models",
            {.shows_default = true, .value = kPresetValue});
  AddSets(command, &flags->model.sets,
          "A field of these models, e.g. block.name=mixer; may be repeated");
  SetBody(command, context,
          "  lra list attentions --params\n"
          "  lra list attentions cosformer\n"
          "  lra list attentions --params --set block.name=mixer\n"
          "  lra list blocks gated_attention\n"
          "  lra list suites\n"
          "  lra list suites listops_smoke",
          [flags, context] { return List(*flags, context->json); });
}

}  // namespace lra
