#include <iostream>
#include <memory>
#include <string>

#include "cli/command.h"
#include "cli/flags.h"
#include "cli/leaderboard_flags.h"
#include "eval/table_writer.h"
#include "lra/files.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

struct TableFlags {
  LeaderboardFlags board;
  std::string format, out;
};

// Returns --format or, without it, the format of the extension of --out, else JSON with --json,
// else Markdown.
absl::StatusOr<TableFormat> ChooseFormat(const TableFlags& flags, const CommandContext& context) {
  if (!flags.format.empty()) return ParseTableFormat(flags.format);
  if (!flags.out.empty()) return TableFormatOfPath(flags.out);
  return context.json ? TableFormat::kJson : TableFormat::kMarkdown;
}

absl::Status MakeTable(const TableFlags& flags, const CommandContext& context) {
  LRA_ASSIGN_OR_RETURN(const TableFormat format, ChooseFormat(flags, context));
  LRA_ASSIGN_OR_RETURN(const LoadedBoard loaded, LoadBoard(flags.board));
  const std::string text = WriteLeaderboard(loaded.board, format);
  if (flags.out.empty()) {
    std::cout << text << std::flush;
  } else {
    LRA_RETURN_IF_ERROR(WriteFileAtomically(flags.out, text));
  }
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
  AddOption(command, "--out", &flags->out, "File to write (default: standard output)");
  AddLeaderboardFlags(command, &flags->board);
  SetBody(command, context,
          "  lra table runs\n"
          "  lra table runs --published cosformer2022 --out leaderboard.tex",
          [flags, context] { return MakeTable(*flags, *context); });
}

}  // namespace lra
