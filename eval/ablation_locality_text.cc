// How local the cells of an ablation attend.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "eval/ablation_text.h"
#include "eval/locality.h"
#include "lra/text_table.h"

namespace lra {
namespace {

std::vector<std::string> WithMeasures(std::vector<std::string> row,
                                      const std::optional<Locality>& locality, size_t windows) {
  for (std::string& cell : LocalityCells(locality, windows, /*digits=*/4))
    row.push_back(std::move(cell));
  return row;
}

// Why runs were left out, and what weights of both signs count.
std::string Notes(const AblationFactors& factors, const TaskLocality& locality) {
  std::string notes;
  bool is_absolute = false;
  for (size_t c = 0; c < locality.cells.size(); ++c) {
    const CellLocality& cell = locality.cells[c];
    is_absolute = is_absolute || cell.is_absolute;
    if (cell.passed_over > 0) {
      absl::StrAppend(
          &notes, "\n", CellText(factors, static_cast<int>(c)), ": ", cell.passed_over,
          " examples were too long for its weights and others took their place, so its "
          "numbers are of other examples; `lra locality --max-tokens` gives all one limit.\n");
    }
    if (cell.reason.empty()) continue;
    absl::StrAppend(&notes, "\nLeft out of ", CellText(factors, static_cast<int>(c)), ": ",
                    cell.reason, "\n");
  }
  if (is_absolute) notes += "\nWeights of both signs count by their absolute values.\n";
  return notes;
}

}  // namespace

std::string CellsLocalityText(const AblationResult& result, const AblationTask& task) {
  if (!task.locality) return "";
  const AblationFactors& factors = result.ablation.factors;
  const TaskLocality& locality = *task.locality;
  const size_t windows = locality.windows.size();
  TextTable table;
  const bool is_any = locality.examples > 0;
  table.title = absl::StrCat(
      "Locality on ", task.task, ": ",
      is_any ? absl::StrCat("the first ", locality.examples) : std::string("no"), " examples of ",
      locality.split, is_any ? ", means over seeds" : " were measured");
  for (const AblationFactor& factor : factors) table.header.push_back(factor.name);
  table.header.emplace_back("seeds");
  for (std::string& column : LocalityColumns(locality.windows))
    table.header.push_back(std::move(column));
  for (size_t c = 0; c < locality.cells.size(); ++c) {
    std::vector<std::string> row;
    const std::vector<int> levels = LevelsOf(factors, static_cast<int>(c));
    for (size_t f = 0; f < levels.size(); ++f) row.push_back(factors[f].levels[levels[f]]);
    row.push_back(absl::StrCat(locality.cells[c].seeds));
    table.rows.push_back(WithMeasures(std::move(row), locality.cells[c].mean, windows));
  }
  std::vector<std::string> equal(factors.size() + 1, "-");
  equal.front() = "equal weights";
  table.rows.push_back(WithMeasures(std::move(equal), locality.uniform, windows));
  return absl::StrCat("\n", ToMarkdown(table), Notes(factors, locality));
}

}  // namespace lra
