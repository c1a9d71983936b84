// The plan and its error, as text and JSON.
#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "eval/comparison.h"
#include "lra/experiment.h"
#include "lra/progress.h"
#include "lra/text_columns.h"
#include "suite/cell_differences.h"
#include "suite/plan.h"
#include "suite/times.h"

namespace lra {
namespace {

using Json = nlohmann::ordered_json;
using Line = std::vector<std::string>;

// The runs of one cell.
struct CellRuns {
  const SuiteCell* cell = nullptr;
  const RunPlan* plan = nullptr;
  int runs = 0, left = 0;
};

// In the order of the cells.
std::vector<CellRuns> ByCell(const std::vector<SuiteCell>& cells, const SuitePlan& plan) {
  std::vector<CellRuns> all;
  std::map<std::string, size_t> index;
  for (size_t i = 0; i < cells.size(); ++i) {
    const auto [found, is_new] = index.emplace(CellName(cells[i]), all.size());
    if (is_new) all.push_back({&cells[i], &plan.runs[i]});
    CellRuns& of_cell = all[found->second];
    ++of_cell.runs;
    of_cell.left += plan.runs[i].is_left ? 1 : 0;
  }
  return all;
}

std::string BasisOf(const std::optional<RunCost>& cost) {
  if (!cost) return "not known";
  if (cost->finished_runs == 0) return "measured steps";
  return absl::StrCat(cost->finished_runs, cost->finished_runs == 1 ? " run" : " runs");
}

Line LineOf(const CellRuns& runs, const CellDifferences& differences) {
  const std::optional<RunCost>& cost = runs.plan->cost;
  Line line = {CellName(*runs.cell)};
  if (!differences.empty()) line.push_back(DifferencesText(differences, *runs.cell));
  const Line numbers = {absl::StrCat(runs.left, " of ", runs.runs),
                        cost ? FormatSeconds(cost->wall_seconds) : "",
                        cost ? FormatSeconds(cost->cpu_seconds) : "",
                        cost ? FormatBytes(cost->memory_bytes) : "",
                        cost && cost->disk_bytes > 0 ? FormatBytes(cost->disk_bytes) : "",
                        BasisOf(cost)};
  line.insert(line.end(), numbers.begin(), numbers.end());
  return line;
}

Json CellJson(const CellRuns& runs, const CellDifferences& differences) {
  const ExperimentConfig& config = runs.cell->config;
  Json json = {{"cell", CellName(*runs.cell)},
               {"task", config.task()},
               {"method", MethodOf(config)},
               {"runs", runs.runs},
               {"left", runs.left},
               {"basis", BasisOf(runs.plan->cost)}};
  const auto own = differences.find(CellName(*runs.cell));
  if (own != differences.end()) json["set_apart_by"] = own->second;
  if (const std::optional<RunCost>& cost = runs.plan->cost) {
    json["wall_seconds"] = cost->wall_seconds;
    json["cpu_seconds"] = cost->cpu_seconds;
    json["memory_bytes"] = cost->memory_bytes;
    if (cost->disk_bytes > 0) json["disk_bytes"] = cost->disk_bytes;
  }
  return json;
}

std::string Percent(double real, double predicted) {
  return absl::StrFormat("%+.1f %%", 100 * (real / predicted - 1));
}

}  // namespace

std::string TotalText(const SuitePlan& plan) {
  if (plan.left == 0) return "no run is left";
  std::string text = absl::StrCat(plan.left, plan.left == 1 ? " run left: " : " runs left: ");
  if (plan.unknown == plan.left) return absl::StrCat(text, "what they take is not known");
  absl::StrAppend(&text, "about ", FormatSeconds(plan.wall_seconds), " on ", plan.workers,
                  plan.workers == 1 ? " worker" : " workers", ", ", FormatSeconds(plan.cpu_seconds),
                  " of CPU time, ", FormatBytes(plan.memory_bytes), " of memory at most, ",
                  FormatBytes(plan.disk_bytes), " of disk");
  if (plan.unknown > 0) absl::StrAppend(&text, ", and ", plan.unknown, " of unknown size");
  return text;
}

std::string FewSeedsText(const std::vector<SuiteCell>& cells) {
  std::map<std::string, std::set<uint32_t>> seeds;
  for (const SuiteCell& cell : cells) seeds[CellName(cell)].insert(cell.seed);
  const auto few = std::count_if(seeds.begin(), seeds.end(), [](const auto& cell) {
    return static_cast<int64_t>(cell.second.size()) < kLeastPairedSeeds;
  });
  if (seeds.size() < 2 || few == 0) return "";
  return absl::StrCat("note: ", few, " of ", seeds.size(),
                      few == 1 ? " cells has fewer than " : " cells have fewer than ",
                      kLeastPairedSeeds,
                      " seeds: lra ablate, lra compare --paired and --contrast will say nothing of "
                      "new seeds there\n");
}

std::string PlanText(const std::vector<SuiteCell>& cells, const SuitePlan& plan) {
  const CellDifferences differences = DifferencesOf(cells);
  std::vector<Line> lines = {{"cell", "left", "a run", "CPU time", "memory", "disk", "by"}};
  if (!differences.empty()) lines[0].insert(lines[0].begin() + 1, "set apart by");
  for (const CellRuns& runs : ByCell(cells, plan)) lines.push_back(LineOf(runs, differences));
  return absl::StrCat(AlignedText(lines), TotalText(plan), "\n");
}

Json TotalJson(const std::vector<SuiteCell>& cells, const SuitePlan& plan) {
  Json order = Json::array();
  for (size_t i = 0; i < cells.size(); ++i) {
    if (plan.runs[i].is_left) order.push_back(cells[i].name);
  }
  return {{"left", order},
          {"unknown", plan.unknown},
          {"workers", plan.workers},
          {"wall_seconds", plan.wall_seconds},
          {"cpu_seconds", plan.cpu_seconds},
          {"memory_bytes", plan.memory_bytes},
          {"disk_bytes", plan.disk_bytes}};
}

Json PlanJson(const std::vector<SuiteCell>& cells, const SuitePlan& plan) {
  const CellDifferences differences = DifferencesOf(cells);
  Json of_cells = Json::array();
  for (const CellRuns& runs : ByCell(cells, plan)) of_cells.push_back(CellJson(runs, differences));
  Json json = {{"cells", of_cells}};
  json.update(TotalJson(cells, plan));
  return json;
}

std::string PredictionErrorText(const std::string& out, const std::vector<SuiteCell>& cells,
                                const std::vector<CellStatus>& statuses,
                                const EstimateOfCell& estimates) {
  double real = 0, predicted = 0, least = 0, most = 0;
  int runs = 0;
  for (size_t i = 0; i < cells.size(); ++i) {
    const auto estimate = estimates.find(CellName(cells[i]));
    const std::optional<SuiteTime> time = WholeTime(out, cells[i], statuses[i]);
    if (!time || estimate == estimates.end()) continue;
    const double of_run = estimate->second.estimate().wall_seconds();
    const double ratio = time->wall_seconds() / of_run;
    least = runs == 0 ? ratio : std::min(least, ratio);
    most = runs == 0 ? ratio : std::max(most, ratio);
    real += time->wall_seconds();
    predicted += of_run;
    ++runs;
  }
  if (runs == 0) return "";
  return absl::StrCat(runs, runs == 1 ? " run" : " runs", " took ", FormatSeconds(real),
                      ", predicted were ", FormatSeconds(predicted), " (", Percent(real, predicted),
                      "; single runs ", Percent(least, 1), " to ", Percent(most, 1), ")");
}

}  // namespace lra
