#include "suite/paper.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "eval/run_record.h"
#include "lra/config.h"
#include "lra/files.h"
#include "lra/status_macros.h"
#include "lra/textproto.h"
#include "suite/cells.h"
#include "suite/state.h"

namespace lra {
namespace {

constexpr char kSuites[] = "suites";
constexpr char kGrids[] = "efficiency";

absl::Status CheckNamed(absl::string_view kind, absl::string_view what, const std::string& name) {
  return name.empty() ? absl::OkStatus() : ConfigPath(kind, what, name).status();
}

absl::Status CheckItem(const PaperItem& item) {
  if (item.name().empty() || item.shows().empty())
    return absl::InvalidArgumentError("needs name and shows");
  if (item.suite().empty() && item.grid().empty() && item.command().empty() &&
      item.reason().empty()) {
    return absl::InvalidArgumentError("needs a suite, a grid, a command or a reason");
  }
  LRA_RETURN_IF_ERROR(CheckNamed(kSuites, "suite", item.suite()));
  LRA_RETURN_IF_ERROR(CheckNamed(kGrids, "grid", item.grid()));
  LRA_RETURN_IF_ERROR(CheckNamed("published", "published table", item.published()));
  return CheckNamed("published", "published table", item.beside());
}

absl::Status CheckPaper(const PaperFile& paper) {
  if (paper.title().empty()) return absl::InvalidArgumentError("needs a title");
  std::set<std::string> names;
  for (const PaperItem& item : paper.item()) {
    LRA_RETURN_IF_ERROR(Annotate(CheckItem(item), absl::StrCat("item \"", item.name(), "\"")));
    if (!names.insert(item.name()).second)
      return absl::InvalidArgumentError(absl::StrCat("item \"", item.name(), "\" occurs twice"));
  }
  return absl::OkStatus();
}

// Records in the folder of a suite that are none of these cells'; `baselines` is a folder deeper.
int OtherRuns(const std::string& folder, const std::vector<SuiteCell>& cells) {
  std::set<std::string> names;
  for (const SuiteCell& cell : cells) names.insert(cell.name);
  int others = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (names.count(name) == 0 && std::filesystem::exists(entry.path() / kRecordFile)) ++others;
  }
  return others;
}

// Expanding a suite takes longer than to see that nothing of it is kept.
absl::StatusOr<KeptResult> KeptRuns(const std::string& suite, const std::string& records) {
  if (!std::filesystem::exists(JoinPath(records, suite))) return KeptResult{suite, 0, 0};
  LRA_ASSIGN_OR_RETURN(const SuiteFile file, LoadSuite(suite));
  LRA_ASSIGN_OR_RETURN(const std::vector<SuiteCell> cells, ExpandSuite(file));
  KeptResult kept{suite, 0, static_cast<int>(cells.size())};
  for (const CellStatus& status : ReadStatuses(JoinPath(records, suite), cells)) {
    const bool has_ended =
        status.state == CellState::kFinished || status.state == CellState::kDiverged;
    kept.finished += has_ended ? 1 : 0;
  }
  kept.other = OtherRuns(JoinPath(records, suite), cells);
  return kept;
}

// NAME_small where there is such a file.
std::string SmallFile(const std::string& kind, absl::string_view name) {
  const std::string twin = absl::StrCat(name, "_small");
  const std::vector<std::string> names = ConfigNames(kind);
  return std::find(names.begin(), names.end(), twin) == names.end() ? "" : twin;
}

// The suite or grid behind its twin; nothing where there is none.
std::vector<std::string> BothOf(const std::string& kind, const std::string& name) {
  std::vector<std::string> both;
  if (name.empty()) return both;
  if (const std::string small = SmallFile(kind, name); !small.empty()) both.push_back(small);
  both.push_back(name);
  return both;
}

std::vector<std::string> SuitesOf(const PaperItem& item) { return BothOf(kSuites, item.suite()); }
std::vector<std::string> GridsOf(const PaperItem& item) { return BothOf(kGrids, item.grid()); }

// What there is to say where nothing is kept.
std::string NothingKept(const PaperItem& item) {
  if (!item.suite().empty() || !item.grid().empty()) return "not run";
  return item.command().empty() ? "not to be run here" : "not kept";
}

}  // namespace

absl::StatusOr<PaperFile> LoadPaper(absl::string_view name) {
  LRA_ASSIGN_OR_RETURN(const std::string path, ConfigPath("papers", "paper", name));
  PaperFile paper;
  LRA_RETURN_IF_ERROR(ReadTextProto(path, &paper));
  LRA_RETURN_IF_ERROR(Annotate(CheckPaper(paper), path));
  return paper;
}

std::string SmallTwin(absl::string_view suite) { return SmallFile(kSuites, suite); }

std::string GridRecords(absl::string_view grid) {
  return absl::StrCat("efficiency/", grid, ".jsonl");
}

std::vector<std::string> CommandsOf(const PaperItem& item) {
  std::vector<std::string> commands;
  const std::vector<std::string> suites = SuitesOf(item);
  for (const std::string& suite : suites) commands.push_back(absl::StrCat("lra run ", suite));
  if (!suites.empty()) {
    commands.push_back(
        absl::StrCat("lra table runs/", suites.front(),
                     item.beside().empty() ? "" : absl::StrCat(" --published ", item.beside())));
  }
  for (const std::string& grid : GridsOf(item)) {
    commands.push_back(absl::StrCat("lra bench efficiency --grid ", grid,
                                    item.grid_flags().empty() ? "" : " ", item.grid_flags()));
  }
  commands.insert(commands.end(), item.command().begin(), item.command().end());
  return commands;
}

absl::StatusOr<ItemStatus> StatusOf(const PaperItem& item, const std::string& records) {
  ItemStatus status;
  std::vector<std::string> parts;
  for (const std::string& suite : SuitesOf(item)) {
    LRA_ASSIGN_OR_RETURN(KeptResult kept, KeptRuns(suite, records));
    if (kept.finished == 0 && kept.other == 0) continue;
    parts.push_back(kept.finished > 0 ? absl::StrCat(kept.finished, " of ", kept.runs, " runs")
                                      : absl::StrCat(kept.other, " runs under other rules"));
    status.kept.push_back(std::move(kept));
  }
  for (const std::string& grid : GridsOf(item)) {
    if (!std::filesystem::exists(JoinPath(records, GridRecords(grid)))) continue;
    parts.push_back("measured");
    status.kept.push_back({GridRecords(grid), 0, 0});
  }
  status.text = parts.empty() ? NothingKept(item) : absl::StrJoin(parts, ", ");
  return status;
}

}  // namespace lra
