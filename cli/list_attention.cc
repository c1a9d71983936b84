#include "cli/list_attention.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/experiment_flags.h"
#include "lra/config.h"
#include "lra/option_facts.h"
#include "lra/progress.h"
#include "lra/reflection.h"
#include "lra/status_macros.h"
#include "models/attention_facts.h"
#include "models/parameter_count.h"
#include "tasks/task.h"

namespace lra {
namespace {

using Json = nlohmann::ordered_json;

absl::StatusOr<ExperimentConfig> Resolve(const std::string& attention, const ListedModel& model) {
  ExperimentFlags flags;
  flags.task = model.task;
  flags.preset = model.preset;
  flags.attention = attention;
  LRA_ASSIGN_OR_RETURN(ResolvedConfig resolved, flags.Resolve());
  return std::move(resolved.config);
}

absl::StatusOr<int64_t> CountListed(const std::string& attention, const ListedModel& model) {
  LRA_ASSIGN_OR_RETURN(const ExperimentConfig config, Resolve(attention, model));
  LRA_ASSIGN_OR_RETURN(const TaskFile file, LoadTaskFile(model.task));
  LRA_ASSIGN_OR_RETURN(const std::unique_ptr<Task> task,
                       TaskRegistry::Get().Create("task", model.task, file.options()));
  return CountParameters(config, task->Spec());
}

AttentionSizes SizesOf(const ExperimentConfig& config) {
  const ModelConfig& model = config.model();
  return {model.heads(), model.qkv_width() / model.heads(), model.width(),
          config.view().max_length_tokens() + (model.pooling() == ModelConfig::CLS ? 1 : 0)};
}

std::string JoinNumbers(const Json& numbers) {
  return absl::StrCat("[", absl::StrJoin(numbers.get<std::vector<int64_t>>(), ", "), "]");
}

void PrintLine(absl::string_view key, absl::string_view value, size_t width) {
  std::cout << absl::StrFormat("  %-*s  %s\n", static_cast<int>(width), key, value);
}

size_t LongestKey(const Json& object) {
  size_t width = 0;
  for (const auto& [key, value] : object.items()) width = std::max(width, key.size());
  return width;
}

}  // namespace

absl::StatusOr<Json> AttentionJson(const std::string& name, const ListedModel& model) {
  LRA_ASSIGN_OR_RETURN(const AttentionFile file, LoadAttentionFile(name));
  LRA_ASSIGN_OR_RETURN(const ExperimentConfig config, Resolve(name, model));
  const AttentionSizes sizes = SizesOf(config);
  LRA_ASSIGN_OR_RETURN(const AttentionFacts facts,
                       DescribeAttention(name, config.attention().options(), sizes));
  Json json = {{"name", name},
               {"label", facts.traits.label},
               {"description", file.description()},
               {"source", facts.traits.source},
               {"time", facts.traits.time_order},
               {"memory", facts.traits.memory_order}};
  for (const auto& [trait, words] : TraitsInWords(facts.traits)) json["traits"][trait] = words;
  json["options"] = Json::object();
  const std::unique_ptr<google::protobuf::Message> options =
      UnpackAny(config.attention().options());
  if (options != nullptr) {
    for (const OptionFact& option : DescribeOptions(*options)) {
      json["options"]["attention.options." + option.name] = {{"default", option.value},
                                                             {"allowed", option.allowed}};
    }
  }
  json["sizes"] = {{"task", model.task},     {"preset", model.preset},
                   {"H", sizes.heads},       {"D", sizes.head_width},
                   {"E", sizes.model_width}, {"L", sizes.max_length_tokens}};
  json["owns"] = Json::array();
  for (const OwnedTensor& owned : facts.owned) {
    json["owns"].push_back({{"name", owned.name},
                            {"shape", owned.shape},
                            {"letters", owned.letters},
                            {"trained", owned.is_trained}});
  }
  return json;
}

void PrintAttention(const Json& attention) {
  for (const char* key : {"name", "label", "description", "source"})
    std::cout << absl::StrFormat("%-11s  %s\n", key, attention[key].get<std::string>());
  std::cout << "traits\n";
  for (const auto& [trait, words] : attention["traits"].items())
    PrintLine(trait, words.get<std::string>(), LongestKey(attention["traits"]));
  if (!attention["options"].empty()) std::cout << "options\n";
  for (const auto& [name, option] : attention["options"].items()) {
    const std::string value = option["default"].get<std::string>();
    PrintLine(name,
              absl::StrFormat("%-12s (%s)", value.empty() ? "unset" : value,
                              option["allowed"].get<std::string>()),
              LongestKey(attention["options"]));
  }
  const Json& sizes = attention["sizes"];
  std::cout << absl::StrFormat(
      "owns, in each layer (at %s, preset %s: H = %d heads, D = %d head width, E = %d model width, "
      "L = %d longest sequence)\n",
      sizes["task"].get<std::string>(), sizes["preset"].get<std::string>(),
      sizes["H"].get<int64_t>(), sizes["D"].get<int64_t>(), sizes["E"].get<int64_t>(),
      sizes["L"].get<int64_t>());
  for (const Json& owned : attention["owns"]) {
    std::cout << absl::StrFormat("  %-24s %-16s = %-20s %s\n", owned["name"].get<std::string>(),
                                 owned["letters"].get<std::string>(), JoinNumbers(owned["shape"]),
                                 owned["trained"].get<bool>() ? "trained" : "drawn and saved");
  }
  if (attention["owns"].empty()) std::cout << "  nothing\n";
}

absl::StatusOr<Json> ParametersJson(const std::vector<std::string>& names,
                                    const ListedModel& model) {
  LRA_ASSIGN_OR_RETURN(const int64_t reference, CountListed(kReferenceAttention, model));
  Json counts = Json::object();
  for (const std::string& name : names) {
    const absl::StatusOr<int64_t> count = CountListed(name, model);
    if (!count.ok() && names.size() == 1) return count.status();
    if (!count.ok()) {  // sizes that one method refuses are no reason to hide the others
      counts[name] = {{"error", std::string(count.status().message())}};
      continue;
    }
    const double percent =
        100.0 * static_cast<double>(*count - reference) / static_cast<double>(reference);
    counts[name] = {{"parameters", *count},
                    {"difference", *count - reference},
                    {"difference_percent", percent},
                    {"is_larger", percent > kLargerPercent}};
  }
  return counts;
}

void PrintParameters(const Json& counts, const ListedModel& model) {
  std::cout << absl::StrFormat(
      "trained parameters of the whole model at %s, preset %s; difference to %s at equal sizes\n",
      model.task, model.preset, kReferenceAttention);
  const size_t width = LongestKey(counts);
  for (const auto& [name, count] : counts.items()) {
    if (count.contains("error")) {
      PrintLine(name, count["error"].get<std::string>(), width);
      continue;
    }
    const int64_t difference = count["difference"].get<int64_t>();
    PrintLine(
        name,
        absl::StrFormat("%12s  %12s  %+8.2f %%%s", FormatCount(count["parameters"].get<int64_t>()),
                        absl::StrCat(difference < 0 ? "-" : "+", FormatCount(std::abs(difference))),
                        count["difference_percent"].get<double>(),
                        count["is_larger"].get<bool>() ? "  above +10 %" : ""),
        width);
  }
}

}  // namespace lra
