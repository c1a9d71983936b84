// Rows printed by others (configs/published/), kept as data with their source. Tables show them
// apart from measured rows and mark them.
#ifndef LRA_EVAL_PUBLISHED_H_
#define LRA_EVAL_PUBLISHED_H_

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "eval/published.pb.h"

namespace lra {

// Rows of this class were recalled and nobody has read them: nothing shows them.
inline constexpr char kRecalledClass[] = "R";

// Loads configs/published/<name>.textproto. InvalidArgument (with the known names) for an unknown
// one, and for a file that is incomplete or contradicts itself: no source, an unknown class of
// evidence, a column twice, a cell without a value, a percentage outside 0 .. 100 (of a cell or of
// an average), averages of more than six decimals.
absl::StatusOr<PublishedTable> LoadPublishedTable(absl::string_view name);

// From which version of `our_protocol` on its rules of the task are those of the rows.
uint32_t OurRulesSince(const PublishedTable& table, absl::string_view task);

// What the column's numbers are, with the fields filled that the table leaves empty.
PublishedColumn ColumnOf(const PublishedTable& table, absl::string_view name);

// The row's cell of our metric on that split of the task; null where it has none. Nothing else
// stands beside ours.
const PublishedCell* FindCell(const PublishedTable& table, const PublishedRow& row,
                              absl::string_view task, absl::string_view metric,
                              absl::string_view split);

// Names of the columns that rows with cells have, in the order of their first cells.
std::vector<std::string> ColumnNames(const PublishedTable& table);

// Columns that the row's average is over.
std::vector<std::string> AveragedColumns(const PublishedRow& row);

// The tasks of these columns, once for each; empty where the row has no average, or one over
// numbers that are not our metric on that split.
std::multiset<std::string> AveragedTasks(const PublishedTable& table, const PublishedRow& row,
                                         absl::string_view metric, absl::string_view split);

// "65.90", "0.621": a printed number with two decimals, or as many as it was printed with.
std::string PrintedNumber(double value);

// The printed average, "85.70"; "-" without one.
std::string AverageText(const PublishedTable& table, const PublishedRow& row);

// The row's own, or the table's.
std::string EvidenceOf(const PublishedTable& table, const PublishedRow& row);

// The table without rows of class R.
PublishedTable WithoutRecalled(PublishedTable table);

// "cosFormer, ICLR 2022, Table 4".
std::string SourceText(const PublishedTable& table);

// "README.md of ...; evidence class P; copies disagree": what the table has not said of the row.
std::string RemarksOn(const PublishedRow& row);

// Mean of the cells that the row's average is over, as printed; needs at least one.
double MeanOfCells(const PublishedRow& row);

// Checks the arithmetic: returns one sentence for each row whose printed average differs from the
// mean of its cells by more than the rounding of the average explains. Rows without values pass.
std::vector<std::string> AuditAverages(const PublishedTable& table);

}  // namespace lra

#endif  // LRA_EVAL_PUBLISHED_H_
