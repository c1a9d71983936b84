#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/flags.h"
#include "cli/leaderboard_flags.h"
#include "cli/patient_threads.h"
#include "cli/plain_format.h"
#include "eval/table_paper.h"
#include "eval/table_writer.h"
#include "eval/verification.h"
#include "inspect/verify_run.h"
#include "lra/status_macros.h"
#include "lra/suggest.h"

namespace lra {
namespace {

// Values of --style.
constexpr char kPlain[] = "plain", kPaper[] = "paper";

struct TableFlags {
  LeaderboardFlags board;
  std::string format, out, style = kPlain;
  bool verifies = false;
  VerifyOptions verify;
};

absl::Status CheckStyle(const std::string& style, TableFormat format) {
  if (style != kPlain && style != kPaper) return UnknownNameError("style", style, {kPaper, kPlain});
  if (style == kPlain || format == TableFormat::kLatex) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "--style paper is LaTeX: leave out --format and --json, or give tex");
}

// In place of the table.
absl::Status Verify(const TableFlags& flags, const CommandContext& context) {
  const LeaderboardFlags& board = flags.board;
  for (const std::string* of_table : {&flags.out, &flags.format, &board.tasks, &board.methods}) {
    if (!of_table->empty())
      return absl::InvalidArgumentError(
          "--verify prints what it found in all runs and no table: leave out --out, --format, "
          "--tasks and --methods");
  }
  VerifyOptions options = flags.verify;
  options.quiet = context.quiet;
  LRA_RETURN_IF_ERROR(StartComputing(options.threads, context));
  LRA_ASSIGN_OR_RETURN(const std::vector<std::string> folders, FoldersOf(board));
  LRA_ASSIGN_OR_RETURN(const std::vector<Verification> runs, VerifyRuns(folders, options));
  std::cout << (context.json ? VerificationJson(runs) : VerificationText(runs)) << std::flush;
  return ChangedRuns(runs);
}

absl::Status MakeTable(const TableFlags& flags, const CommandContext& context) {
  const bool is_for_paper = flags.style == kPaper;
  LRA_ASSIGN_OR_RETURN(const TableFormat format,
                       ChosenFormat(flags.format, flags.out, context.json,
                                    is_for_paper ? TableFormat::kLatex : TableFormat::kMarkdown));
  LRA_RETURN_IF_ERROR(CheckStyle(flags.style, format));
  LRA_ASSIGN_OR_RETURN(const LoadedBoard loaded, LoadBoard(flags.board));
  const std::string text =
      is_for_paper ? WritePaperTables(loaded.board) : WriteLeaderboard(loaded.board, format);
  LRA_RETURN_IF_ERROR(WriteResult(text, flags.out));
  return DamagedRecords(loaded.found.damaged, "the table");
}

}  // namespace

void AddTableCommand(CLI::App* app, CommandContext* context) {
  auto flags = std::make_shared<TableFlags>();
  CLI::App* command = AddCommand(
      app, "table", "Make a leaderboard from run records; unlike runs get tables of their own");
  AddRunsArgument(command, &flags->board);
  AddOption(command, "--format", &flags->format,
            "md, csv, tex, json or html (default: --out's, else md)",
            {.value = "md|csv|tex|json|html"});
  AddOption(command, "--out", &flags->out, "File to write (default: standard output)",
            {.value = kFileValue});
  AddOption(command, "--style", &flags->style,
            "paper = LaTeX that fits a paper's column or page: aligned, best in bold, with a label",
            {.shows_default = true, .value = "plain|paper"});
  AddSwitch(command, "--cost", &flags->board.options.shows_cost,
            "Columns that say what the fastest run of each cell took: core-hours or, on a device, "
            "device-hours, and energy where it was counted");
  AddChoiceFlags(command, &flags->board);
  AddLeaderboardFlags(command, &flags->board);
  AddSwitch(command, "--verify", &flags->verifies,
            "In place of a table: compare every file with its record, and a sample of predictions "
            "(of guessed tokens, of scores of examples) with what the checkpoints give");
  AddOption(command, "--verify-examples", &flags->verify.examples,
            "How many predictions of each split and checkpoint are made anew, at least; 0 = all",
            {.shows_default = true, .allowed = FlagRules::kNonNegative, .needs = "--verify"});
  AddThreads(command, &flags->verify.threads, "; with --verify alone");
  AddKernels(command, &context->kernels);
  SetBody(command, context,
          "  lra table runs\n"
          "  lra table near_majority_control\n"
          "  lra table runs --published cosformer2022 --out leaderboard.tex\n"
          "  lra table runs --style paper --published lra2020 --out table.tex\n"
          "  lra table runs --verify",
          [flags, context] {
            return flags->verifies ? Verify(*flags, *context) : MakeTable(*flags, *context);
          });
}

}  // namespace lra
