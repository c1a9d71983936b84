#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/flags.h"
#include "eval/leaderboard.h"
#include "eval/published.h"
#include "eval/table_writer.h"
#include "lra/config.h"
#include "lra/files.h"
#include "lra/status_macros.h"
#include "run_folder/stopped_runs.h"

namespace lra {
namespace {

struct TableFlags {
  std::vector<std::string> runs, published;
  std::string format, out;
  LeaderboardOptions options;
};

// Returns --format or, without it, the format of the extension of --out, else JSON with --json,
// else Markdown.
absl::StatusOr<TableFormat> ChooseFormat(const TableFlags& flags, const CommandContext& context) {
  if (!flags.format.empty()) return ParseTableFormat(flags.format);
  if (!flags.out.empty()) return TableFormatOfPath(flags.out);
  return context.json ? TableFormat::kJson : TableFormat::kMarkdown;
}

std::map<std::string, std::string> AttentionDescriptions() {
  std::map<std::string, std::string> descriptions;
  for (const std::string& name : ConfigNames("attentions")) {
    if (const auto description = ConfigDescription("attentions", name); description.ok())
      descriptions[name] = *description;
  }
  return descriptions;
}

absl::Status MakeTable(const TableFlags& flags, const CommandContext& context) {
  LRA_ASSIGN_OR_RETURN(const TableFormat format, ChooseFormat(flags, context));
  std::vector<PublishedTable> published;
  for (const std::string& name : flags.published) {
    LRA_ASSIGN_OR_RETURN(PublishedTable table, LoadPublishedTable(name));
    published.push_back(std::move(table));
  }
  LeaderboardOptions options = flags.options;
  options.descriptions = AttentionDescriptions();
  LRA_ASSIGN_OR_RETURN(FoundRuns found, FindRunRecords(flags.runs, Damaged::kSetAside));
  LRA_RETURN_IF_ERROR(AddStoppedRuns(&found));
  LRA_ASSIGN_OR_RETURN(const Leaderboard board, BuildLeaderboard(found, published, options));
  const std::string text = WriteLeaderboard(board, format);
  if (flags.out.empty()) {
    std::cout << text << std::flush;
  } else {
    LRA_RETURN_IF_ERROR(WriteFileAtomically(flags.out, text));
  }
  return DamagedRecords(found.damaged, "the table");
}

}  // namespace

void AddTableCommand(CLI::App* app, CommandContext* context) {
  auto flags = std::make_shared<TableFlags>();
  CLI::App* command = AddCommand(
      app, "table", "Make a leaderboard from run records; unlike runs get tables of their own");
  AddOption(command, "runs", &flags->runs, "Run folders, or folders that hold some",
            {.is_required = true});
  AddOption(command, "--format", &flags->format, "md, csv, tex or json (default: --out's, else md)",
            {.value = "md|csv|tex|json"});
  AddOption(command, "--out", &flags->out, "File to write (default: standard output)");
  AddOption(command, "--published", &flags->published,
            "Published tables to show beside, e.g. cosformer2022; a wrong name lists them",
            {.value = kPublishedValue});
  AddOption(command, "--split", &flags->options.split, "Split to show",
            {.shows_default = true, .value = kSplitValue});
  AddOption(command, "--metric", &flags->options.metric,
            "Metric to show, e.g. nats; a wrong name lists them (default: the task's)",
            {.value = kMetricValue});
  AddOption(command, "--confidence", &flags->options.confidence, "Of the intervals",
            {.shows_default = true});
  SetBody(command, context,
          "  lra table runs\n"
          "  lra table runs --published cosformer2022 --out leaderboard.tex",
          [flags, context] { return MakeTable(*flags, *context); });
}

}  // namespace lra
