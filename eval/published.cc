#include "eval/published.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lra/check.h"
#include "lra/config.h"
#include "lra/status_macros.h"
#include "lra/textproto.h"

namespace lra {
namespace {

// Half a unit of the last printed digit, plus a little for the rounding of binary fractions.
constexpr double kRounding = 0.005 + 1e-9;

absl::Status CheckRow(const PublishedRow& row) {
  const auto refuse = [&](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat("row \"", row.method(), "\": ", what));
  };
  if (row.method().empty() || row.label().empty()) return refuse("needs method and label");
  if (row.cells().empty()) return refuse("has no cells");
  std::set<std::string> tasks;
  for (const PublishedCell& cell : row.cells()) {
    if (!tasks.insert(cell.task()).second)
      return refuse(absl::StrCat("task ", cell.task(), " occurs twice"));
    if (!(cell.accuracy_percent() >= 0 && cell.accuracy_percent() <= 100)) {
      return refuse(
          absl::StrCat(cell.task(), " is ", cell.accuracy_percent(), ", outside 0 .. 100 percent"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckTable(const PublishedTable& table, absl::string_view name) {
  if (table.name() != name) {
    return absl::InvalidArgumentError(
        absl::StrCat("name is \"", table.name(), "\", the file's is \"", name, "\""));
  }
  if (table.source().empty() || table.protocol().empty() || table.evidence_class().empty()) {
    return absl::InvalidArgumentError("needs source, protocol and evidence_class");
  }
  for (const PublishedRow& row : table.rows()) LRA_RETURN_IF_ERROR(CheckRow(row));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PublishedTable> LoadPublishedTable(absl::string_view name) {
  LRA_ASSIGN_OR_RETURN(const std::string path, ConfigPath("published", "published table", name));
  PublishedTable table;
  LRA_RETURN_IF_ERROR(ReadTextProto(path, &table));
  LRA_RETURN_IF_ERROR(Annotate(CheckTable(table, name), path));
  return table;
}

double MeanOfCells(const PublishedRow& row) {
  LRA_CHECK(!row.cells().empty()) << row.method();
  double sum = 0;
  for (const PublishedCell& cell : row.cells()) sum += cell.accuracy_percent();
  return sum / row.cells_size();
}

std::vector<std::string> AuditAverages(const PublishedTable& table) {
  std::vector<std::string> findings;
  for (const PublishedRow& row : table.rows()) {
    if (row.average_percent() == 0) continue;
    const double mean = MeanOfCells(row);
    if (std::abs(mean - row.average_percent()) <= kRounding) continue;
    findings.push_back(
        absl::StrFormat("%s: the printed average of %s is %.2f, its cells average %.2f",
                        table.name(), row.method(), row.average_percent(), mean));
  }
  return findings;
}

}  // namespace lra
