// The words of a table, whatever its format.
#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "eval/difference_text.h"
#include "eval/published.h"
#include "eval/table_cost.h"
#include "eval/table_writer.h"
#include "lra/progress.h"

namespace lra::internal {
namespace {

// "; last step 35.10; from another run's encoder; 2 stopped early; +23.1 % parameters".
std::string Circumstances(const Metric& metric, const LeaderboardCell& cell) {
  std::string text;
  if (cell.last_value) {
    absl::StrAppend(&text, "; last step ",
                    metric.Number(*cell.last_value, MoreDecimals(metric, cell.interval)));
  }
  if (cell.pretrain_examples > 0)
    absl::StrAppend(&text, "; pretrained ", FormatCount(cell.pretrain_examples), " examples");
  else if (cell.pretrain_steps > 0)
    absl::StrAppend(&text, "; pretrained ", cell.pretrain_steps, " steps");
  for (const auto& [start, runs] : cell.starts) {
    absl::StrAppend(&text, "; ", runs == cell.runs() ? "" : absl::StrCat(runs, " "), "from ",
                    start);
  }
  if (cell.early_stopped_runs > 0) {
    absl::StrAppend(&text, "; ",
                    cell.seeds.size() == 1 ? "" : absl::StrCat(cell.early_stopped_runs, " "),
                    "stopped early");
  }
  if (cell.parameter_excess.value_or(0) > kParameterAllowance)
    absl::StrAppendFormat(&text, "; %+.1f %% parameters", 100 * *cell.parameter_excess);
  return text;
}

// " ab 4/5": letters, what the interval rests on where that is less than usual, and how many runs
// trained.
std::string Standing(const LeaderboardCell& cell) {
  std::string text = cell.letters.empty() ? "" : absl::StrCat(" ", cell.letters);
  if (cell.trained < cell.runs()) absl::StrAppend(&text, " ", cell.trained, "/", cell.runs());
  if (cell.trained == 1) absl::StrAppend(&text, " 1 run");
  if (cell.lacks_examples())
    absl::StrAppend(&text, cell.basis == Basis::kCounts ? " (counts)" : " (seeds only)");
  return text;
}

// "; learned, 3/3 above; beats order", or the count alone.
std::string Learned(const LeaderboardCell& cell) {
  if (!cell.learned.runs_above || cell.trained == 0) return "";
  return absl::StrCat(cell.learned.verdict == Verdict::kYes ? "; learned, " : "; ",
                      *cell.learned.runs_above, "/", cell.runs(), " above",
                      cell.learned.above.empty() ? "" : "; beats ",
                      absl::StrJoin(cell.learned.above, ", "));
}

std::string PrintedText(const std::optional<PublishedCell>& cell) {
  if (!cell) return "-";
  if (cell->is_failed()) return "FAIL";
  return absl::StrCat(
      PrintedNumber(cell->value()),
      cell->has_spread() ? absl::StrCat(" (", PrintedNumber(cell->spread()), ")") : "");
}

// "+0.54 [-1.62, 2.70]".
std::string DifferenceText(const Metric& metric,
                           const std::optional<PublishedDifference>& difference) {
  if (!difference) return "-";
  return absl::StrCat(difference->value > 0 ? "+" : "",
                      ValueText(metric, difference->value, difference->interval));
}

// Source, protocol and remarks of the published rows that a table shows.
std::vector<std::string> PublishedNotes(const LeaderboardTable& table) {
  std::vector<std::string> notes;
  for (const PublishedRows& published : table.published) {
    const PublishedTable& source = published.table;
    notes.push_back(absl::StrCat(
        "Published ", source.name(), ": ", SourceText(source), "; protocol ", source.protocol(),
        ", evidence class ", source.evidence_class(), ".",
        source.spread().empty() ? "" : absl::StrCat(" In brackets: ", source.spread(), "."),
        source.note().empty() ? "" : " ", source.note()));
    for (const PublishedRows::Row& row : published.rows) {
      const std::string remarks = RemarksOn(row.row);
      if (!remarks.empty())
        notes.push_back(absl::StrCat("Published ", row.row.label(), ": ", remarks, "."));
    }
  }
  return notes;
}

}  // namespace

std::string CellText(const Metric& metric, RunRecord::Kind kind,
                     const std::optional<LeaderboardCell>& cell) {
  if (!cell) return kind == RunRecord::BASELINE ? "-" : "missing";
  if (cell->runs() == 0) return absl::StrCat("missing (", cell->missing, ")");
  std::string text;
  if (cell->trained == 0) {
    text = absl::StrCat("FAIL 0/", cell->runs());
    if (!std::isnan(cell->value)) absl::StrAppend(&text, " (", metric.Number(cell->value), ")");
  } else {
    text = absl::StrCat(ValueText(metric, cell->value, cell->interval), Standing(*cell),
                        Learned(*cell));
    if (cell->all_runs) {
      absl::StrAppend(&text, "; all runs ",
                      ValueText(metric, cell->all_runs->mean, cell->all_runs->interval));
    }
  }
  if (cell->missing > 0) absl::StrAppend(&text, "; ", cell->missing, " missing");
  return absl::StrCat(text, Circumstances(metric, *cell));
}

std::string AverageText(const Metric& metric, const LeaderboardRow& row) {
  if (!row.average) return "-";
  return absl::StrCat(ValueText(metric, *row.average, row.average_interval),
                      row.average_has_single_runs ? " 1 run" : "");
}

std::vector<std::string> PrintedCells(const PublishedRows::Row& row, bool has_average) {
  std::vector<std::string> cells = {absl::StrCat(row.row.label(), " (published)")};
  for (const auto& cell : row.cells) cells.push_back(PrintedText(cell));
  if (has_average) cells.push_back(row.average ? absl::StrFormat("%.2f", *row.average) : "-");
  return cells;
}

std::vector<std::string> DifferenceCells(const Metric& metric, const PublishedRows::Beside& ours,
                                         bool has_average) {
  std::vector<std::string> cells = {absl::StrCat(ours.label, ": ours - published")};
  for (const auto& cell : ours.cells) cells.push_back(DifferenceText(metric, cell));
  if (has_average) cells.push_back(DifferenceText(metric, ours.average));
  return cells;
}

std::string KindName(RunRecord::Kind kind) {
  switch (kind) {
    case RunRecord::BASELINE:
      return "baseline";
    case RunRecord::EXTERNAL:
      return "external";
    default:
      return "measured";
  }
}

std::string VerdictName(Verdict verdict) {
  return verdict == Verdict::kUnknown ? "unknown" : verdict == Verdict::kYes ? "yes" : "no";
}

std::string SectionTitle(RunRecord::Kind kind) {
  switch (kind) {
    case RunRecord::BASELINE:
      return "Baselines (no attention)";
    case RunRecord::EXTERNAL:
      return "External predictions, scored here";
    default:
      return "Measured here";
  }
}

std::string TableTitle(size_t index, size_t count) {
  return count == 1 ? "Leaderboard" : absl::StrCat("Leaderboard, table ", index + 1, " of ", count);
}

std::vector<std::string> TableNotes(const LeaderboardTable& table, bool shows_cost) {
  std::vector<std::string> notes = table.notes;
  std::string uneven = shows_cost ? UnevenTimesText(table) : "";
  if (!uneven.empty()) notes.push_back(std::move(uneven));
  for (std::string& note : PublishedNotes(table)) notes.push_back(std::move(note));
  return notes;
}

}  // namespace lra::internal
