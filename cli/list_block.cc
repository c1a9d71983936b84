#include "cli/list_block.h"

#include "absl/strings/str_cat.h"
#include "lra/progress.h"
#include "lra/status_macros.h"
#include "models/listing.h"
#include "nlohmann/json.hpp"

namespace lra {

using Json = nlohmann::ordered_json;

absl::StatusOr<Json> BlockJson(const std::string& name, const ExperimentChoice& model) {
  LRA_ASSIGN_OR_RETURN(const ListedBlock listed, ListBlock(name, model));
  const BlockTraits& traits = listed.facts.traits;
  Json json = {{"name", name},
               {"label", traits.label},
               {"description", listed.description},
               {"source", traits.source}};
  for (const auto& [trait, words] : TraitsInWords(traits)) json["traits"][trait] = words;
  for (const OptionFact& option : listed.options) {
    json["options"]["block.options." + option.name] =
        absl::StrCat(option.value, " (", option.allowed, ")");
  }
  Json& layer = json[absl::StrCat("a layer at ", model.task, ", preset ", model.preset)];
  layer = {{"attention inside", listed.facts.attention},
           {"parameters", listed.facts.parameters},
           {"parameters of the attention", listed.facts.parameters_of_attention}};
  layer["activations of a batch"] = FormatBytes(listed.facts.activation_bytes);
  return json;
}

}  // namespace lra
