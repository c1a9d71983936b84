#include <iostream>
#include <memory>
#include <string>

#include "bench/effects_figure.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "eval/table_writer.h"
#include "lra/files.h"
#include "lra/status_macros.h"
#include "run_folder/stopped_runs.h"
#include "suite/designs.h"

namespace lra {
namespace {

struct AblateFlags {
  AblateRequest request;
  std::string format, out, figure;
};

// --format or, without it, the extension of --out, else JSON with --json, else Markdown.
absl::StatusOr<TableFormat> FormatOf(const AblateFlags& flags, const CommandContext& context) {
  absl::StatusOr<TableFormat> format =
      !flags.format.empty() ? ParseTableFormat(flags.format)
      : !flags.out.empty()  ? TableFormatOfPath(flags.out)
                            : (context.json ? TableFormat::kJson : TableFormat::kMarkdown);
  if (!format.ok() || *format == TableFormat::kMarkdown || *format == TableFormat::kCsv ||
      *format == TableFormat::kJson)
    return format;
  return absl::InvalidArgumentError("an ablation is written as md, csv or json only");
}

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
  LRA_ASSIGN_OR_RETURN(const TableFormat format, FormatOf(flags, context));
  LRA_ASSIGN_OR_RETURN(const AblationReport report, AblateSuite(flags.request));
  const std::string text = Write(report, format);
  if (flags.out.empty()) {
    std::cout << text << std::flush;
  } else {
    LRA_RETURN_IF_ERROR(WriteFileAtomically(flags.out, text));
  }
  if (flags.figure.empty()) return absl::OkStatus();
  return DrawEffects(report.designs, flags.figure).status();
}

}  // namespace

void AddAblateCommand(CLI::App* app, CommandContext* context) {
  auto flags = std::make_shared<AblateFlags>();
  AblateRequest* const request = &flags->request;
  request->add_stopped = AddStoppedRuns;
  CLI::App* command = AddCommand(
      app, "ablate", "The effects of a suite's factors: main effects, interactions, in words");
  AddOption(command, "folder", &request->folder, "What `lra run` wrote, e.g. runs/SUITE",
            {.is_required = true});
  AddOption(command, "--baselines", &request->baselines,
            "Folders of `lra baseline`'s records, which say which runs trained");
  AddOption(command, "--format", &flags->format, "md, csv or json (default: --out's, else md)",
            {.value = "md|csv|json"});
  AddOption(command, "--out", &flags->out, "File to write (default: standard output)");
  AddOption(command, "--figure", &flags->figure,
            "Draw the effects to PREFIX-1.svg, ... (needs gnuplot)");
  AddOption(command, "--split", &request->split, "Split",
            {.shows_default = true, .value = kSplitValue});
  AddOption(command, "--metric", &request->metric,
            "Metric, e.g. nats; a wrong name lists them (default: the task's)",
            {.value = kMetricValue});
  AddOption(command, "--confidence", &request->confidence, "Of intervals and verdicts",
            {.shows_default = true});
  SetBody(command, context,
          "  lra run near_majority_control\n"
          "  lra ablate runs/near_majority_control\n"
          "  lra ablate runs/near_majority_control --out effects.md --figure effects",
          [flags, context] { return Ablate(*flags, *context); });
}

}  // namespace lra
