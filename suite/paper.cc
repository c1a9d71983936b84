#include "suite/paper.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bench/grid_progress.h"
#include "eval/run_record.h"
#include "lra/config.h"
#include "lra/files.h"
#include "lra/status_macros.h"
#include "lra/textproto.h"
#include "suite/cells.h"
#include "suite/reuse.h"
#include "suite/state.h"
#include "suite/suite_file.h"
#include "suite/suite_folder.h"

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
  for (const std::string& further : item.further_suite())
    LRA_RETURN_IF_ERROR(CheckNamed(kSuites, "suite", further));
  if (item.suite().empty() && !item.further_suite().empty())
    return absl::InvalidArgumentError("has further_suite and no suite");
  for (const std::string& suite : item.command_suite())
    LRA_RETURN_IF_ERROR(CheckNamed(kSuites, "suite", suite));
  if (item.command().empty() && !item.command_suite().empty())
    return absl::InvalidArgumentError("has command_suite and no command");
  LRA_RETURN_IF_ERROR(CheckNamed(kGrids, "grid", item.grid()));
  LRA_RETURN_IF_ERROR(CheckNamed(kSuites, "suite", item.scores()));
  if (item.grid().empty() && !(item.scores().empty() && item.grid_flags().empty()))
    return absl::InvalidArgumentError("has scores or grid_flags and no grid");
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

// The runs in the folders of other suites that are runs of this one, too, by folder.
absl::StatusOr<std::map<std::string, int>> SharedRuns(const std::string& own,
                                                      const std::string& records,
                                                      const std::vector<SuiteCell>& cells) {
  LRA_ASSIGN_OR_RETURN(const std::vector<ReusableRun> runs,
                       FindReusableRuns({records}, own, cells));
  std::map<std::string, int> counts;
  for (const ReusableRun& run : runs)
    ++counts[std::filesystem::path(run.directory).parent_path().filename().string()];
  return counts;
}

// What is kept of the suite in its own folder, then in those of others.
absl::StatusOr<std::vector<KeptResult>> KeptRuns(const std::string& suite,
                                                 const std::vector<SuiteCell>& cells,
                                                 const std::string& records) {
  if (!std::filesystem::is_directory(records)) return std::vector<KeptResult>();
  const int runs = static_cast<int>(cells.size());
  const std::string own = JoinPath(records, suite);
  std::vector<KeptResult> kept;
  if (std::filesystem::exists(own)) {
    KeptResult result{suite, 0, runs, OtherRuns(own, cells)};
    for (const CellStatus& status : ReadStatuses(own, cells)) result.finished += HasEnded(status);
    if (result.finished + result.other > 0) kept.push_back(std::move(result));
  }
  LRA_ASSIGN_OR_RETURN(const auto shared, SharedRuns(own, records, cells));
  for (const auto& [folder, count] : shared) kept.push_back({folder, count, runs});
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

std::vector<std::string> SuitesOf(const PaperItem& item) {
  std::vector<std::string> suites = BothOf(kSuites, item.suite());
  suites.insert(suites.end(), item.further_suite().begin(), item.further_suite().end());
  return suites;
}

std::vector<std::string> GridsOf(const PaperItem& item) { return BothOf(kGrids, item.grid()); }

// The command of the item's grid, or of its twin, which goes with the twin of the scores.
std::string GridCommand(const PaperItem& item, const std::string& grid) {
  std::string command = absl::StrCat("lra bench efficiency --grid ", grid);
  if (!item.scores().empty()) {
    const std::string twin = grid == item.grid() ? "" : SmallFile(kSuites, item.scores());
    absl::StrAppend(&command, " --scores runs/", twin.empty() ? item.scores() : twin);
  }
  if (!item.grid_flags().empty()) absl::StrAppend(&command, " ", item.grid_flags());
  return command;
}

// The suite as its kept folder has it, with the encoders that its runs began from; else by name.
absl::StatusOr<SuiteFile> KeptSuite(const std::string& suite, const std::string& records) {
  absl::StatusOr<SuiteFile> kept = SuiteOfFolder(JoinPath(records, suite));
  return absl::IsNotFound(kept.status()) ? LoadSuite(suite) : std::move(kept);
}

// "cosformer_table6_small: 12 of 40 runs"; adds what is kept to the status.
absl::StatusOr<std::string> SuitePart(const std::string& suite, const SuiteFile& file,
                                      const std::string& records, ItemStatus* status) {
  LRA_ASSIGN_OR_RETURN(const std::vector<SuiteCell> cells, ExpandSuite(file));
  LRA_ASSIGN_OR_RETURN(const std::vector<KeptResult> kept, KeptRuns(suite, cells, records));
  int finished = 0, other = 0;
  for (const KeptResult& result : kept) {
    finished += result.finished;
    other += result.other;
  }
  status->kept.insert(status->kept.end(), kept.begin(), kept.end());
  if (finished == 0 && other > 0)
    return absl::StrCat(suite, ": ", other, " runs under other rules");
  return absl::StrCat(suite, ": ", finished, " of ", cells.size(), " runs");
}

// "cosformer_table5_small: 60 of 96 cells"; adds what is kept to the status.
absl::StatusOr<std::string> GridPart(const std::string& grid, const std::string& records,
                                     ItemStatus* status) {
  const std::string path = JoinPath(records, GridRecords(grid));
  LRA_ASSIGN_OR_RETURN(const GridProgress progress, ProgressOfGrid(grid, path));
  if (FileExists(path)) {
    status->kept.push_back(
        {.path = GridRecords(grid), .measured = progress.measured, .cells = progress.cells});
  }
  return absl::StrCat(grid, ": ", progress.measured, " of ", progress.cells, " cells");
}

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
  for (const std::string& grid : GridsOf(item)) commands.push_back(GridCommand(item, grid));
  commands.insert(commands.end(), item.command().begin(), item.command().end());
  return commands;
}

absl::StatusOr<ItemStatus> StatusOf(const PaperItem& item, const std::string& records) {
  ItemStatus status;
  std::vector<std::string> parts;
  for (const std::string& suite : SuitesOf(item)) {
    LRA_ASSIGN_OR_RETURN(const SuiteFile file, LoadSuite(suite));
    LRA_ASSIGN_OR_RETURN(parts.emplace_back(), SuitePart(suite, file, records, &status));
  }
  for (const std::string& suite : item.command_suite()) {
    LRA_ASSIGN_OR_RETURN(const SuiteFile file, KeptSuite(suite, records));
    LRA_ASSIGN_OR_RETURN(parts.emplace_back(), SuitePart(suite, file, records, &status));
  }
  for (const std::string& grid : GridsOf(item)) {
    LRA_ASSIGN_OR_RETURN(parts.emplace_back(), GridPart(grid, records, &status));
  }
  status.text = status.kept.empty() ? NothingKept(item) : absl::StrJoin(parts, "; ");
  return status;
}

}  // namespace lra
