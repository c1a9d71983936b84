// lra export RUN --pytorch
#include <iostream>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "inspect/export_model.h"
#include "lra/status_macros.h"
#include "nlohmann/json.hpp"

namespace lra {
namespace {

void Print(const ModelExportRequest& request, const ExportedModel& exported) {
  std::cout << absl::StrFormat("%s, step %d: block %s, attention %s -> %s\n", exported.checkpoint,
                               exported.step, exported.block, exported.attention, request.out_dir);
  std::cout << "  " << absl::StrJoin(exported.files, " ") << "\n";
  if (exported.computes_otherwise) {
    std::cout << "  the run computed in another precision than FP32, the precision of model.py: "
                 "logits differ\n";
  }
}

absl::Status Export(const ModelExportRequest& request, bool is_pytorch,
                    const CommandContext& context) {
  if (!is_pytorch) return absl::InvalidArgumentError("say what to write: --pytorch");
  LRA_ASSIGN_OR_RETURN(const ExportedModel exported, ExportPyTorch(request));
  if (!context.json) {
    Print(request, exported);
    return absl::OkStatus();
  }
  PrintJson(nlohmann::ordered_json{{"checkpoint", exported.checkpoint},
                                   {"step", exported.step},
                                   {"block", exported.block},
                                   {"attention", exported.attention},
                                   {"out", request.out_dir},
                                   {"files", exported.files}});
  return absl::OkStatus();
}

}  // namespace

void AddExportCommand(CLI::App* app, CommandContext* context) {
  auto request = std::make_shared<ModelExportRequest>();
  auto is_pytorch = std::make_shared<bool>(false);
  CLI::App* command =
      AddCommand(app, "export",
                 "Write a trained model as plain PyTorch: its weights, and one Python file that "
                 "rebuilds it and its logits");
  AddOption(command, "run", &request->run,
            "Run folder (its selected checkpoint or, while unfinished, its latest), checkpoint "
            "folder or weights file",
            {.is_required = true});
  AddSwitch(
      command, "--pytorch", is_pytorch.get(),
      "Needed, since there is no other form yet: weights.safetensors, config.json and model.py, "
      "which needs torch alone");
  AddOption(command, "--checkpoint", &request->checkpoint,
            "Which checkpoint of a run folder: selected, last or step-N", {.shows_default = true});
  AddOption(command, "--out", &request->out_dir, "A new folder",
            {.is_required = true, .value = kFolderValue});
  SetBody(command, context,
          "  lra export runs/listops-cosformer-small-s0 --pytorch --out exported\n"
          "  python exported/model.py exported --tokens ids.npy\n"
          "  lra export runs/first --checkpoint step-200 --pytorch --out early",
          [request, is_pytorch, context] { return Export(*request, *is_pytorch, *context); });
}

}  // namespace lra
