#include <memory>
#include <string>

#include "bench/curve_figure.h"
#include "bench/effects_figure.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/patient_threads.h"
#include "cli/plain_format.h"
#include "cli/suite_command.h"
#include "inspect/ablation_locality.h"
#include "lra/status_macros.h"
#include "run_folder/stopped_runs.h"
#include "suite/designs.h"

namespace lra {
namespace {

struct AblateFlags {
  AblateRequest request;
  std::string format, out, figure;
  bool locality = false;
  int threads = 0;
};

std::string Write(const AblationReport& report, TableFormat format) {
  switch (format) {
    case TableFormat::kCsv:
      return WriteAblationCsv(report);
    case TableFormat::kJson:
      return WriteAblationJson(report);
    default:
      return WriteAblation(report);
  }
}

absl::Status Ablate(const AblateFlags& flags, const CommandContext& context) {
  LRA_ASSIGN_OR_RETURN(const TableFormat format,
                       PlainFormat("an ablation", flags.format, flags.out, context.json));
  AblateRequest request = flags.request;
  LRA_ASSIGN_OR_RETURN(request.folder, SuiteFolder(request.folder));
  LRA_ASSIGN_OR_RETURN(AblationReport report, AblateSuite(request));
  if (flags.locality) {
    LRA_RETURN_IF_ERROR(StartComputing(flags.threads, context));
    LocalityRequest locality;
    locality.threads = flags.threads;
    locality.quiet = true;
    LRA_RETURN_IF_ERROR(AddLocality(locality, &report));
  }
  LRA_RETURN_IF_ERROR(WriteResult(Write(report, format), flags.out));
  if (flags.figure.empty()) return absl::OkStatus();
  LRA_RETURN_IF_ERROR(DrawEffects(report.designs, flags.figure).status());
  return DrawDesignCurves(report.designs, flags.figure + "-curves").status();
}

}  // namespace

void AddAblateCommand(CLI::App* app, CommandContext* context) {
  auto flags = std::make_shared<AblateFlags>();
  AblateRequest* const request = &flags->request;
  request->add_stopped = AddStoppedRuns;
  CLI::App* command = AddCommand(
      app, "ablate", "The effects of a suite's factors: main effects, interactions, in words");
  AddOption(command, "suite", &request->folder,
            "A suite whose runs are in runs/SUITE, or the folder that `lra run` wrote",
            {.is_required = true});
  AddOption(command, "--baselines", &request->baselines,
            "Folders with more records of `lra baseline`, which say which runs trained (default: "
            "none but the suite's folder)",
            {.value = kFolderValue});
  AddOption(command, "--format", &flags->format, "md, csv or json (default: --out's, else md)",
            {.value = "md|csv|json"});
  AddOption(command, "--out", &flags->out, "File to write (default: standard output)",
            {.value = kFileValue});
  AddOption(
      command, "--figure", &flags->figure,
      "Draw the effects to PREFIX-1.svg, ... and learning curves to PREFIX-curves-1.svg, ..., "
      "each also as .pdf and .png, a paper's column wide (needs gnuplot)",
      {.value = kPrefixValue});
  AddSwitch(command, "--locality", &flags->locality,
            "Also say how local each cell attends, as `lra locality`, where checkpoints are kept "
            "(md, json)");
  AddOption(command, "--published", &request->published,
            "Published tables whose differences between attentions stand beside ours, e.g. "
            "cosformer2022_table6; a wrong name lists them (md, json)",
            {.value = kPublishedValue});
  AddOption(command, "--split", &request->split, "Split",
            {.shows_default = true, .value = kSplitValue});
  AddOption(command, "--metric", &request->metric,
            "Metric, e.g. nats; a wrong name lists them (default: the task's)",
            {.value = kMetricValue});
  AddOption(command, "--confidence", &request->confidence, "Confidence of intervals and verdicts",
            {.shows_default = true});
  AddThreads(command, &flags->threads);
  AddKernels(command, &context->kernels);
  SetBody(command, context,
          "  lra run near_majority_control\n"
          "  lra ablate near_majority_control\n"
          "  lra ablate runs/near_majority_control --locality\n"
          "  lra ablate runs/near_majority_control --out effects.md --figure effects\n"
          "  lra ablate runs/cosformer_table6_small --published cosformer2022_table6",
          [flags, context] { return Ablate(*flags, *context); });
}

}  // namespace lra
