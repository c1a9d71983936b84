// The statistics of a table: which runs trained, intervals, letters, verdicts, averages.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "eval/bars.h"
#include "eval/baseline_record.h"
#include "eval/comparison.h"
#include "eval/leaderboard_internal.h"
#include "eval/learned.h"
#include "eval/multiple.h"

namespace lra {

bool LeaderboardCell::lacks_examples() const {
  return interval && basis != Basis::kExamples && method != kExactBinomial;
}

}  // namespace lra

namespace lra::internal {
namespace {

RunScores ScoresOf(const Entry& run) { return {run.Value(), run.examples}; }

bool IsBaseline(const LeaderboardRow& row) { return row.kind == RunRecord::BASELINE; }

// What guessing scores: the majority class's value.
std::optional<double> Guessing(const ColumnRuns& column) {
  const std::vector<RowRuns> majority = BaselinesOf(column, WhichBaselines::kMajority);
  if (majority.empty()) return std::nullopt;
  return majority.front().runs.front().value;
}

// The run, first, with the guesses of its column, by the task's own metric where all have it.
ColumnRuns JudgedColumn(const Entry& run, const ColumnRuns& column) {
  ColumnRuns judged{column.task, {run}, column.block_examples};
  for (const Entry& entry : column.entries) {
    const RunRecord& record = entry.record();
    if (record.kind() == RunRecord::BASELINE && IsMereGuess(record.method()) &&
        entry.result != nullptr)
      judged.entries.push_back(entry);
  }
  const bool have_own = std::all_of(judged.entries.begin(), judged.entries.end(),
                                    [](const Entry& entry) { return entry.own_metric != nullptr; });
  for (Entry& entry : judged.entries) {
    if (!have_own) break;
    entry.metric = entry.own_metric;
    entry.examples = entry.own_examples;
  }
  return judged;
}

// Whether every run of a cell that is not a baseline trained, in all rows.
bool HasFailures(const std::vector<OpenRow>& rows, size_t column) {
  return std::any_of(rows.begin(), rows.end(), [&](const OpenRow& open) {
    const auto& cell = open.row.cells[column];
    return cell && !IsBaseline(open.row) && cell->trained < cell->runs();
  });
}

// A cell with an estimate; `guessing` is set where failures count.
TaskPart PartOf(const LeaderboardCell& cell, std::optional<double> guessing, const Metric& metric) {
  TaskPart part;
  part.trained = *cell.estimate;
  if (guessing) part.failures = {{cell.trained, cell.runs()}, *guessing};
  part.is_proportion = metric.traits().is_proportion;
  return part;
}

MeanOfAll AllRunsOf(const LeaderboardCell& cell, double guessing, const Metric& metric,
                    double confidence) {
  MeanOfAll all;
  if (cell.trained > 0 && cell.estimate) {
    all = AllRunsMean(PartOf(cell, guessing, metric), confidence);
    all.interval = metric.WithinRange(all.interval);
    return all;
  }
  // How much a run gains that trains is not known, or how far such runs scatter.
  constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  all.mean = guessing;
  if (cell.trained > 0)
    all.mean += LearnRate{cell.trained, cell.runs()}.rate() * (cell.value - guessing);
  all.interval = {kUnknown, kUnknown};
  return all;
}

// One-sided level at which a row is named as above a bar.
constexpr double kAboveP = 0.025;

// The largest p over the baselines, all of which must be beaten; nullopt where one cannot be told.
std::optional<double> LargestNotAboveP(const RowRuns& row, const std::vector<RowRuns>& baselines) {
  double largest = 0;
  for (const RowRuns& baseline : baselines) {
    const std::optional<double> p = NotAboveP(row, baseline);
    if (!p) return std::nullopt;
    largest = std::max(largest, *p);
  }
  return largest;
}

// The bars of a column that a row is above, each by itself. The majority class is none: a run that
// is not above it has not trained.
std::vector<std::string> NamesAbove(const RowRuns& row, const ColumnRuns& column) {
  std::vector<const RunRecord*> records;
  std::map<const RunRecord*, const Entry*> entries;
  for (const Entry& entry : column.entries) {
    if (entry.result == nullptr || IsMereGuess(entry.record().method())) continue;
    records.push_back(&entry.record());
    entries[&entry.record()] = &entry;
  }
  const std::string& split = column.first_scored()->result->split();
  return BarsAbove(BarsOf(records, split, column.metric()), [&](const Bar& bar) {
    const std::optional<double> p = NotAboveP(row, RowOf({entries.at(bar.baseline)}, column));
    return p ? std::optional<bool>(*p < kAboveP) : std::nullopt;
  });
}

std::optional<int> CountAbove(const RowRuns& row, const std::vector<RowRuns>& baselines) {
  int above = 0;
  for (int64_t s = 0; s < row.count(); ++s) {
    bool is_above = true;
    for (const RowRuns& baseline : baselines) {
      const std::optional<bool> known = RunIsAbove(row, s, baseline);
      if (!known) return std::nullopt;
      is_above &= *known;
    }
    above += is_above ? 1 : 0;
  }
  return above;
}

// The rows of a column that are compared with each other, the best first.
std::vector<OpenRow*> ComparedRows(const Metric& metric, size_t column,
                                   std::vector<OpenRow>* rows) {
  std::vector<OpenRow*> compared;
  for (OpenRow& open : *rows) {
    if (open.row.cells[column] && !IsBaseline(open.row) && open.row.cells[column]->trained >= 2)
      compared.push_back(&open);
  }
  std::stable_sort(compared.begin(), compared.end(), [&](const OpenRow* a, const OpenRow* b) {
    return metric.Better(a->row.cells[column]->value, b->row.cells[column]->value);
  });
  return compared;
}

TableComparison CompareCells(const ColumnRuns& column, size_t c, const OpenRow& a, const OpenRow& b,
                             RowDifference difference, bool has_failures) {
  const LeaderboardCell &cell_a = *a.row.cells[c], &cell_b = *b.row.cells[c];
  TableComparison comparison{column.task, a.row.label, b.row.label, std::move(difference)};
  if (has_failures) {
    comparison.learn_rate_p =
        FisherExactP(cell_a.trained, cell_a.runs(), cell_b.trained, cell_b.runs());
  }
  return comparison;
}

void CorrectAndDecide(std::vector<TableComparison>* comparisons) {
  std::vector<double> p;
  for (const TableComparison& comparison : *comparisons) p.push_back(comparison.difference.p);
  const std::vector<double> corrected = HolmP(p);
  for (size_t i = 0; i < corrected.size(); ++i) {
    (*comparisons)[i].corrected_p = corrected[i];
    (*comparisons)[i].is_told_apart =
        corrected[i] <= kLetterLevel && !(*comparisons)[i].difference.differs_on_too_few;
  }
}

// Every pair of a column, then the letters of its rows.
std::vector<TableComparison> CompareColumn(const ColumnRuns& column, size_t c,
                                           const LeaderboardOptions& options,
                                           std::vector<OpenRow>* rows) {
  const std::vector<OpenRow*> compared = ComparedRows(column.metric(), c, rows);
  const bool has_failures = HasFailures(*rows, c);
  std::vector<TableComparison> comparisons;
  std::vector<std::pair<int, int>> pairs;
  for (size_t a = 0; a < compared.size(); ++a) {
    for (size_t b = a + 1; b < compared.size(); ++b) {
      auto difference = CompareRows(compared[a]->runs[c].trained, compared[b]->runs[c].trained,
                                    {.confidence = options.confidence});
      if (!difference) return {};  // the metric keeps no scores: no row gets a letter
      comparisons.push_back(CompareCells(column, c, *compared[a], *compared[b],
                                         *std::move(difference), has_failures));
      pairs.emplace_back(a, b);
    }
  }
  CorrectAndDecide(&comparisons);
  std::vector<std::pair<int, int>> differing;
  for (size_t i = 0; i < pairs.size(); ++i) {
    if (comparisons[i].is_told_apart) differing.push_back(pairs[i]);
  }
  const auto groups = LetterGroups(static_cast<int>(compared.size()), differing);
  if (groups.empty()) return comparisons;  // too many for letters; the table's notes say so
  int group_count = 0;
  for (const auto& of_row : groups) group_count = std::max(group_count, of_row.back() + 1);
  for (size_t r = 0; r < compared.size() && compared.size() > 1; ++r) {
    LeaderboardCell& cell = *compared[r]->row.cells[c];
    cell.letters = LetterText(groups[r], group_count);
    cell.letter_groups = groups[r];
  }
  return comparisons;
}

}  // namespace

std::optional<bool> IsAboveMajority(const Entry& run, const ColumnRuns& column) {
  const ColumnRuns judged = JudgedColumn(run, column);
  const std::vector<RowRuns> majority = BaselinesOf(judged, WhichBaselines::kMajority);
  if (majority.empty()) return std::nullopt;
  return RunIsAbove(RowOf({&judged.entries.front()}, judged), 0, majority.front());
}

RowRuns RowOf(const std::vector<const Entry*>& runs, const ColumnRuns& column) {
  RowRuns row;
  row.metric = &column.metric();
  row.block_examples = column.block_examples;
  for (const Entry* run : runs) {
    const int64_t examples =
        CountedExamples(*row.metric, run->result->sums(), run->result->examples());
    row.examples = row.runs.empty() ? examples : std::min(row.examples, examples);
    row.runs.push_back(ScoresOf(*run));
  }
  return row;
}

bool HasTrained(const Entry& run, const ColumnRuns& column) {
  if (run.has_failed() || run.result == nullptr) return false;
  if (run.record().kind() == RunRecord::BASELINE || !column.metric().traits().tells_training)
    return true;
  return IsAboveMajority(run, column).value_or(true);
}

std::vector<RowRuns> BaselinesOf(const ColumnRuns& column, WhichBaselines which) {
  std::vector<RowRuns> baselines;
  for (const Entry& entry : column.entries) {
    if (entry.record().kind() != RunRecord::BASELINE || entry.result == nullptr) continue;
    const bool counts = IsMereGuess(entry.record().method()) ||
                        (which == WhichBaselines::kRequired && BarOf(entry.record()).is_required());
    if (counts) baselines.push_back(RowOf({&entry}, column));
  }
  return baselines;
}

std::vector<const Entry*> FillStatistics(const ColumnRuns& column,
                                         const LeaderboardOptions& options, CellRuns* runs,
                                         LeaderboardCell* cell) {
  std::vector<const Entry*> trained, scored;
  for (const Entry& run : runs->entries) {
    if (run.result != nullptr) scored.push_back(&run);
    if (HasTrained(run, column)) trained.push_back(&run);
  }
  cell->trained = static_cast<int64_t>(trained.size());
  runs->trained = RowOf(trained, column);
  std::vector<const Entry*> shown = trained.empty() ? scored : trained;
  std::vector<double> values;
  for (const Entry* run : shown) values.push_back(run->Value());
  cell->value = values.empty() ? std::numeric_limits<double>::quiet_NaN() : Mean(values);
  const std::optional<RowEstimate> estimate = EstimateRow(runs->trained);
  if (!estimate) return shown;
  cell->estimate = estimate->estimate;
  cell->moments = estimate->moments;
  cell->basis = estimate->basis;
  cell->method = IntervalMethod(runs->trained, *estimate);
  cell->interval = RowInterval(runs->trained, *estimate, options.confidence);
  return shown;
}

void FillAllRuns(const std::vector<ColumnRuns>& columns, const LeaderboardOptions& options,
                 std::vector<OpenRow>* rows) {
  for (size_t c = 0; c < columns.size(); ++c) {
    const std::optional<double> guessing = Guessing(columns[c]);
    if (!guessing || !HasFailures(*rows, c)) continue;
    for (OpenRow& open : *rows) {
      auto& cell = open.row.cells[c];
      if (!cell || IsBaseline(open.row) || cell->runs() == 0) continue;
      cell->all_runs = AllRunsOf(*cell, *guessing, columns[c].metric(), options.confidence);
    }
  }
}

void FillLearned(const std::vector<ColumnRuns>& columns, std::vector<OpenRow>* rows) {
  std::vector<double> family;
  std::vector<std::pair<LeaderboardCell*, size_t>> members;
  for (OpenRow& open : *rows) {
    for (size_t c = 0; c < columns.size() && !IsBaseline(open.row); ++c) {
      if (!open.row.cells[c] || open.row.cells[c]->runs() == 0) continue;
      const std::vector<RowRuns> baselines = BaselinesOf(columns[c], WhichBaselines::kRequired);
      if (baselines.empty()) continue;
      LeaderboardCell& cell = *open.row.cells[c];
      if (open.runs[c].trained.count() > 0)
        cell.learned.above = NamesAbove(open.runs[c].trained, columns[c]);
      cell.learned.runs_above = CountAbove(open.runs[c].trained, baselines);
      if (!cell.learned.runs_above) continue;
      cell.learned.verdict = Verdict::kNo;
      if (cell.trained < 2) continue;
      cell.learned.p = LargestNotAboveP(open.runs[c].trained, baselines);
      if (!cell.learned.p) continue;
      family.push_back(*cell.learned.p);
      members.emplace_back(&cell, family.size() - 1);
    }
  }
  const std::vector<double> corrected = HolmP(family);
  for (const auto& [cell, i] : members) {
    cell->learned.corrected_p = corrected[i];
    if (HasLearned(corrected[i], *cell->learned.runs_above, cell->runs()))
      cell->learned.verdict = Verdict::kYes;
  }
}

void FillAverages(const std::vector<ColumnRuns>& columns, const LeaderboardOptions& options,
                  std::vector<OpenRow>* rows) {
  if (columns.size() < 2) return;
  const bool has_one_unit = UnlikeUnits(MetricsOf(columns)).empty();
  for (OpenRow& open : *rows) {
    LeaderboardRow& row = open.row;
    std::vector<TaskPart> parts;
    double sum = 0;
    for (size_t c = 0; c < columns.size(); ++c) {
      const auto& cell = row.cells[c];
      if (!cell || std::isnan(cell->rank_value())) {
        (cell && cell->is_unranked() ? row.unranked_tasks : row.missing_tasks)
            .push_back(columns[c].task);
        continue;
      }
      sum += cell->rank_value();
      row.average_has_single_runs |= cell->trained == 1;
      if (!cell->estimate || cell->trained == 0) continue;
      parts.push_back(
          PartOf(*cell, cell->all_runs ? Guessing(columns[c]) : std::nullopt, columns[c].metric()));
    }
    if (!has_one_unit || !row.missing_tasks.empty() || !row.unranked_tasks.empty()) continue;
    row.average = sum / static_cast<double>(columns.size());
    if (parts.size() == columns.size()) {
      row.average_interval = columns.front().metric().WithinRange(
          AverageOverTasks(parts, options.confidence).interval);
    }
  }
}

std::vector<TableComparison> CompareColumns(const std::vector<ColumnRuns>& columns,
                                            const LeaderboardOptions& options,
                                            std::vector<OpenRow>* rows) {
  std::vector<TableComparison> all;
  for (size_t c = 0; c < columns.size(); ++c) {
    for (TableComparison& comparison : CompareColumn(columns[c], c, options, rows))
      all.push_back(std::move(comparison));
  }
  return all;
}

}  // namespace lra::internal
