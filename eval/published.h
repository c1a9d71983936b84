// Rows printed by others (configs/published/), kept as data with their source. Tables show them
// apart from measured rows and mark them.
#ifndef LRA_EVAL_PUBLISHED_H_
#define LRA_EVAL_PUBLISHED_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "eval/published.pb.h"

namespace lra {

// Loads configs/published/<name>.textproto. InvalidArgument (with the known names) for an unknown
// one, and for a file that is incomplete: no source, a task twice in a row, a cell outside 0 ..
// 100.
absl::StatusOr<PublishedTable> LoadPublishedTable(absl::string_view name);

// Mean of the row's cells in percent; needs at least one cell.
double MeanOfCells(const PublishedRow& row);

// Checks the arithmetic: returns one sentence for each row whose printed average differs from the
// mean of its cells by more than rounding to two decimals explains.
std::vector<std::string> AuditAverages(const PublishedTable& table);

}  // namespace lra

#endif  // LRA_EVAL_PUBLISHED_H_
