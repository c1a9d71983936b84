#include "cli/data_show.h"

#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/data_output.h"
#include "cli/flags.h"
#include "lra/excerpt.h"
#include "lra/progress.h"
#include "lra/status_macros.h"
#include "nlohmann/json.hpp"
#include "tasks/inventory.h"

namespace lra {
namespace {

struct ShowFlags {
  std::string data, split, png;
  int64_t count = 5;
};

nlohmann::ordered_json ExampleJson(const ShownExample& example) {
  nlohmann::ordered_json json = {{"split", example.split},
                                 {"index", example.index},
                                 {"length_tokens", example.length_tokens},
                                 {"source", example.source}};
  if (example.label) json["label"] = *example.label;
  if (!example.class_name.empty()) json["class_name"] = example.class_name;
  return json;
}

std::string ExampleText(const ShownExample& example) {
  return absl::StrCat(
      example.split, "[", example.index, "]  ",
      example.label ? absl::StrCat("label ", *example.label) : "",
      example.class_name.empty() ? "" : absl::StrCat(" ", QuotedName(example.class_name)),
      example.label ? "  " : "", FormatCount(example.length_tokens), " tokens\n  ", example.source,
      "\n");
}

absl::Status DrawSheet(const ShowFlags& flags, const CommandContext& context) {
  LRA_RETURN_IF_ERROR(
      DrawExamples(DataDirectoryOf(flags.data), flags.split, flags.count, flags.png));
  if (context.json) {
    PrintJson({{"png", flags.png}});
  } else {
    std::cout << flags.png << "\n";
  }
  return absl::OkStatus();
}

absl::Status Show(const ShowFlags& flags, const CommandContext& context) {
  if (!flags.png.empty()) return DrawSheet(flags, context);
  LRA_ASSIGN_OR_RETURN(const std::vector<ShownExample> examples,
                       ShowExamples(DataDirectoryOf(flags.data), flags.split, flags.count));
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const ShownExample& example : examples) {
    if (context.json) {
      all.push_back(ExampleJson(example));
    } else {
      std::cout << ExampleText(example);
    }
  }
  if (context.json) PrintJson(all);
  return absl::OkStatus();
}

}  // namespace

void AddDataShow(CLI::App* data, CommandContext* context) {
  auto flags = std::make_shared<ShowFlags>();
  CLI::App* command = AddCommand(data, "show", "Print examples in readable form");
  AddOption(command, "data", &flags->data, "Folder of a data set, or task",
            {.is_required = true, .value = kDataValue});
  AddOption(command, "--split", &flags->split, "A stored split (default: the first)");
  AddOption(command, "--n", &flags->count, "How many, from the first",
            {.shows_default = true, .allowed = FlagRules::kNonNegative});
  AddOption(command, "--png", &flags->png,
            "Draw images into this file, framed by label (0 red, 1 green)", {.value = kFileValue});
  SetBody(command, context,
          "  lra data show listops --n 3\n"
          "  lra data show pathfinder32 --n 60 --png pathfinder32.png",
          [flags, context] { return Show(*flags, *context); });
}

}  // namespace lra
