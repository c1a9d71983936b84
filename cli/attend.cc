// lra attend CHECKPOINT
#include "train/attend.h"

#include <iostream>
#include <memory>
#include <string>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/command.h"
#include "lra/progress.h"
#include "lra/status_macros.h"
#include "models/runtime.h"
#include "nlohmann/json.hpp"

namespace lra {
namespace {

void Print(const AttendRequest& request, const Attended& attended) {
  std::cout << absl::StrFormat("%s: %s examples of %s", attended.attention,
                               FormatCount(attended.examples), request.split);
  if (attended.skipped > 0) {
    std::cout << absl::StrFormat(" (%s longer than %s tokens passed over)",
                                 FormatCount(attended.skipped), FormatCount(request.max_tokens));
  }
  std::cout << " -> " << request.out_dir << "\n";
  for (const AttendedMap& map : attended.maps) {
    std::cout << absl::StrFormat("  %-14s %d x %d  %s\n", map.name, map.tokens, map.tokens,
                                 absl::StrJoin(map.files, " "));
  }
  if (!attended.has_coverage) {
    std::cout << "  no coverage: its weights are no shares of 1 (lra list attentions "
              << attended.attention << ")\n";
  }
}

absl::Status Attend(AttendRequest request, const CommandContext& context) {
  request.quiet = context.quiet;
  request.command_line = context.command_line;
  StartRuntime(request.threads);
  LRA_ASSIGN_OR_RETURN(request.data_dir, DataOfCheckpoint(request.checkpoint, request.data_dir));
  LRA_ASSIGN_OR_RETURN(const Attended attended, AttendCheckpoint(request));
  if (!context.json) {
    Print(request, attended);
    return absl::OkStatus();
  }
  nlohmann::ordered_json json = {{"attention", attended.attention},
                                 {"examples", attended.examples},
                                 {"skipped", attended.skipped},
                                 {"out", request.out_dir}};
  for (const AttendedMap& map : attended.maps)
    json["maps"].push_back({{"name", map.name}, {"tokens", map.tokens}, {"files", map.files}});
  std::cout << json.dump(2) << "\n";
  return absl::OkStatus();
}

}  // namespace

void AddAttendCommand(CLI::App* app, CommandContext* context) {
  auto request = std::make_shared<AttendRequest>();
  CLI::App* command = app->add_subcommand(
      "attend", "Attention maps of a trained model, averaged over examples: .npy and .png");
  command
      ->add_option("checkpoint", request->checkpoint,
                   "Checkpoint folder, or run folder (its latest checkpoint)")
      ->required();
  command->add_option("--data", request->data_dir,
                      "Prepared data (default: $LRA_DATA/TASK, ./data/TASK)");
  command
      ->add_option("--split", request->split, "Split; a look at test is logged in the run's record")
      ->capture_default_str();
  command->add_option("--examples", request->examples, "Number of examples, the split's first")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--layer", request->layer, "One layer, from 0 (default: all)");
  command->add_option("--head", request->head, "One head, from 0 (default: all)");
  command
      ->add_option("--max-tokens", request->max_tokens,
                   "Longer examples are passed over: memory grows with the square, times heads "
                   "and layers")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command
      ->add_option("--threshold", request->threshold,
                   "Of coverage: the heaviest keys of a query that gather more than this count")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command->add_option("--out", request->out_dir, "Folder for the maps")->required();
  command->add_option("--threads", request->threads, "Threads; 0 = all cores")
      ->check(CLI::NonNegativeNumber);
  AddCommonFlags(command, context,
                 "  lra attend runs/listops-cosformer-small-s0 --out maps\n"
                 "  lra attend runs/listops-linear-small-s0 --layer 1 --head 0 --examples 100 "
                 "--out maps");
  command->callback(RunCommand(context, [request, context] { return Attend(*request, *context); }));
}

}  // namespace lra
