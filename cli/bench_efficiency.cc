// lra bench efficiency | generate
#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "bench/cell.h"
#include "bench/efficiency_grid.h"
#include "bench/efficiency_table.h"
#include "bench/figure.h"
#include "bench/gnuplot.h"
#include "bench/grid.h"
#include "bench/record_file.h"
#include "bench/scored_speeds.h"
#include "cli/bench.h"
#include "cli/flags.h"
#include "cli/leaderboard_flags.h"
#include "cli/patient_threads.h"
#include "lra/child.h"
#include "lra/files.h"
#include "lra/parallel.h"
#include "lra/status_macros.h"
#include "lra/suggest.h"

namespace lra {
namespace {

constexpr char kUsualReference[] = "transformer";

struct EfficiencyFlags {
  std::string grid;
  // Empty and 0: as the named grid says, or the default.
  std::vector<std::string> attentions, scopes, modes, paddings, dtypes, batches, batch_tokens;
  std::vector<std::string> head_widths, published;
  std::string tokens, size;
  int passes = 0, warm_ups = 0;
  std::string kernels, records;
  std::optional<double> cell_seconds;
  uint64_t budget_bytes = 0;
  std::vector<std::string> table;
  std::string format = "md", figure, reference = kUsualReference;
  LeaderboardFlags scores;  // runs alone
  BenchFlags bench;
};

EfficiencyGrid DefaultStreams() {
  EfficiencyGrid grid = DefaultGrid();
  grid.set_tokens("512..8192");
  grid.add_scope("model");
  grid.set_mode(0, "streaming");
  grid.set_passes(64);
  return grid;
}

// What flags say.
EfficiencyGrid GivenGrid(const EfficiencyFlags& flags) {
  EfficiencyGrid given;
  *given.mutable_attention() = {flags.attentions.begin(), flags.attentions.end()};
  given.set_tokens(flags.tokens);
  given.set_size(flags.size);
  *given.mutable_scope() = {flags.scopes.begin(), flags.scopes.end()};
  *given.mutable_mode() = {flags.modes.begin(), flags.modes.end()};
  *given.mutable_dtype() = {flags.dtypes.begin(), flags.dtypes.end()};
  *given.mutable_padding() = {flags.paddings.begin(), flags.paddings.end()};
  *given.mutable_batch() = {flags.batches.begin(), flags.batches.end()};
  *given.mutable_batch_tokens() = {flags.batch_tokens.begin(), flags.batch_tokens.end()};
  *given.mutable_head_widths() = {flags.head_widths.begin(), flags.head_widths.end()};
  given.set_passes(flags.passes);
  given.set_warm_ups(flags.warm_ups);
  *given.mutable_published() = {flags.published.begin(), flags.published.end()};
  return given;
}

absl::StatusOr<EfficiencyGrid> WholeGrid(const EfficiencyFlags& flags) {
  EfficiencyGrid grid = DefaultGrid();
  if (!flags.grid.empty()) {
    LRA_ASSIGN_OR_RETURN(const EfficiencyGrid named, LoadEfficiencyGrid(flags.grid));
    OverrideGrid(named, &grid);
  }
  OverrideGrid(GivenGrid(flags), &grid);
  return grid;
}

std::string RecordsOf(const EfficiencyFlags& flags) {
  if (!flags.records.empty()) return flags.records;
  return absl::StrCat(flags.grid.empty() ? "efficiency" : flags.grid, ".jsonl");
}

absl::StatusOr<GridPlan> PlanOf(const EfficiencyGrid& grid, const EfficiencyFlags& flags) {
  LRA_ASSIGN_OR_RETURN(GridPlan plan, PlanOfGrid(grid));
  const int threads = flags.bench.threads > 0 ? flags.bench.threads : grid.threads();
  plan.base.set_threads(ResolveThreads(threads));
  plan.base.set_kernels(flags.kernels);
  plan.base.set_limit_seconds(flags.cell_seconds.value_or(grid.cell_seconds()));
  plan.base.set_budget_bytes(static_cast<int64_t>(flags.budget_bytes));
  return plan;
}

void SayWritten(const std::vector<std::string>& stems) {
  for (const std::string& stem : stems) std::cerr << "wrote " << PictureFiles(stem) << "\n";
}

absl::Status Draw(const EfficiencyFlags& flags, const std::vector<BenchRecord>& records) {
  if (flags.figure.empty()) return absl::OkStatus();
  LRA_ASSIGN_OR_RETURN(const std::vector<std::string> stems,
                       DrawFigures(GroupPanels(records), flags.figure));
  if (stems.empty())
    std::cerr << "note: nothing is drawn: a curve needs two lengths, or two widths of heads\n";
  SayWritten(stems);
  return absl::OkStatus();
}

// The panel whose speeds go with scores: the first of forward passes of whole models, else of their
// training steps.
const Panel* PanelForScores(const std::vector<Panel>& panels) {
  for (const BenchRequest::Mode mode : {BenchRequest::FORWARD, BenchRequest::TRAINING}) {
    for (const Panel& panel : panels) {
      const BenchRequest& request = panel.series.front().cells.front().request();
      if (request.scope() == BenchRequest::STEP && request.mode() == mode) return &panel;
    }
  }
  return nullptr;
}

// What --scores names, which is read before anything is measured; nothing without the flag.
absl::StatusOr<std::optional<Leaderboard>> BoardOf(const EfficiencyFlags& flags) {
  if (flags.scores.runs.empty()) return std::nullopt;
  auto loaded = LoadBoard(flags.scores);
  if (!loaded.ok()) return Annotate(loaded.status(), "--scores");
  return std::move(loaded->board);
}

// The table of the scores, and its figure; nothing without scores.
absl::StatusOr<std::string> ScoresText(const EfficiencyFlags& flags,
                                       const std::vector<BenchRecord>& records,
                                       const std::optional<Leaderboard>& board) {
  if (!board) return "";
  const std::vector<Panel> panels = GroupPanels(records);
  const Panel* panel = PanelForScores(panels);
  if (panel == nullptr) {
    return absl::InvalidArgumentError(
        "--scores: needs speeds of whole models (--scope model --mode forward or training)");
  }
  auto scores = ScoreSpeeds(*panel, *board);
  if (!scores.ok()) return Annotate(scores.status(), "--scores");
  const ScoredSpeeds scored = *std::move(scores);
  if (!flags.figure.empty()) {
    LRA_ASSIGN_OR_RETURN(
        const std::vector<std::string> stems,
        DrawPictures({[&](const std::string& stem) { return ScoredSpeedsProgram(scored, stem); }},
                     absl::StrCat(flags.figure, "-scores")));
    SayWritten(stems);
  }
  const TextTable table = ScoredSpeedsTable(scored, flags.reference);
  return absl::StrCat(flags.format == "csv" ? ToCsv(table) : ToMarkdown(table), "\n");
}

absl::Status PrintRecords(const EfficiencyFlags& flags, const EfficiencyGrid& grid,
                          const std::vector<BenchRecord>& records,
                          const std::optional<Leaderboard>& board, const CommandContext& context) {
  LRA_ASSIGN_OR_RETURN(const std::string text,
                       EfficiencyText(records, {flags.format == "csv",
                                                {grid.published().begin(), grid.published().end()},
                                                flags.reference}));
  const bool has_source = flags.format == "md" && !grid.source().empty();
  const std::string heading =
      has_source ? absl::StrCat("# ", grid.source(), "\n\n", grid.note(), "\n\n") : "";
  LRA_ASSIGN_OR_RETURN(const std::string scores, ScoresText(flags, records, board));
  LRA_RETURN_IF_ERROR(
      PrintBench(absl::StrCat(heading, scores, text), RecordsJson(records), flags.bench, context));
  return Draw(flags, records);
}

// A reference that was named is a row of some table, "linear" or "reformer (rounds=4)"; without the
// usual one tables have no ratios.
absl::Status CheckReference(const EfficiencyFlags& flags, const std::vector<BenchRecord>& records,
                            const std::optional<Leaderboard>& board) {
  std::set<std::string> rows;
  for (const BenchRecord& record : records) rows.insert(MethodLabel(record.request()));
  if (board && !board->tables.empty()) {
    for (const LeaderboardRow& row : board->tables[0].rows) rows.insert(row.label);
  }
  if (flags.reference == kUsualReference || rows.count(flags.reference) > 0)
    return absl::OkStatus();
  return Annotate(UnknownNameError("row", flags.reference, {rows.begin(), rows.end()}),
                  "--reference");
}

// The cells that will be in the file: those that are measured, and what it has already.
absl::StatusOr<std::vector<BenchRecord>> CellsOfFile(const GridPlan& plan,
                                                     const std::string& path) {
  std::vector<BenchRecord> cells = ExpandGrid(plan);
  if (!FileExists(path)) return cells;
  LRA_ASSIGN_OR_RETURN(const std::vector<BenchRecord> there, ReadRecordFile(path));
  cells.insert(cells.end(), there.begin(), there.end());
  return cells;
}

absl::Status CheckFormat(const EfficiencyFlags& flags, const CommandContext& context) {
  if (flags.format != "md" && flags.format != "csv")
    return absl::InvalidArgumentError(absl::StrCat("--format \"", flags.format, "\": md or csv"));
  if (context.json && flags.format == "csv")
    return absl::InvalidArgumentError("--json and --format csv: leave one of them out");
  if (context.json && !flags.scores.runs.empty())
    return absl::InvalidArgumentError("--json has the measured cells alone: leave --scores out");
  return absl::OkStatus();
}

absl::Status RunEfficiency(const EfficiencyFlags& flags, const CommandContext& context) {
  LRA_RETURN_IF_ERROR(CheckFormat(flags, context));
  LRA_ASSIGN_OR_RETURN(const EfficiencyGrid grid, WholeGrid(flags));
  LRA_ASSIGN_OR_RETURN(const std::optional<Leaderboard> board, BoardOf(flags));
  if (!flags.table.empty()) {
    LRA_ASSIGN_OR_RETURN(const std::vector<BenchRecord> records, ReadRecordFiles(flags.table));
    LRA_RETURN_IF_ERROR(CheckReference(flags, records, board));
    return PrintRecords(flags, grid, records, board, context);
  }
  WaitPatiently(flags.bench.threads);
  LRA_ASSIGN_OR_RETURN(const GridPlan plan, PlanOf(grid, flags));
  LRA_ASSIGN_OR_RETURN(const std::vector<BenchRecord> cells, CellsOfFile(plan, RecordsOf(flags)));
  LRA_RETURN_IF_ERROR(CheckReference(flags, cells, board));
  const CellRunner run = ChildRunner(ThisProgram());
  GridRun to_run = {{}, RecordsOf(flags), context.quiet};
  LRA_ASSIGN_OR_RETURN(to_run.machine, MeasureMachine(run, plan.base.threads(), flags.kernels));
  LRA_RETURN_IF_ERROR(RunGrid(plan, to_run, run).status());
  LRA_ASSIGN_OR_RETURN(const std::vector<BenchRecord> records, ReadRecordFile(to_run.path));
  return PrintRecords(flags, grid, records, board, context);
}

absl::Status RunGenerate(const EfficiencyFlags& flags, const CommandContext& context) {
  WaitPatiently(flags.bench.threads);
  EfficiencyGrid streams = DefaultStreams();
  OverrideGrid(GivenGrid(flags), &streams);
  LRA_ASSIGN_OR_RETURN(const GridPlan plan, PlanOf(streams, flags));
  const CellRunner run = ChildRunner(ThisProgram());
  GridRun grid = {{}, "", context.quiet};
  LRA_ASSIGN_OR_RETURN(grid.machine, MeasureMachine(run, plan.base.threads(), flags.kernels));
  LRA_ASSIGN_OR_RETURN(const std::vector<BenchRecord> records, MeasureGrid(plan, grid, run));
  LRA_RETURN_IF_ERROR(
      PrintBench(GenerateText(records), RecordsJson(records), flags.bench, context));
  return Draw(flags, records);
}

void AddSharedFlags(CLI::App* command, const char* usual_scopes, EfficiencyFlags* flags) {
  AddOption(command, "--attention", &flags->attentions,
            "Attentions with commas, with options NAME:OPTION=VALUE and NAME:causal (default: "
            "transformer,linear,cosformer)",
            {.value = kAttentionValue});
  AddOption(
      command, "--size", &flags->size,
      "small (the default: 2 layers, 2 heads of 32, MLP 128), released (4, 4 of 64, 1,024) or "
      "official (6, 8 of 64, 2,048)",
      {.value = "small|released|official"});
  AddOption(command, "--scope", &flags->scopes,
            absl::StrCat("operator (the attention alone), model (default: ", usual_scopes, ")"),
            {.value = "operator|model"});
  AddOption(command, "--dtype", &flags->dtypes,
            "float32 (the default), bfloat16 (in matrix products)", {.value = "float32|bfloat16"});
  AddOption(command, "--batch", &flags->batches,
            "Examples of a batch, whatever its length N (default: 1)");
  AddOption(command, "--head-widths", &flags->head_widths,
            "Widths D of a head (default: the size's)");
  AddOption(
      command, "--cell-seconds", &flags->cell_seconds,
      "Seconds that one cell, a measurement, may take; 0 = any time (default: the grid's, else 60)",
      {.allowed = FlagRules::kNonNegative});
  AddKernels(command, &flags->kernels);
  AddBenchFlags(command, &flags->bench);
}

void AddGridFlags(CLI::App* command, EfficiencyFlags* flags) {
  AddOption(
      command, "--grid", &flags->grid,
      "A table or figure of a paper (configs/efficiency); other flags go before what it says, but "
      "--threads 0 leaves its threads",
      {.value = "GRID"});
  AddOption(command, "--tokens", &flags->tokens,
            "Lengths N: 512,1024 or 512..65536, which doubles (default: 512..65536)");
  AddOption(command, "--mode", &flags->modes,
            "training (the default: forward and backward; of a model the whole step), forward, "
            "streaming",
            {.value = "training|forward|streaming"});
  AddOption(command, "--batch-tokens", &flags->batch_tokens,
            "Tokens of a batch, whatever its length N: it has this / N examples, without a rest");
  AddOption(command, "--padding", &flags->paddings,
            "none (the default), half (lengths from N to N / 2)", {.value = "none|half"});
  AddOption(command, "--passes", &flags->passes, "Timed passes of a cell, at most (default: 5)",
            {.allowed = FlagRules::kPositive});
  AddOption(command, "--warm-ups", &flags->warm_ups,
            "Passes before the timed ones, at most (default: 2)",
            {.allowed = FlagRules::kPositive});
  AddBytes(command, "--memory-budget", &flags->budget_bytes,
           "Bytes of tensors, e.g. 4GB; what needs more is recorded as out of memory (default: no "
           "limit)");
  AddOption(command, "--records", &flags->records,
            "File of measured cells, a line each; cells that it holds are not measured again "
            "(default: GRID.jsonl with --grid, else efficiency.jsonl)",
            {.value = kFileValue});
}

void AddScores(CLI::App* command, EfficiencyFlags* flags) {
  AddOption(command, "--scores", &flags->scores.runs,
            "Run folders, or folders that hold some: their scores beside the speeds, and with "
            "--figure a picture of both, PREFIX-scores-1.svg",
            {.value = kFolderValue});
}

void AddFigure(CLI::App* command, EfficiencyFlags* flags) {
  AddOption(
      command, "--figure", &flags->figure,
      "Draw time and memory over N (over the width where all have one N) to PREFIX-1.svg, ..., "
      "also as .pdf and .png, a paper's column wide (needs gnuplot)",
      {.value = kPrefixValue});
}

void AddTableFlags(CLI::App* command, EfficiencyFlags* flags) {
  AddOption(command, "--table", &flags->table, "Measure nothing: tables of these record files",
            {.value = kFileValue});
  AddOption(command, "--format", &flags->format, "md or csv",
            {.shows_default = true, .value = "md|csv"});
  AddOption(command, "--published", &flags->published,
            "Printed speeds beside ours: cosformer2022, lra2020 (configs/published_speeds)");
  AddOption(command, "--reference", &flags->reference,
            "Row that ratios of speed are to, of --published and --scores",
            {.shows_default = true});
  AddScores(command, flags);
  AddFigure(command, flags);
}

}  // namespace

void AddBenchEfficiency(CLI::App* group, CommandContext* context) {
  auto flags = std::make_shared<EfficiencyFlags>();
  CLI::App* command =
      AddCommand(group, "efficiency", "Time and memory over the length: records, tables, figures");
  AddSharedFlags(command, "operator", flags.get());
  AddGridFlags(command, flags.get());
  AddTableFlags(command, flags.get());
  SetBody(command, context,
          "  lra bench efficiency --attention transformer,linear,reformer:rounds=4 --tokens "
          "512..8192\n"
          "  lra bench efficiency --scope model --mode forward,training --tokens "
          "1000,2000,3000,4000 --batch 4 --memory-budget 4GB\n"
          "  lra bench efficiency --grid cosformer_table5_small --figure table5\n"
          "  lra bench efficiency --batch-tokens 65536 --mode training --records cells.jsonl\n"
          "  lra bench efficiency --table cells.jsonl --figure efficiency --format csv",
          [flags, context] { return RunEfficiency(*flags, *context); });
}

void AddBenchGenerate(CLI::App* group, CommandContext* context) {
  auto flags = std::make_shared<EfficiencyFlags>();
  CLI::App* command =
      AddCommand(group, "generate", "A stream, token by token: time of a token, size of the state");
  AddSharedFlags(command, "both", flags.get());
  AddOption(command, "--tokens", &flags->tokens,
            "Lengths N: 512,1024 or 512..65536, which doubles (default: 512..8192)");
  AddOption(command, "--timed-tokens", &flags->passes, "Tokens timed after N others (default: 64)",
            {.allowed = FlagRules::kPositive});
  AddFigure(command, flags.get());
  SetBody(command, context,
          "  lra bench generate --attention transformer,linear,cosformer\n"
          "  lra bench generate --attention linear --scope model --size official --tokens "
          "512,65536",
          [flags, context] { return RunGenerate(*flags, *context); });
}

}  // namespace lra
