// What sets cells apart whose names differ by digits alone.
#ifndef LRA_SUITE_CELL_DIFFERENCES_H_
#define LRA_SUITE_CELL_DIFFERENCES_H_

#include <map>
#include <string>
#include <vector>

#include "suite/cells.h"

namespace lra {

// By CellName(): {"model.positions=ROTARY", "model.stem_tokens=7"}, the settings in which the cell
// differs from others of its task, method, preset and protocol. What more than half of these have
// is left out; so a cell that has nothing else, or no such others, has none. Empty where none has.
using CellDifferences = std::map<std::string, std::vector<std::string>>;
CellDifferences DifferencesOf(const std::vector<SuiteCell>& cells);

// The same as a cell of a text table.
std::string DifferencesText(const CellDifferences& differences, const SuiteCell& cell);

}  // namespace lra

#endif  // LRA_SUITE_CELL_DIFFERENCES_H_
