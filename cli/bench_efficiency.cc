// lra bench efficiency | generate
#include <algorithm>
#include <iostream>
#include <memory>

#include "absl/strings/str_cat.h"
#include "bench/child.h"
#include "bench/efficiency_table.h"
#include "bench/figure.h"
#include "bench/grid.h"
#include "bench/record_file.h"
#include "cli/bench.h"
#include "cli/flags.h"
#include "lra/files.h"
#include "lra/parallel.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

struct EfficiencyFlags {
  std::vector<std::string> attentions = {"transformer", "linear", "cosformer"};
  std::string tokens = "512..65536", size = "small", kernels, records = "efficiency.jsonl";
  std::vector<std::string> scopes = {"operator"}, modes = {"training"}, paddings = {"none"};
  std::vector<std::string> dtypes = {"float32"}, batches, batch_tokens, head_widths;
  double cell_seconds = 60;
  int passes = 5, warm_ups = 2;
  uint64_t budget_bytes = 0;
  std::vector<std::string> table;
  std::vector<std::string> published = {"cosformer2022"};
  std::string format = "md", figure, reference = "transformer";
  BenchFlags bench;
};

absl::StatusOr<std::vector<int64_t>> ParseNumbers(const std::vector<std::string>& texts) {
  std::vector<int64_t> numbers;
  for (const std::string& word : SplitAtCommas(texts)) {
    LRA_ASSIGN_OR_RETURN(const std::vector<int64_t> parsed, ParseLengths(word));
    numbers.insert(numbers.end(), parsed.begin(), parsed.end());
  }
  return numbers;
}

// What both subcommands' cells share.
absl::Status SetBase(const EfficiencyFlags& flags, GridPlan* plan) {
  LRA_ASSIGN_OR_RETURN(plan->methods, ParseMethods(flags.attentions));
  LRA_ASSIGN_OR_RETURN(plan->tokens, ParseLengths(flags.tokens));
  LRA_ASSIGN_OR_RETURN(plan->base, SizedRequest(flags.size));
  LRA_ASSIGN_OR_RETURN(plan->precisions, ParsePrecisions(flags.dtypes));
  LRA_ASSIGN_OR_RETURN(plan->scopes, ParseScopes(flags.scopes));
  LRA_ASSIGN_OR_RETURN(const std::vector<int64_t> widths, ParseNumbers(flags.head_widths));
  plan->head_widths.assign(widths.begin(), widths.end());
  if (plan->head_widths.empty()) plan->head_widths.push_back(plan->base.head_width());
  plan->base.set_threads(ResolveThreads(flags.bench.threads));
  plan->base.set_kernels(flags.kernels);
  plan->base.set_passes(flags.passes);
  plan->base.set_warm_ups(flags.warm_ups);
  plan->base.set_limit_seconds(flags.cell_seconds);
  plan->base.set_budget_bytes(static_cast<int64_t>(flags.budget_bytes));
  return absl::OkStatus();
}

absl::StatusOr<GridPlan> EfficiencyPlan(const EfficiencyFlags& flags) {
  GridPlan plan;
  LRA_RETURN_IF_ERROR(SetBase(flags, &plan));
  LRA_ASSIGN_OR_RETURN(plan.modes, ParseModes(flags.modes));
  LRA_ASSIGN_OR_RETURN(plan.paddings, ParsePaddings(flags.paddings));
  LRA_ASSIGN_OR_RETURN(plan.batches, ParseNumbers(flags.batches));
  LRA_ASSIGN_OR_RETURN(plan.tokens_in_batch, ParseNumbers(flags.batch_tokens));
  if (plan.batches.empty() && plan.tokens_in_batch.empty()) plan.batches = {1};
  return plan;
}

absl::Status PrintRecords(const EfficiencyFlags& flags, const std::vector<BenchRecord>& records,
                          const CommandContext& context) {
  if (flags.format != "md" && flags.format != "csv") {
    return absl::InvalidArgumentError(absl::StrCat("--format \"", flags.format, "\": md or csv"));
  }
  LRA_ASSIGN_OR_RETURN(
      const std::string text,
      EfficiencyText(records, {flags.format == "csv", flags.published, flags.reference}));
  LRA_RETURN_IF_ERROR(PrintBench(text, RecordsJson(records), flags.bench, context));
  if (flags.figure.empty()) return absl::OkStatus();
  LRA_ASSIGN_OR_RETURN(const std::vector<std::string> pictures,
                       DrawFigures(GroupPanels(records), flags.figure));
  for (const std::string& picture : pictures) std::cerr << "wrote " << picture << "\n";
  return absl::OkStatus();
}

absl::Status RunEfficiency(const EfficiencyFlags& flags, const CommandContext& context) {
  if (!flags.table.empty()) {
    LRA_ASSIGN_OR_RETURN(const std::vector<BenchRecord> records, ReadRecordFiles(flags.table));
    return PrintRecords(flags, records, context);
  }
  LRA_ASSIGN_OR_RETURN(const GridPlan plan, EfficiencyPlan(flags));
  const CellRunner run = ChildRunner(ThisProgram());
  GridRun grid = {{}, flags.records, context.quiet};
  LRA_ASSIGN_OR_RETURN(grid.machine, MeasureMachine(run, plan.base.threads(), flags.kernels));
  LRA_RETURN_IF_ERROR(RunGrid(plan, grid, run).status());
  LRA_ASSIGN_OR_RETURN(const std::vector<BenchRecord> records, ReadRecordFile(flags.records));
  return PrintRecords(flags, records, context);
}

absl::Status RunGenerate(const EfficiencyFlags& flags, const CommandContext& context) {
  GridPlan plan;
  LRA_RETURN_IF_ERROR(SetBase(flags, &plan));
  plan.modes = {BenchRequest::STREAMING};
  plan.paddings = {false};
  LRA_ASSIGN_OR_RETURN(plan.batches, ParseNumbers(flags.batches));
  if (plan.batches.empty()) plan.batches = {1};
  const CellRunner run = ChildRunner(ThisProgram());
  GridRun grid = {{}, "", context.quiet};
  LRA_ASSIGN_OR_RETURN(grid.machine, MeasureMachine(run, plan.base.threads(), flags.kernels));
  LRA_ASSIGN_OR_RETURN(const std::vector<BenchRecord> records, MeasureGrid(plan, grid, run));
  return PrintBench(GenerateText(records), RecordsJson(records), flags.bench, context);
}

void AddSharedFlags(CLI::App* command, EfficiencyFlags* flags) {
  AddOption(command, "--attention", &flags->attentions,
            "Attentions with commas, with options NAME:OPTION=VALUE and NAME:causal",
            {.value = kAttentionValue});
  AddOption(command, "--tokens", &flags->tokens, "Lengths N: 512,1024 or 512..65536, which doubles",
            {.shows_default = true});
  AddOption(command, "--size", &flags->size,
            "small (2 layers, 2 heads of 32, MLP 128) or official (6, 8 of 64, 2,048)",
            {.shows_default = true, .value = "small|official"});
  AddOption(command, "--scope", &flags->scopes, "operator (the attention alone), model",
            {.value = "operator|model"});
  AddOption(command, "--dtype", &flags->dtypes, "float32, bfloat16 (in matrix products)",
            {.value = "float32|bfloat16"});
  AddOption(command, "--batch", &flags->batches, "Examples while N grows (default: 1)");
  AddOption(command, "--head-widths", &flags->head_widths, "Widths D (default: the size's)");
  AddOption(command, "--cell-seconds", &flags->cell_seconds, "What one cell may take; 0 = any time",
            {.shows_default = true, .allowed = FlagRules::kNonNegative});
  AddKernels(command, &flags->kernels);
  AddBenchFlags(command, &flags->bench);
}

void AddGridFlags(CLI::App* command, EfficiencyFlags* flags) {
  AddOption(command, "--mode", &flags->modes,
            "training (forward and backward; of a model the whole step), forward, streaming",
            {.value = "training|forward|streaming"});
  AddOption(command, "--batch-tokens", &flags->batch_tokens,
            "Tokens in a batch while N grows: B = this / N");
  AddOption(command, "--padding", &flags->paddings, "none, half (lengths from N to N / 2)",
            {.value = "none|half"});
  AddOption(command, "--passes", &flags->passes, "Timed passes of a cell, at most",
            {.shows_default = true, .allowed = FlagRules::kPositive});
  AddOption(command, "--warm-ups", &flags->warm_ups, "Passes before the timed ones, at most",
            {.shows_default = true, .allowed = FlagRules::kPositive});
  AddBytes(command, "--memory-budget", &flags->budget_bytes,
           "Bytes of tensors, e.g. 4GB; what needs more is recorded as out of memory");
  AddOption(command, "--records", &flags->records,
            "File of measured cells, a line each; cells that it holds are not measured again",
            {.shows_default = true});
}

void AddTableFlags(CLI::App* command, EfficiencyFlags* flags) {
  AddOption(command, "--table", &flags->table, "Measure nothing: tables of these record files");
  AddOption(command, "--format", &flags->format, "md or csv",
            {.shows_default = true, .value = "md|csv"});
  AddOption(command, "--published", &flags->published,
            "Printed speeds beside ours: cosformer2022, lra2020 (configs/published_speeds)");
  AddOption(command, "--reference", &flags->reference, "Whose speed printed ratios are of",
            {.shows_default = true});
  AddOption(command, "--figure", &flags->figure,
            "Draw time and memory over N to PREFIX-1.svg, ... (needs gnuplot)");
}

}  // namespace

void AddBenchEfficiency(CLI::App* group, CommandContext* context) {
  auto flags = std::make_shared<EfficiencyFlags>();
  CLI::App* command =
      AddCommand(group, "efficiency", "Time and memory over the length: records, tables, figures");
  AddSharedFlags(command, flags.get());
  AddGridFlags(command, flags.get());
  AddTableFlags(command, flags.get());
  SetBody(command, context,
          "  lra bench efficiency --attention transformer,linear,reformer:rounds=4 --tokens "
          "512..8192\n"
          "  lra bench efficiency --scope model --mode forward,training --tokens "
          "1000,2000,3000,4000 --batch 4 --memory-budget 4GB\n"
          "  lra bench efficiency --attention cosformer --warm-ups 10 --passes 50\n"
          "  lra bench efficiency --batch-tokens 65536 --mode training --records cells.jsonl\n"
          "  lra bench efficiency --table cells.jsonl --figure efficiency --format csv",
          [flags, context] { return RunEfficiency(*flags, *context); });
}

void AddBenchGenerate(CLI::App* group, CommandContext* context) {
  auto flags = std::make_shared<EfficiencyFlags>();
  flags->tokens = "512..8192";
  flags->scopes = {"operator", "model"};
  flags->passes = 64;
  CLI::App* command =
      AddCommand(group, "generate", "A stream, token by token: time of a token, size of the state");
  AddSharedFlags(command, flags.get());
  AddOption(command, "--timed-tokens", &flags->passes, "Tokens timed after N others",
            {.shows_default = true, .allowed = FlagRules::kPositive});
  SetBody(command, context,
          "  lra bench generate --attention transformer,linear,cosformer\n"
          "  lra bench generate --attention linear --scope model --size official --tokens "
          "512,65536",
          [flags, context] { return RunGenerate(*flags, *context); });
}

}  // namespace lra
