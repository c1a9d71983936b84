// lra list: what there is, from the configs and the registries.
#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/command.h"
#include "cli/experiment_flags.h"
#include "cli/list_attention.h"
#include "cli/protocol_page.h"
#include "lra/config.h"
#include "lra/progress.h"
#include "lra/reflection.h"
#include "lra/status_macros.h"
#include "lra/suggest.h"
#include "nlohmann/json.hpp"
#include "tasks/task.h"

namespace lra {
namespace {

using Json = nlohmann::ordered_json;

struct ListFlags {
  std::string kind, name;
  bool params = false;
  bool markdown = false;
  ListedModel model = {"listops", ExperimentFlags::kDefaultPreset};
};

const std::vector<std::string>& Kinds() {
  static const auto* const kinds =
      new std::vector<std::string>{"tasks", "attentions", "presets", "protocols", "suites"};
  return *kinds;
}

Json Leaves(const google::protobuf::Message& message) {
  Json fields = Json::object();
  for (const auto& [path, value] : LeafFields(message)) fields[path] = value;
  return fields;
}

absl::StatusOr<std::unique_ptr<Task>> OpenTask(const std::string& name, const TaskFile& file) {
  return TaskRegistry::Get().Create("task", name, file.options());
}

// --- One line each ---

absl::StatusOr<std::string> Description(const std::string& kind, const std::string& name) {
  if (kind == "tasks") {
    LRA_ASSIGN_OR_RETURN(const TaskFile file, LoadTaskFile(name));
    return file.description();
  }
  if (kind == "attentions") {
    LRA_ASSIGN_OR_RETURN(const AttentionFile file, LoadAttentionFile(name));
    return file.description();
  }
  if (kind == "suites") return "";
  LRA_ASSIGN_OR_RETURN(const ConfigFragment file, LoadFragment(kind, name));
  return file.description();
}

absl::StatusOr<Json> ListKind(const ListFlags& flags, const std::string& kind) {
  Json items = Json::array();
  for (const std::string& name : ConfigNames(kind)) {
    LRA_ASSIGN_OR_RETURN(const std::string description, Description(kind, name));
    items.push_back({{"name", name}, {"description", description}});
  }
  return items;
}

// --- One in full ---

absl::StatusOr<Json> DescribeTask(const std::string& name) {
  LRA_ASSIGN_OR_RETURN(const TaskFile file, LoadTaskFile(name));
  LRA_ASSIGN_OR_RETURN(const std::unique_ptr<Task> task, OpenTask(name, file));
  const TaskSpec spec = task->Spec();
  Json result = {{"name", name},
                 {"description", file.description()},
                 {"version", file.version()},
                 {"stores", absl::AsciiStrToLower(TaskSpec::Content_Name(spec.content()))},
                 {"pairs", spec.is_pair()},
                 {"vocabulary_size", spec.vocabulary_size()},
                 {"classes", spec.classes()},
                 {"max_length_tokens", spec.max_length_tokens()}};
  if (task->CanGenerate()) {
    for (const SplitSize& split : task->Splits()) {
      result["generated_examples"][split.name] = split.examples;
    }
    result["canonical_seed"] = file.canonical_seed();
  }
  if (!task->RawDescription().empty()) result["imported_from"] = task->RawDescription();
  result["oracle_of_generated_data"] = task->HasOracle("generated");
  result["oracle_of_imported_data"] = task->HasOracle("imported");
  if (const auto shortcut = task->ShortcutInfo()) result["shortcut"] = shortcut->description;
  // With the names that the --set of `data prepare` takes.
  const std::unique_ptr<google::protobuf::Message> options = UnpackAny(file.options());
  if (options != nullptr) result["options"] = Leaves(*options);
  return result;
}

absl::StatusOr<Json> DescribeFragment(const std::string& kind, const std::string& name) {
  LRA_ASSIGN_OR_RETURN(const ConfigFragment file, LoadFragment(kind, name));
  Json result = {{"name", name}, {"version", file.version()}, {"description", file.description()}};
  result["every task"] = Leaves(file.base());
  const std::map<std::string, ExperimentConfig> parts(file.task().begin(), file.task().end());
  for (const auto& [task, part] : parts) result[task] = Leaves(part);
  return result;
}

absl::StatusOr<Json> Describe(const ListFlags& flags) {
  if (flags.kind == "tasks") return DescribeTask(flags.name);
  if (flags.kind == "attentions") return AttentionJson(flags.name, flags.model);
  if (flags.kind == "suites") return UnknownNameError("suite", flags.name, ConfigNames("suites"));
  return DescribeFragment(flags.kind, flags.name);
}

// --- Printing ---

std::string Text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_number_integer()) return FormatCount(value.get<int64_t>());
  return value.dump();
}

// "key  value" lines with aligned values; an object inside is a heading with its own lines.
void PrintObject(const Json& object, int indent) {
  size_t width = 0;
  for (const auto& [key, value] : object.items()) {
    if (!value.is_object()) width = std::max(width, key.size());
  }
  for (const auto& [key, value] : object.items()) {
    const std::string margin(indent, ' ');
    if (!value.is_object()) {
      std::cout << absl::StrFormat("%s%-*s  %s\n", margin, static_cast<int>(width), key,
                                   Text(value));
    } else if (!value.empty()) {
      std::cout << margin << key << "\n";
      PrintObject(value, indent + 2);
    }
  }
}

void PrintItems(const Json& items) {
  size_t width = 0;
  for (const Json& item : items) width = std::max(width, Text(item["name"]).size());
  for (const Json& item : items) {
    std::cout << absl::StrFormat("  %-*s  ", static_cast<int>(width), Text(item["name"]));
    std::cout << Text(item["description"]) << "\n";
  }
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
  LRA_ASSIGN_OR_RETURN(const Json counts, ParametersJson(names, flags.model));
  json ? void(std::cout << counts.dump(2) << "\n") : PrintParameters(counts, flags.model);
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

absl::Status List(const ListFlags& flags, bool json) {
  if (!flags.kind.empty()) LRA_RETURN_IF_ERROR(CheckKind(flags.kind));
  if (flags.params) return ListParameters(flags, json);
  if (flags.markdown) return PrintPage(flags);
  if (!flags.name.empty()) {
    LRA_ASSIGN_OR_RETURN(const Json result, Describe(flags));
    if (json) {
      std::cout << result.dump(2) << "\n";
    } else {
      flags.kind == "attentions" ? PrintAttention(result) : PrintObject(result, 0);
    }
    return absl::OkStatus();
  }
  Json all;
  for (const std::string& kind : Kinds()) {
    if (!flags.kind.empty() && kind != flags.kind) continue;
    LRA_ASSIGN_OR_RETURN(all[kind], ListKind(flags, kind));
  }
  if (json) {
    std::cout << all.dump(2) << "\n";
    return absl::OkStatus();
  }
  for (const auto& [kind, items] : all.items()) {
    std::cout << kind << "\n";
    PrintItems(items);
  }
  return absl::OkStatus();
}

}  // namespace

void AddListCommand(CLI::App* app, CommandContext* context) {
  auto flags = std::make_shared<ListFlags>();
  CLI::App* command =
      app->add_subcommand("list", "What there is: tasks, attentions, presets, protocols, suites");
  command->add_option("KIND", flags->kind, "tasks, attentions, presets, protocols or suites");
  command->add_option("NAME", flags->name, "Show this one in full");
  command->add_flag("--params", flags->params,
                    "Count the parameters of each attention's model, and compare them with the "
                    "transformer's");
  command->add_flag("--markdown", flags->markdown, "Protocols as the page docs/protocols.md");
  command->add_option("--task", flags->model.task, "Task of the models that sizes are of")
      ->capture_default_str();
  command->add_option("--preset", flags->model.preset, "Sizes of these models")
      ->capture_default_str();
  AddCommonFlags(command, context,
                 "  lra list attentions --params\n"
                 "  lra list attentions cosformer");
  command->callback(RunCommand(context, [flags, context] { return List(*flags, context->json); }));
}

}  // namespace lra
