// Published rows beside ours, and the differences.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "eval/later_look.h"
#include "eval/leaderboard_internal.h"
#include "eval/published.h"
#include "lra/protocol_rules.h"

namespace lra {
namespace {

// --- Which rows ---

std::vector<PublishedCell> Values(const PublishedRow& row) {
  std::vector<PublishedCell> cells;
  std::copy_if(row.cells().begin(), row.cells().end(), std::back_inserter(cells),
               [](const PublishedCell& cell) { return cell.has_value(); });
  return cells;
}

bool IsCopy(const PublishedRow& a, const PublishedRow& b) {
  const std::vector<PublishedCell> x = Values(a), y = Values(b);
  return !x.empty() && a.method() == b.method() && a.average() == b.average() &&
         std::equal(x.begin(), x.end(), y.begin(), y.end(),
                    [](const PublishedCell& one, const PublishedCell& other) {
                      return one.column() == other.column() && one.value() == other.value();
                    });
}

void AddToNote(const std::string& sentence, PublishedTable* table) {
  table->set_note(absl::StrCat(table->note(), table->note().empty() ? "" : " ", sentence));
}

// Papers copy rows of earlier ones.
void DropCopies(const PublishedTable& earlier, PublishedTable* table) {
  auto* rows = table->mutable_rows();
  const auto copies = std::stable_partition(rows->begin(), rows->end(), [&](const auto& row) {
    return std::none_of(earlier.rows().begin(), earlier.rows().end(),
                        [&](const PublishedRow& other) { return IsCopy(row, other); });
  });
  const auto count = std::distance(copies, rows->end());
  if (count == 0) return;
  rows->erase(copies, rows->end());
  AddToNote(absl::StrCat("Rows that it shares with ", earlier.name(), " are shown there only (",
                         count, ")."),
            table);
}

void DropRecalled(PublishedTable* table) {
  const int before = table->rows_size();
  *table = WithoutRecalled(*std::move(table));
  const int count = before - table->rows_size();
  if (count == 0) return;
  AddToNote(
      absl::StrCat("Rows that were recalled and that nobody has read are left out (", count, ")."),
      table);
}

// --- By column ---

PublishedRows::Row AlignRow(const PublishedTable& source, const PublishedRow& row,
                            absl::string_view split, const LeaderboardTable& table) {
  PublishedRows::Row aligned{row, {}, std::nullopt, {}};
  const std::string& metric = table.metric->name();
  for (const std::string& task : table.tasks) {
    const PublishedCell* const cell = FindCell(source, row, task, metric, split);
    aligned.cells.push_back(cell == nullptr ? std::nullopt : std::optional(*cell));
  }
  const std::multiset<std::string> tasks(table.tasks.begin(), table.tasks.end());
  if (table.has_average() && AveragedTasks(source, row, metric, split) == tasks)
    aligned.average = row.average();
  return aligned;
}

bool IsShown(const PublishedRows::Row& row) {
  return row.average || std::any_of(row.cells.begin(), row.cells.end(),
                                    [](const auto& cell) { return cell.has_value(); });
}

// --- Ours beside it ---

// Whether our runs follow the rules and sizes by which the source's rows were obtained. From rows
// of others a difference says nothing of the method.
bool IsObtainedAlike(const internal::ColumnRuns& column, const PublishedTable& source) {
  const RunRecord& record = column.entries.front().record();  // measured ones come first
  const ExperimentConfig& config = record.config();
  const std::string overrides = internal::TellingOverridesOf(record);
  return record.kind() == RunRecord::MEASURED && !Departs(record) && !record.provenance().empty() &&
         !source.our_protocol().empty() && ProtocolName(config) == source.our_protocol() &&
         ProtocolVersion(config.protocol()) >= OurRulesSince(source, column.task) &&
         config.preset() == source.our_preset() &&
         (overrides.empty() || overrides == source.our_override());
}

PublishedDifference Minus(double ours, const std::optional<Interval>& interval, double printed,
                          const Metric& metric) {
  const double published = printed / metric.traits().scale;
  PublishedDifference difference{ours - published, std::nullopt};
  if (interval && !std::isnan(interval->low))
    difference.interval = {interval->low - published, interval->high - published};
  return difference;
}

// One of our rows beside a published one.
struct RowBeside {
  std::optional<PublishedRows::Beside> differences;  // nothing where there are none to show
  bool leaves_out = false;  // some difference, because its column was obtained otherwise
};

// `alike`: which columns were obtained as the source's rows.
RowBeside Compare(const LeaderboardRow& ours, const PublishedRows::Row& published,
                  const Metric& metric, const std::vector<bool>& alike) {
  PublishedRows::Beside beside{ours.label, {}, std::nullopt};
  beside.cells.resize(ours.cells.size());
  bool has_any = false, leaves_out = false;
  for (size_t c = 0; c < ours.cells.size(); ++c) {
    const auto& cell = ours.cells[c];
    const auto& printed = published.cells[c];
    if (!cell || cell->trained == 0 || std::isnan(cell->value)) continue;
    if (!printed || printed->is_failed()) continue;
    if (!alike[c]) {
      leaves_out = true;
      continue;
    }
    beside.cells[c] = Minus(cell->value, cell->interval, printed->value(), metric);
    has_any = true;
  }
  if (ours.average && published.average) {
    if (std::find(alike.begin(), alike.end(), false) == alike.end()) {
      beside.average = Minus(*ours.average, ours.average_interval, *published.average, metric);
      has_any = true;
    } else {
      leaves_out = true;
    }
  }
  return {has_any ? std::optional(std::move(beside)) : std::nullopt, leaves_out};
}

struct AlignedRows {
  PublishedRows published;
  bool leaves_out = false;  // some difference, as RowBeside has it
};

AlignedRows AlignPublished(const PublishedTable& source, absl::string_view split,
                           const LeaderboardTable& table, const std::vector<bool>& alike) {
  AlignedRows rows{.published = {source, {}}};
  for (const PublishedRow& row : source.rows()) {
    PublishedRows::Row aligned = AlignRow(source, row, split, table);
    if (!IsShown(aligned)) continue;
    for (const LeaderboardRow& ours : table.rows) {
      if (ours.kind != RunRecord::MEASURED || ours.method != row.method()) continue;
      RowBeside beside = Compare(ours, aligned, *table.metric, alike);
      rows.leaves_out |= beside.leaves_out;
      if (beside.differences) aligned.ours.push_back(*std::move(beside.differences));
    }
    rows.published.rows.push_back(std::move(aligned));
  }
  return rows;
}

// " (listops: version 4 or later)": of the tasks whose rules earlier versions have otherwise.
std::string VersionsText(const PublishedTable& source, const std::vector<std::string>& tasks) {
  std::vector<std::string> versions;
  for (const std::string& task : tasks) {
    const uint32_t since = OurRulesSince(source, task);
    if (since > 1) versions.push_back(absl::StrCat(task, ": version ", since, " or later"));
  }
  return versions.empty() ? "" : absl::StrCat(" (", absl::StrJoin(versions, ", "), ")");
}

// "cosformer2022 under protocol lra2020 (claimed), preset lra2020", "skyformer under settings of
// its own (nystrom)".
std::string RulesText(const PublishedTable& source, const std::vector<std::string>& tasks) {
  if (source.our_preset().empty())
    return absl::StrCat(source.name(), " under settings of its own (", source.protocol(), ")");
  return absl::StrCat(source.name(), " under protocol ", source.protocol(),
                      VersionsText(source, tasks), ", preset ", source.our_preset());
}

// Why some differences are not there; `sources` are those that have none, by RulesText().
std::string DescribeUnlike(const std::vector<std::string>& sources, const std::string& our_rules,
                           const std::vector<internal::ColumnRuns>& columns) {
  const bool has_overrides =
      std::any_of(columns.begin(), columns.end(), [](const internal::ColumnRuns& column) {
        return !internal::TellingOverridesOf(column.entries.front().record()).empty();
      });
  return absl::StrCat("No difference from rows that were obtained otherwise: those of ",
                      absl::StrJoin(sources, ", of "), "; ours under ", our_rules,
                      has_overrides ? ", with overrides." : ".");
}

}  // namespace

namespace internal {

std::vector<PublishedTable> ShownPublished(std::vector<PublishedTable> tables) {
  for (auto table = tables.begin(); table != tables.end(); ++table) {
    DropRecalled(&*table);
    for (auto earlier = tables.begin(); earlier != table; ++earlier) DropCopies(*earlier, &*table);
  }
  return tables;
}

void AddPublished(const std::vector<PublishedTable>& published, absl::string_view split,
                  const std::vector<ColumnRuns>& columns, LeaderboardTable* table) {
  std::vector<std::string> unlike;
  for (const PublishedTable& source : published) {
    std::vector<bool> alike;
    for (const ColumnRuns& column : columns) alike.push_back(IsObtainedAlike(column, source));
    AlignedRows rows = AlignPublished(source, split, *table, alike);
    if (rows.leaves_out) unlike.push_back(RulesText(source, table->tasks));
    if (rows.published.rows.empty()) {
      table->notes.push_back(absl::StrCat("Published ", source.name(), " (", SourceText(source),
                                          ") has nothing that these columns show",
                                          split == "test" ? "" : absl::StrCat(" on ", split), "."));
    } else {
      table->published.push_back(std::move(rows.published));
    }
  }
  if (!unlike.empty()) table->notes.push_back(DescribeUnlike(unlike, table->rules, columns));
}

}  // namespace internal
}  // namespace lra
