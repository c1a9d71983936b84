#include "inspect/locality.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/patient_threads.h"
#include "cli/plain_format.h"
#include "eval/locality.h"
#include "lra/files.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

struct LocalityFlags {
  LocalityRequest request;
  std::vector<std::string> runs, windows;
  std::string format, out;
  bool by_head = false;
};

absl::StatusOr<std::vector<int64_t>> Windows(const LocalityFlags& flags) {
  if (flags.windows.empty()) return LocalityRequest().windows;
  std::vector<int64_t> windows;
  for (const std::string& text : flags.windows) {
    if (!absl::SimpleAtoi(text, &windows.emplace_back())) {
      return absl::InvalidArgumentError(
          absl::StrCat("--within: \"", text, "\" is no number of tokens, e.g. 16"));
    }
  }
  return windows;
}

std::string Write(const LocalityFlags& flags, TableFormat format,
                  const std::vector<ModelLocality>& models) {
  switch (format) {
    case TableFormat::kCsv:
      return LocalityCsv(models, flags.by_head);
    case TableFormat::kJson:
      return LocalityJson(models);
    default:
      return LocalityText(models, flags.by_head);
  }
}

absl::Status PrintLocality(const LocalityFlags& flags, const CommandContext& context) {
  LocalityRequest request = flags.request;
  LRA_ASSIGN_OR_RETURN(request.windows, Windows(flags));
  LRA_ASSIGN_OR_RETURN(const TableFormat format,
                       PlainFormat("locality", flags.format, flags.out, context.json));
  request.quiet = context.quiet;
  request.command_line = context.command_line;
  // Before a look at the test split is logged.
  if (!flags.out.empty()) LRA_RETURN_IF_ERROR(CheckCanWrite(flags.out));
  LRA_RETURN_IF_ERROR(StartComputing(request.threads, context));
  std::vector<ModelLocality> models;
  for (const std::string& run : flags.runs) {
    request.checkpoint = run;
    LRA_ASSIGN_OR_RETURN(models.emplace_back(), MeasureLocality(request));
  }
  return WriteResult(Write(flags, format, models), flags.out);
}

}  // namespace

void AddLocalityCommand(CLI::App* app, CommandContext* context) {
  auto flags = std::make_shared<LocalityFlags>();
  LocalityRequest& request = flags->request;
  CLI::App* command = AddCommand(app, "locality",
                                 "How local trained models attend: mean distance, weight within a "
                                 "distance, effective rank");
  AddOption(command, "runs", &flags->runs,
            "Checkpoint folders, or run folders (as of `lra attend`)", {.is_required = true});
  AddDataOfRun(command, &request.data_dir, &request.allows_other_data);
  AddOption(command, "--split", &request.split,
            "Split; a look at test is logged in the run's record",
            {.shows_default = true, .value = kSplitValue});
  AddOption(command, "--examples", &request.examples, "Number of examples, the split's first",
            {.shows_default = true, .allowed = FlagRules::kPositive});
  AddOption(command, "--within", &flags->windows,
            "Distances in tokens within which weight is counted (default: 1 4 16 64)");
  AddOption(command, "--max-tokens", &request.max_tokens,
            "Longer examples are passed over (default: 1025 for methods whose weights are made all "
            "at once, no limit for linear ones and softmax)",
            {.allowed = FlagRules::kPositive});
  AddSwitch(command, "--heads", &flags->by_head, "A line for each head as well");
  AddOption(command, "--format", &flags->format, "md, csv or json (default: --out's, else md)",
            {.value = "md|csv|json"});
  AddOption(command, "--out", &flags->out, "File to write (default: standard output)",
            {.value = kFileValue});
  AddThreads(command, &request.threads);
  AddKernels(command, &context->kernels);
  SetBody(command, context,
          "  lra locality runs/listops-cosformer-small-s0 runs/listops-relu-small-s0\n"
          "  lra locality runs/listops-cosformer-small-s0 --heads --within 1 8 64 --out local.csv",
          [flags, context] { return PrintLocality(*flags, *context); });
}

}  // namespace lra
