#include "cli/list_attention.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "lra/progress.h"
#include "lra/status_macros.h"
#include "lra/text_columns.h"
#include "models/listing.h"
#include "nlohmann/json.hpp"

namespace lra {
namespace {

using Json = nlohmann::ordered_json;

std::string JoinNumbers(const Json& numbers) {
  return absl::StrCat("[", absl::StrJoin(numbers.get<std::vector<int64_t>>(), ", "), "]");
}

void PrintLine(absl::string_view key, absl::string_view value, size_t width) {
  std::cout << "  " << PadRight(key, width) << "  " << value << "\n";
}

size_t LongestKey(const Json& object) {
  size_t width = 0;
  for (const auto& [key, value] : object.items()) width = std::max(width, CountCharacters(key));
  return width;
}

}  // namespace

absl::StatusOr<Json> AttentionJson(const std::string& name, ExperimentChoice model) {
  model.attention = name;
  LRA_ASSIGN_OR_RETURN(const ListedAttention listed, ListAttention(model));
  const Traits& traits = listed.facts.traits;
  Json json = {{"name", name},
               {"label", traits.label},
               {"description", listed.description},
               {"source", traits.source},
               {"time", traits.time_order},
               {"memory", traits.memory_order}};
  for (const auto& [trait, words] : TraitsInWords(traits)) json["traits"][trait] = words;
  json["options"] = Json::object();
  for (const OptionFact& option : listed.options) {
    json["options"]["attention.options." + option.name] = {{"default", option.value},
                                                           {"allowed", option.allowed}};
  }
  const AttentionSizes& sizes = listed.sizes;
  json["sizes"] = {{"task", model.task},     {"preset", model.preset},
                   {"H", sizes.heads},       {"D", sizes.head_width},
                   {"E", sizes.model_width}, {"L", sizes.max_length_tokens}};
  json["owns"] = Json::array();
  for (const OwnedTensor& owned : listed.facts.owned) {
    json["owns"].push_back({{"name", owned.name},
                            {"shape", owned.shape},
                            {"letters", owned.letters},
                            {"trained", owned.is_trained}});
  }
  return json;
}

void PrintAttention(const Json& attention) {
  for (const char* key : {"name", "label", "description", "source"})
    std::cout << PadRight(key, 11) << "  " << attention[key].get<std::string>() << "\n";
  std::cout << "traits\n";
  for (const auto& [trait, words] : attention["traits"].items())
    PrintLine(trait, words.get<std::string>(), LongestKey(attention["traits"]));
  if (!attention["options"].empty()) std::cout << "options\n";
  for (const auto& [name, option] : attention["options"].items()) {
    const std::string value = option["default"].get<std::string>();
    PrintLine(name,
              absl::StrCat(PadRight(value.empty() ? "unset" : value, 12), " (",
                           option["allowed"].get<std::string>(), ")"),
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
    std::cout << "  " << PadRight(owned["name"].get<std::string>(), 24) << " "
              << PadRight(owned["letters"].get<std::string>(), 16) << " = "
              << PadRight(JoinNumbers(owned["shape"]), 20) << " "
              << (owned["trained"].get<bool>() ? "trained" : "drawn and saved") << "\n";
  }
  if (attention["owns"].empty()) std::cout << "  nothing\n";
}

absl::StatusOr<Json> ParametersJson(const std::vector<std::string>& names,
                                    const ExperimentChoice& model, const TaskSpec& spec) {
  LRA_ASSIGN_OR_RETURN(const std::vector<ListedModel> models, ListModels(names, model, spec));
  Json counts = Json::object();
  for (const ListedModel& listed : models) {
    if (!listed.parameters.ok()) {
      counts[listed.attention] = {{"error", std::string(listed.parameters.status().message())}};
      continue;
    }
    counts[listed.attention] = {{"parameters", listed.parameters->parameters},
                                {"difference", listed.parameters->difference},
                                {"difference_percent", listed.parameters->percent},
                                {"is_larger", listed.parameters->is_larger}};
  }
  return counts;
}

void PrintParameters(const Json& counts, const ExperimentChoice& model) {
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
        absl::StrCat(
            PadLeft(FormatCount(count["parameters"].get<int64_t>()), 12), "  ",
            PadLeft(absl::StrCat(difference < 0 ? "-" : "+", FormatCount(std::abs(difference))),
                    12),
            absl::StrFormat("  %+8.2f %%", count["difference_percent"].get<double>()),
            count["is_larger"].get<bool>() ? "  above +10 %" : ""),
        width);
  }
}

}  // namespace lra
