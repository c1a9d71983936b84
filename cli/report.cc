// lra report
#include "report/report.h"

#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/leaderboard_flags.h"
#include "lra/files.h"
#include "lra/status_macros.h"
#include "nlohmann/json.hpp"
#include "report/figures.h"
#include "report/shown_names.h"
#include "suite/cells.h"
#include "suite/designs.h"
#include "suite/state.h"
#include "suite/suite_folder.h"

namespace lra {
namespace {

struct ReportFlags {
  LeaderboardFlags board;
  std::string out = "report.html", figures;
};

// "table6: 5 of 12 runs finished, 1 diverged, 6 waiting" of every suite that has runs to come.
absl::StatusOr<std::vector<std::string>> SuiteProgress(const std::vector<std::string>& folders) {
  std::vector<std::string> progress;
  for (const std::string& folder : folders) {
    const absl::StatusOr<SuiteFile> suite = SuiteOfFolder(folder);
    if (absl::IsNotFound(suite.status())) continue;
    LRA_RETURN_IF_ERROR(suite.status());
    LRA_ASSIGN_OR_RETURN(const std::vector<SuiteCell> cells, ExpandSuite(*suite));
    std::map<CellState, int> counts;
    for (const CellStatus& status : ReadStatuses(folder, cells)) ++counts[status.state];
    const int finished = counts[CellState::kFinished];
    if (finished == static_cast<int>(cells.size())) continue;
    counts.erase(CellState::kFinished);
    progress.push_back(absl::StrCat(
        ShownNames({folder}).In(folder), ": ", finished, " of ", cells.size(), " runs finished, ",
        absl::StrJoin(counts, ", ", [](std::string* out, const auto& state) {
          absl::StrAppend(out, state.second, " ", CellStateName(state.first));
        })));
  }
  return progress;
}

// What `lra ablate` says of each suite.
absl::StatusOr<SuiteEffects> EffectsOf(const std::vector<std::string>& suites,
                                       const LoadedBoard& loaded) {
  const LeaderboardOptions& options = loaded.board.options;
  AblateRequest request;
  request.split = options.split;
  request.metric = options.metric;
  request.confidence = options.confidence;
  return AblateSuites(suites, loaded.found, request);
}

absl::Status WriteReport(const ReportFlags& flags, const CommandContext& context) {
  LRA_ASSIGN_OR_RETURN(const LoadedBoard loaded, LoadBoard(flags.board));
  LRA_ASSIGN_OR_RETURN(const std::vector<std::string> progress, SuiteProgress(loaded.folders));
  const std::vector<std::string> suites = SuiteFoldersBelow(loaded.folders);
  LRA_ASSIGN_OR_RETURN(SuiteEffects effects, EffectsOf(suites, loaded));
  const std::string page = MakeReport({.folders = loaded.folders,
                                       .found = &loaded.found,
                                       .board = &loaded.board,
                                       .progress = progress,
                                       .suites = suites,
                                       .ablations = std::move(effects.reports),
                                       .problems = std::move(effects.problems),
                                       .page = flags.out});
  LRA_RETURN_IF_ERROR(WriteFileAtomically(flags.out, page));
  nlohmann::ordered_json json = {{"page", flags.out},
                                 {"size_bytes", page.size()},
                                 {"runs", loaded.found.runs.size()},
                                 {"damaged_records", loaded.found.damaged.size()}};
  if (!flags.figures.empty()) {
    LRA_ASSIGN_OR_RETURN(const std::vector<std::string> stems,
                         DrawReportFigures(loaded.board, loaded.found.runs, flags.figures));
    json["figures"] = stems;
    if (!context.quiet)
      std::cerr << flags.figures << ": " << stems.size() << " figures, each as svg, pdf and png\n";
  }
  if (!context.quiet) std::cerr << flags.out << ": " << page.size() << " bytes\n";
  if (context.json) PrintJson(json);
  return DamagedRecords(loaded.found.damaged, "the report");
}

}  // namespace

void AddReportCommand(CLI::App* app, CommandContext* context) {
  auto flags = std::make_shared<ReportFlags>();
  CLI::App* command = AddCommand(
      app, "report", "Make one HTML page from run records: leaderboard, and the runs behind it");
  AddRunsArgument(command, &flags->board);
  AddOption(command, "--out", &flags->out, "Page to write",
            {.shows_default = true, .value = kFileValue});
  AddOption(command, "--figures", &flags->figures,
            "Folder for figures as SVG, PDF and PNG, a paper's column wide (needs gnuplot)",
            {.value = kFolderValue});
  AddLeaderboardFlags(command, &flags->board);
  SetBody(command, context,
          "  lra report runs\n"
          "  lra report runs --published cosformer2022 --out runs/report.html\n"
          "  lra report runs --figures figures",
          [flags, context] { return WriteReport(*flags, *context); });
}

}  // namespace lra
