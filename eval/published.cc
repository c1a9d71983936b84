#include "eval/published.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "eval/metric.h"
#include "lra/check.h"
#include "lra/config.h"
#include "lra/status_macros.h"
#include "lra/textproto.h"

namespace lra {
namespace {

constexpr int kMostDecimals = 6;  // of a printed number

int AverageDecimals(const PublishedTable& table) {
  return table.has_average_decimals() ? static_cast<int>(table.average_decimals()) : 2;
}

// Whether that is our metric on that split.
bool IsAlike(const PublishedColumn& column, absl::string_view metric, absl::string_view split) {
  return column.metric() == metric && column.split() == split;
}

absl::Status CheckClass(absl::string_view name) {
  if (name == "P" || name == "S" || name == "R") return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("evidence_class is \"", name, "\"; there are P, S and R"));
}

bool IsPercent(const PublishedTable& table, absl::string_view column) {
  return ColumnOf(table, column).unit() == "%";
}

absl::Status CheckNumber(absl::string_view name, double value, bool is_percent) {
  if (std::isfinite(value) && value >= 0 && (!is_percent || value <= 100)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(name, " is ", value, ", outside",
                                                 is_percent ? " 0 .. 100 percent" : " 0 .. inf"));
}

absl::Status CheckCell(const PublishedTable& table, const PublishedCell& cell) {
  if (!cell.has_value() && !cell.is_failed())
    return absl::InvalidArgumentError(absl::StrCat(cell.column(), " has no value"));
  LRA_RETURN_IF_ERROR(CheckNumber(cell.column(), cell.value(), IsPercent(table, cell.column())));
  if (cell.has_spread() && table.spread().empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(cell.column(), " has a spread; `spread` of the table does not say which"));
  }
  return absl::OkStatus();
}

absl::Status CheckAverage(const PublishedTable& table, const PublishedRow& row) {
  if (!row.has_average()) return absl::OkStatus();
  const std::vector<std::string> columns = AveragedColumns(row);
  const bool is_percent =
      std::all_of(columns.begin(), columns.end(),
                  [&](const std::string& column) { return IsPercent(table, column); });
  return CheckNumber("average", row.average(), is_percent);
}

absl::Status CheckCells(const PublishedTable& table, const PublishedRow& row) {
  if (row.cells().empty() && row.average_of().empty())
    return absl::InvalidArgumentError("has neither cells nor average_of");
  if (!row.has_average() && !row.average_of().empty())
    return absl::InvalidArgumentError("has average_of and no average");
  std::set<std::string> columns;
  for (const PublishedCell& cell : row.cells()) {
    if (!columns.insert(cell.column()).second)
      return absl::InvalidArgumentError(absl::StrCat("column ", cell.column(), " occurs twice"));
    LRA_RETURN_IF_ERROR(CheckCell(table, cell));
  }
  return CheckAverage(table, row);
}

absl::Status CheckRow(const PublishedTable& table, const PublishedRow& row) {
  absl::Status status = CheckCells(table, row);
  if (row.method().empty() || row.label().empty())
    status = absl::InvalidArgumentError("needs method and label");
  if (status.ok()) status = CheckClass(EvidenceOf(table, row));
  return Annotate(status, absl::StrCat("row \"", row.method(), "\""));
}

// A column under the name of our metric is in a unit of ours.
absl::Status CheckColumn(const PublishedColumn& column) {
  if (column.name().empty() || column.metric().empty())
    return absl::InvalidArgumentError("a column needs name and metric");
  const auto metric = FindMetric(column.metric());
  if (!metric.ok() || column.unit().empty()) return absl::OkStatus();
  std::vector<std::string> units = (*metric)->traits().other_units;
  units.insert(units.begin(), (*metric)->traits().unit);
  if (std::find(units.begin(), units.end(), column.unit()) != units.end()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("column \"", column.name(), "\": ", column.metric(), " is in ",
                   absl::StrJoin(units, " or "), ", not in ", column.unit()));
}

absl::Status CheckRulesSince(const PublishedTable& table) {
  if (table.our_rules_since_size() > 0 && table.our_protocol().empty())
    return absl::InvalidArgumentError("our_rules_since needs our_protocol");
  std::set<std::string> tasks;
  for (const RulesSince& since : table.our_rules_since()) {
    const std::string task = since.task().empty() ? "every task" : since.task();
    if (since.version() == 0)
      return absl::InvalidArgumentError(
          absl::StrCat("our_rules_since: version of ", task, " must be at least 1"));
    if (!tasks.insert(task).second)
      return absl::InvalidArgumentError(absl::StrCat("our_rules_since: ", task, " occurs twice"));
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
  LRA_RETURN_IF_ERROR(CheckClass(table.evidence_class()));
  if (table.average_decimals() > uint32_t{kMostDecimals}) {
    return absl::InvalidArgumentError(absl::StrCat("average_decimals is ", table.average_decimals(),
                                                   ", must be at most ", kMostDecimals));
  }
  if (table.our_protocol().empty() != table.our_preset().empty())
    return absl::InvalidArgumentError("needs our_protocol and our_preset, or neither");
  LRA_RETURN_IF_ERROR(CheckRulesSince(table));
  for (const PublishedColumn& column : table.columns()) LRA_RETURN_IF_ERROR(CheckColumn(column));
  for (const PublishedRow& row : table.rows()) LRA_RETURN_IF_ERROR(CheckRow(table, row));
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

uint32_t OurRulesSince(const PublishedTable& table, absl::string_view task) {
  uint32_t version = 1;
  for (const RulesSince& since : table.our_rules_since()) {
    if (since.task() == task) return since.version();
    if (since.task().empty()) version = since.version();
  }
  return version;
}

PublishedColumn ColumnOf(const PublishedTable& table, absl::string_view name) {
  PublishedColumn column;
  const auto declared =
      std::find_if(table.columns().begin(), table.columns().end(),
                   [&](const PublishedColumn& one) { return one.name() == name; });
  if (declared != table.columns().end()) column = *declared;
  column.set_name(std::string(name));
  if (column.task().empty()) column.set_task(column.name());
  if (column.split().empty()) column.set_split("test");
  if (column.metric().empty()) column.set_metric(kAccuracy);
  if (const auto metric = FindMetric(column.metric()); metric.ok()) {
    if (column.unit().empty()) column.set_unit((*metric)->traits().unit);
    column.set_is_lower_better(!(*metric)->traits().is_higher_better);
  }
  return column;
}

const PublishedCell* FindCell(const PublishedTable& table, const PublishedRow& row,
                              absl::string_view task, absl::string_view metric,
                              absl::string_view split) {
  for (const PublishedCell& cell : row.cells()) {
    const PublishedColumn column = ColumnOf(table, cell.column());
    if (column.task() == task && IsAlike(column, metric, split)) return &cell;
  }
  return nullptr;
}

std::vector<std::string> ColumnNames(const PublishedTable& table) {
  std::vector<std::string> names;
  for (const PublishedRow& row : table.rows()) {
    for (const PublishedCell& cell : row.cells()) {
      if (std::find(names.begin(), names.end(), cell.column()) == names.end())
        names.push_back(cell.column());
    }
  }
  return names;
}

std::vector<std::string> AveragedColumns(const PublishedRow& row) {
  if (!row.average_of().empty()) return {row.average_of().begin(), row.average_of().end()};
  std::vector<std::string> columns;
  for (const PublishedCell& cell : row.cells()) {
    if (cell.has_value()) columns.push_back(cell.column());
  }
  return columns;
}

std::multiset<std::string> AveragedTasks(const PublishedTable& table, const PublishedRow& row,
                                         absl::string_view metric, absl::string_view split) {
  if (!row.has_average()) return {};
  std::multiset<std::string> tasks;
  for (const std::string& name : AveragedColumns(row)) {
    const PublishedColumn column = ColumnOf(table, name);
    if (!IsAlike(column, metric, split)) return {};
    tasks.insert(column.task());
  }
  return tasks;
}

std::string PrintedNumber(double value) {
  int decimals = 2;
  std::string text = absl::StrFormat("%.*f", decimals, value);
  while (decimals < kMostDecimals && std::abs(std::strtod(text.c_str(), nullptr) - value) > 1e-9)
    text = absl::StrFormat("%.*f", ++decimals, value);
  return text;
}

std::string AverageText(const PublishedTable& table, const PublishedRow& row) {
  return row.has_average() ? absl::StrFormat("%.*f", AverageDecimals(table), row.average()) : "-";
}

std::string EvidenceOf(const PublishedTable& table, const PublishedRow& row) {
  return row.evidence_class().empty() ? table.evidence_class() : row.evidence_class();
}

PublishedTable WithoutRecalled(PublishedTable table) {
  auto* rows = table.mutable_rows();
  rows->erase(std::remove_if(rows->begin(), rows->end(),
                             [&](const PublishedRow& row) {
                               return EvidenceOf(table, row) == kRecalledClass;
                             }),
              rows->end());
  return table;
}

std::string SourceText(const PublishedTable& table) {
  return absl::StrCat(table.source(), table.item().empty() ? "" : ", ", table.item());
}

std::string RemarksOn(const PublishedRow& row) {
  std::vector<std::string> parts;
  if (!row.source().empty()) parts.push_back(row.source());
  if (!row.evidence_class().empty())
    parts.push_back(absl::StrCat("evidence class ", row.evidence_class()));
  if (!row.note().empty()) parts.push_back(row.note());
  return absl::StrJoin(parts, "; ");
}

double MeanOfCells(const PublishedRow& row) {
  double sum = 0;
  int count = 0;
  for (const PublishedCell& cell : row.cells()) {
    if (!cell.has_value()) continue;
    sum += cell.value();
    ++count;
  }
  LRA_CHECK(count > 0) << row.method();
  return sum / count;
}

std::vector<std::string> AuditAverages(const PublishedTable& table) {
  const int decimals = AverageDecimals(table);
  // Half a unit of the last printed digit, plus a little for the rounding of binary fractions.
  const double rounding = 0.5 * std::pow(10.0, -decimals) + 1e-9;
  std::vector<std::string> findings;
  for (const PublishedRow& row : table.rows()) {
    if (!row.has_average() || !row.average_of().empty() || AveragedColumns(row).empty()) continue;
    const double mean = MeanOfCells(row);
    if (std::abs(mean - row.average()) <= rounding) continue;
    findings.push_back(
        absl::StrFormat("%s: the printed average of %s is %.*f, its cells average %.*f",
                        table.name(), row.method(), decimals, row.average(), decimals, mean));
  }
  return findings;
}

}  // namespace lra
