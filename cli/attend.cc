// lra attend CHECKPOINT
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/patient_threads.h"
#include "inspect/attention_maps.h"
#include "lra/progress.h"
#include "lra/status_macros.h"
#include "lra/text_columns.h"
#include "nlohmann/json.hpp"

namespace lra {
namespace {

struct AttendFlags {
  AttendRequest request;
  std::optional<int64_t> examples;
};

void Print(const AttendRequest& request, const Attended& attended) {
  const std::string what =
      request.example
          ? absl::StrCat("example ", *request.example)
          : absl::StrCat(FormatCount(static_cast<int64_t>(attended.examples.size())), " examples");
  std::cout << absl::StrFormat("%s: %s of %s", attended.attention, what, request.split);
  if (attended.skipped > 0) {
    std::cout << absl::StrFormat(" (%s longer than %s tokens passed over)",
                                 FormatCount(attended.skipped), FormatCount(attended.max_tokens));
  }
  std::cout << " -> " << request.out_dir << "\n";
  for (const AttendedMap& map : attended.maps) {
    std::cout << absl::StrFormat("  %s %d x %d  %s\n", PadRight(map.name, 14), map.tokens,
                                 map.tokens, absl::StrJoin(map.files, " "));
  }
  if (!attended.has_coverage) {
    std::cout << "  no coverage: its weights are no shares of 1 (lra list attentions "
              << attended.attention << ")\n";
  }
}

absl::Status Attend(const AttendFlags& flags, const CommandContext& context) {
  AttendRequest request = flags.request;
  if (request.example && flags.examples) {
    return absl::InvalidArgumentError(
        "--example names one and --examples counts several: leave one of them out");
  }
  request.examples = flags.examples.value_or(request.examples);
  request.quiet = context.quiet;
  request.command_line = context.command_line;
  LRA_RETURN_IF_ERROR(StartComputing(request.threads, context));
  LRA_ASSIGN_OR_RETURN(const Attended attended, AttendCheckpoint(request));
  if (!context.json) {
    Print(request, attended);
    return absl::OkStatus();
  }
  nlohmann::ordered_json json = {{"attention", attended.attention},
                                 {"examples", attended.examples.size()},
                                 {"skipped", attended.skipped},
                                 {"out", request.out_dir}};
  for (const AttendedMap& map : attended.maps)
    json["maps"].push_back({{"name", map.name}, {"tokens", map.tokens}, {"files", map.files}});
  if (!attended.tokens.empty()) json["tokens"] = attended.tokens;
  PrintJson(json);
  return absl::OkStatus();
}

}  // namespace

void AddAttendCommand(CLI::App* app, CommandContext* context) {
  auto flags = std::make_shared<AttendFlags>();
  AttendRequest& request = flags->request;
  CLI::App* command = AddCommand(
      app, "attend",
      "Attention maps of a trained model, averaged over examples or of one: .npy and .png");
  AddOption(
      command, "checkpoint", &request.checkpoint,
      "Checkpoint folder, or run folder (its selected checkpoint or, while unfinished, its latest)",
      {.is_required = true});
  AddDataOfRun(command, &request.data_dir, &request.allows_other_data);
  AddOption(command, "--split", &request.split,
            "Split; a look at test is logged in the run's record",
            {.shows_default = true, .value = kSplitValue});
  AddOption(command, "--examples", &flags->examples,
            absl::StrCat("Number of examples, the split's first (default: ", request.examples, ")"),
            {.allowed = FlagRules::kPositive});
  AddOption(command, "--example", &request.example,
            "One example instead, by its place in the split, from 0; axes name its tokens");
  AddOption(command, "--layer", &request.layer, "One layer, from 0 (default: all)");
  AddOption(command, "--head", &request.head, "One head, from 0 (default: all)");
  AddOption(command, "--max-tokens", &request.max_tokens,
            "Longer examples are passed over: memory grows with the square, times heads and layers "
            "(default: 512, of images 1025)",
            {.allowed = FlagRules::kPositive});
  AddOption(command, "--threshold", &request.threshold,
            "Coverage counts the heaviest keys of a query that gather more than this share of its "
            "weight",
            {.shows_default = true, .allowed = FlagRules::kRange, .largest = 0.999});
  AddOption(command, "--out", &request.out_dir, "Folder for the maps",
            {.is_required = true, .value = kFolderValue});
  AddThreads(command, &request.threads);
  AddDevice(command, &request.device);
  AddKernels(command, &context->kernels);
  SetBody(command, context,
          "  lra attend runs/listops-cosformer-small-s0 --out maps\n"
          "  lra attend runs/image-linear-small-s0 --example 3 --out maps\n"
          "  lra attend runs/listops-linear-small-s0 --layer 1 --head 0 --examples 100 "
          "--out maps",
          [flags, context] { return Attend(*flags, *context); });
}

}  // namespace lra
