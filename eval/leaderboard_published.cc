// Published rows beside ours, and the differences.
#include <algorithm>
#include <cmath>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "eval/leaderboard_internal.h"
#include "eval/published.h"

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
  if (tasks.size() > 1 && AveragedTasks(source, row, metric, split) == tasks)
    aligned.average = row.average();
  return aligned;
}

bool IsShown(const PublishedRows::Row& row) {
  return row.average || std::any_of(row.cells.begin(), row.cells.end(),
                                    [](const auto& cell) { return cell.has_value(); });
}

// --- Ours beside it ---

PublishedDifference Minus(double ours, const std::optional<Interval>& interval, double printed,
                          const Metric& metric) {
  const double published = printed / metric.traits().scale;
  PublishedDifference difference{ours - published, std::nullopt};
  if (interval && !std::isnan(interval->low))
    difference.interval = {interval->low - published, interval->high - published};
  return difference;
}

std::optional<PublishedRows::Beside> Compare(const LeaderboardRow& ours,
                                             const PublishedRows::Row& published,
                                             const Metric& metric) {
  PublishedRows::Beside beside{ours.label, {}, std::nullopt};
  beside.cells.resize(ours.cells.size());
  bool has_any = false;
  for (size_t c = 0; c < ours.cells.size(); ++c) {
    const auto& cell = ours.cells[c];
    const auto& printed = published.cells[c];
    if (!cell || cell->trained == 0 || std::isnan(cell->value)) continue;
    if (!printed || printed->is_failed()) continue;
    beside.cells[c] = Minus(cell->value, cell->interval, printed->value(), metric);
    has_any = true;
  }
  if (ours.average && published.average) {
    beside.average = Minus(*ours.average, ours.average_interval, *published.average, metric);
    has_any = true;
  }
  return has_any ? std::optional(std::move(beside)) : std::nullopt;
}

PublishedRows AlignPublished(const PublishedTable& source, absl::string_view split,
                             const LeaderboardTable& table) {
  PublishedRows published{source, {}};
  for (const PublishedRow& row : source.rows()) {
    PublishedRows::Row aligned = AlignRow(source, row, split, table);
    if (!IsShown(aligned)) continue;
    for (const LeaderboardRow& ours : table.rows) {
      if (ours.kind != RunRecord::MEASURED || ours.method != row.method()) continue;
      if (auto beside = Compare(ours, aligned, *table.metric))
        aligned.ours.push_back(*std::move(beside));
    }
    published.rows.push_back(std::move(aligned));
  }
  return published;
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
                  LeaderboardTable* table) {
  for (const PublishedTable& source : published) {
    PublishedRows rows = AlignPublished(source, split, *table);
    if (rows.rows.empty()) {
      table->notes.push_back(absl::StrCat("Published ", source.name(), " (", SourceText(source),
                                          ") has nothing that these columns show",
                                          split == "test" ? "" : absl::StrCat(" on ", split), "."));
    } else {
      table->published.push_back(std::move(rows));
    }
  }
}

}  // namespace internal
}  // namespace lra
