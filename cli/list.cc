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
#include "lra/config.h"
#include "lra/progress.h"
#include "lra/reflection.h"
#include "lra/status_macros.h"
#include "lra/suggest.h"
#include "models/attention/attention.h"
#include "models/classifier.h"
#include "models/torch_status.h"
#include "nlohmann/json.hpp"
#include "tasks/task.h"

namespace lra {
namespace {

using Json = nlohmann::ordered_json;

struct ListFlags {
  std::string kind, name;
  bool params = false;
  std::string task = "listops", preset = ExperimentFlags::kDefaultPreset;
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

absl::StatusOr<int64_t> CountParameters(const ListFlags& flags, const std::string& attention) {
  ExperimentFlags experiment;
  experiment.task = flags.task;
  experiment.attention = attention;
  experiment.preset = flags.preset;
  LRA_ASSIGN_OR_RETURN(const ResolvedConfig resolved, experiment.Resolve());
  LRA_ASSIGN_OR_RETURN(const TaskFile file, LoadTaskFile(flags.task));
  LRA_ASSIGN_OR_RETURN(const std::unique_ptr<Task> task, OpenTask(flags.task, file));
  int64_t count = 0;
  LRA_RETURN_IF_ERROR(CatchTorch([&]() -> absl::Status {
    LRA_ASSIGN_OR_RETURN(const std::unique_ptr<Classifier> model,
                         Classifier::Create(resolved.config, task->Spec()));
    count = model->parameters().count();
    return absl::OkStatus();
  }));
  return count;
}

absl::StatusOr<Json> ListKind(const ListFlags& flags, const std::string& kind) {
  Json items = Json::array();
  for (const std::string& name : ConfigNames(kind)) {
    LRA_ASSIGN_OR_RETURN(const std::string description, Description(kind, name));
    Json item = {{"name", name}, {"description", description}};
    if (flags.params && kind == "attentions") {
      LRA_ASSIGN_OR_RETURN(item["parameters"], CountParameters(flags, name));
    }
    items.push_back(std::move(item));
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

// Traits do not depend on sizes: any small ones will do to make an instance.
absl::StatusOr<Traits> TraitsOf(const std::string& name, const AttentionConfig& config) {
  ParameterStore parameters(0);
  AttentionContext context;
  context.heads = 2;
  context.head_width = 4;
  context.max_length_tokens = 16;
  context.parameters = &parameters;
  context.scope = "list";
  context.options = config.options();
  Traits traits;
  LRA_RETURN_IF_ERROR(CatchTorch([&]() -> absl::Status {
    LRA_ASSIGN_OR_RETURN(const std::unique_ptr<Attention> attention,
                         AttentionRegistry::Get().Create("attention", name, context));
    traits = attention->traits();
    return absl::OkStatus();
  }));
  return traits;
}

absl::StatusOr<Json> DescribeAttention(const ListFlags& flags) {
  LRA_ASSIGN_OR_RETURN(const AttentionFile file, LoadAttentionFile(flags.name));
  LRA_ASSIGN_OR_RETURN(const Traits traits, TraitsOf(flags.name, file.attention()));
  Json result = {
      {"name", flags.name},      {"label", traits.label},     {"description", file.description()},
      {"source", traits.source}, {"time", traits.time_order}, {"memory", traits.memory_order}};
  result["traits"] = {{"exact_softmax", traits.is_exact_softmax},
                      {"row_stochastic", traits.is_row_stochastic},
                      {"permutation_invariant", traits.is_permutation_invariant},
                      {"padding_invariant", traits.is_padding_invariant},
                      {"cross", traits.supports_cross},
                      {"weight_dropout", traits.supports_weight_dropout}};
  // With the paths that --set takes.
  ExperimentConfig config;
  *config.mutable_attention() = file.attention();
  result["options"] = Leaves(config);
  if (flags.params) {
    LRA_ASSIGN_OR_RETURN(result["parameters"], CountParameters(flags, flags.name));
  }
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
  if (flags.kind == "attentions") return DescribeAttention(flags);
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
    if (item.contains("parameters")) {
      std::cout << absl::StrFormat("%12s  ", Text(item["parameters"]));
    }
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

absl::Status List(const ListFlags& flags, bool json) {
  if (!flags.kind.empty()) LRA_RETURN_IF_ERROR(CheckKind(flags.kind));
  if (!flags.name.empty()) {
    LRA_ASSIGN_OR_RETURN(const Json result, Describe(flags));
    json ? void(std::cout << result.dump(2) << "\n") : PrintObject(result, 0);
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
    std::cout << kind;
    if (flags.params && kind == "attentions") {
      std::cout << absl::StrFormat(" (parameters at %s, preset %s)", flags.task, flags.preset);
    }
    std::cout << "\n";
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
  command->add_flag("--params", flags->params, "Count the parameters of each attention's model");
  command->add_option("--task", flags->task, "Task of the counted models")->capture_default_str();
  command->add_option("--preset", flags->preset, "Sizes of the counted models")
      ->capture_default_str();
  AddCommonFlags(command, context,
                 "  lra list attentions --params\n"
                 "  lra list attentions cosformer");
  command->callback(RunCommand(context, [flags, context] { return List(*flags, context->json); }));
}

}  // namespace lra
