// Rows and cells of a leaderboard: repeats become one cell, baselines give the marks.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "eval/baseline_record.h"
#include "eval/leaderboard_internal.h"
#include "lra/config.h"
#include "lra/fingerprint.h"

namespace lra::internal {
namespace {

// --- Variants ---

// Values that tell the variants of one method in one column apart: by the attention's fingerprint,
// the fields that vary among them, as "options.m=512". A method with one variant has the label "".
std::map<std::string, std::string> VariantLabels(const std::vector<const RunRecord*>& records) {
  std::map<std::string, std::map<std::string, std::string>>
      fields_of;                                           // fingerprint -> path -> value
  std::map<std::string, std::set<std::string>> values_of;  // path -> values, "" = unset
  for (const RunRecord* record : records) {
    const auto leaves = ComparedFields(record->config().attention());
    fields_of[Fingerprint(record->config().attention())] = {leaves.begin(), leaves.end()};
  }
  for (const auto& [fingerprint, fields] : fields_of) {
    for (const auto& [path, value] : fields) values_of[path];
  }
  for (auto& [path, values] : values_of) {
    for (auto& [fingerprint, fields] : fields_of) values.insert(fields[path]);
  }
  std::map<std::string, std::string> labels;
  for (const auto& [fingerprint, fields] : fields_of) {
    std::vector<std::string> parts;
    for (const auto& [path, values] : values_of) {
      const auto it = fields.find(path);
      if (values.size() > 1)
        parts.push_back(absl::StrCat(path, "=", it->second.empty() ? "unset" : it->second));
    }
    labels[fingerprint] = absl::StrJoin(parts, ", ");
  }
  return labels;
}

// --- Marks ---

// Best value of the column's baselines that are, or are not, the majority class; nullopt if there
// are none.
std::optional<double> BestBaseline(const ColumnRuns& column, bool majority) {
  std::optional<double> best;
  for (const Entry& entry : column.entries) {
    if (entry.record().kind() != RunRecord::BASELINE) continue;
    if ((entry.record().method() == kMajorityMethod) != majority) continue;
    if (!best || column.metric().Better(entry.Value(), *best)) best = entry.Value();
  }
  return best;
}

// Runs that are not shown to be better than the baseline; nullopt where that cannot be told.
std::optional<int> NotBetter(const std::vector<Entry>& runs, std::optional<double> baseline,
                             double confidence) {
  if (!baseline) return std::nullopt;
  int count = 0;
  for (const Entry& run : runs) {
    const std::optional<bool> is_better =
        run.metric->ClearlyBetter(run.result->sums(), *baseline, confidence);
    if (!is_better) return std::nullopt;
    count += *is_better ? 0 : 1;
  }
  return count;
}

Verdict AllBetter(std::optional<int> not_better) {
  return !not_better ? Verdict::kUnknown : *not_better == 0 ? Verdict::kYes : Verdict::kNo;
}

// --- How the runs came about ---

// The last checkpoint's score, where it is another than the selected one's.
const SplitResult* LastResult(const Entry& run) {
  for (const SplitResult& result : run.record().results()) {
    if (result.split() == run.result->split() && result.checkpoint() == kLastCheckpoint &&
        result.examples() == run.result->examples())
      return &result;
  }
  return nullptr;
}

// A run whose last checkpoint was selected has one score, which is both.
std::optional<double> LastValue(const std::vector<Entry>& runs) {
  std::vector<double> values;
  bool is_another = false;
  for (const Entry& run : runs) {
    const SplitResult* last = LastResult(run);
    is_another |= last != nullptr;
    values.push_back(run.metric->Value(last == nullptr ? run.result->sums() : last->sums()));
  }
  return is_another ? std::optional<double>(Mean(values)) : std::nullopt;
}

std::string DescribeTuning(const std::vector<Entry>& runs) {
  std::map<double, std::vector<uint32_t>> seeds_by_rate;  // those that chose it
  int trials = 0;
  for (const Entry& run : runs) {
    trials = std::max(trials, run.record().trials_size());
    for (const Trial& trial : run.record().trials()) {
      std::vector<uint32_t>& seeds = seeds_by_rate[trial.learning_rate()];
      if (trial.is_selected()) seeds.push_back(run.record().seed());
    }
  }
  if (trials == 0) return "";
  std::vector<std::string> parts;
  for (const auto& [rate, seeds] : seeds_by_rate) {
    const std::string chosen =
        absl::StrCat(" (seed", seeds.size() == 1 ? " " : "s ", absl::StrJoin(seeds, ", "), ")");
    parts.push_back(absl::StrCat(rate, seeds.empty() ? "" : chosen));
  }
  return absl::StrCat(trials, " trials: ", absl::StrJoin(parts, ", "));
}

void AddProvenance(const std::vector<Entry>& runs, LeaderboardCell* cell) {
  for (const Entry& run : runs) {
    const RunRecord& record = run.record();
    cell->early_stopped_runs += record.stopped_at_step() > 0 ? 1 : 0;
    cell->pretrain_steps = std::max<int64_t>(cell->pretrain_steps, record.pretrain().steps());
    if (record.transformer_parameters() <= 0) continue;
    const double excess =
        static_cast<double>(record.parameters() - record.transformer_parameters()) /
        static_cast<double>(record.transformer_parameters());
    cell->parameter_excess = std::max(cell->parameter_excess.value_or(excess), excess);
  }
  cell->last_value = LastValue(runs);
  cell->tuning = DescribeTuning(runs);
}

// --- Cells ---

// One run a seed, by seed. A second run of a seed is a copy (dropped) or contradicts the first
// (reported).
std::vector<Entry> OnePerSeed(std::vector<Entry> runs, std::vector<std::string>* left_out) {
  std::stable_sort(runs.begin(), runs.end(), [](const Entry& a, const Entry& b) {
    return a.record().seed() < b.record().seed();
  });
  std::vector<Entry> kept;
  for (const Entry& run : runs) {
    if (kept.empty() || kept.back().record().seed() != run.record().seed()) {
      kept.push_back(run);
      continue;
    }
    const bool is_copy = EqualExceptVolatile(kept.back().record(), run.record());
    left_out->push_back(absl::StrCat(
        run.located->directory, ": ",
        is_copy ? "is a copy of " : "repeats method, settings and seed, but not the bits, of ",
        kept.back().located->directory, "; only that one is counted"));
  }
  return kept;
}

LeaderboardCell MakeCell(const std::vector<Entry>& runs, const ColumnRuns& column,
                         const LeaderboardOptions& options) {
  LeaderboardCell cell;
  std::vector<double> values;
  std::vector<Sums> sums;
  for (const Entry& run : runs) {
    values.push_back(run.Value());
    sums.push_back(run.result->sums());
    cell.seeds.push_back(run.record().seed());
    cell.directories.push_back(run.located->directory);
  }
  cell.examples = runs.front().result->examples();
  cell.value = Mean(values);
  cell.interval = column.metric().IntervalOf(sums, options.confidence);
  if (runs.front().record().kind() == RunRecord::BASELINE) return cell;
  const auto majority = BestBaseline(column, true), shortcut = BestBaseline(column, false);
  cell.at_chance_runs = NotBetter(runs, majority, options.mark_confidence);
  cell.above_majority = AllBetter(cell.at_chance_runs);
  cell.learned = AllBetter(NotBetter(runs, shortcut, options.mark_confidence));
  if (cell.above_majority == Verdict::kNo) cell.learned = Verdict::kNo;
  AddProvenance(runs, &cell);
  return cell;
}

// --- Rows ---

int KindOrder(RunRecord::Kind kind) {
  return kind == RunRecord::BASELINE ? 0 : kind == RunRecord::MEASURED ? 1 : 2;
}

// Kind, method, variant.
using RowKey = std::tuple<int, std::string, std::string>;

std::map<RowKey, std::vector<Entry>> RowsOfColumn(const ColumnRuns& column) {
  std::map<std::string, std::vector<const RunRecord*>> by_method;
  for (const Entry& entry : column.entries)
    by_method[entry.record().method()].push_back(&entry.record());
  std::map<RowKey, std::vector<Entry>> rows;
  for (const Entry& entry : column.entries) {
    const RunRecord& record = entry.record();
    const auto labels = VariantLabels(by_method[record.method()]);
    rows[{KindOrder(record.kind()), record.method(),
          labels.at(Fingerprint(record.config().attention()))}]
        .push_back(entry);
  }
  return rows;
}

// How many cells are filled, and their mean.
std::pair<size_t, double> Score(const LeaderboardRow& row) {
  std::vector<double> values;
  for (const auto& cell : row.cells) {
    if (cell) values.push_back(cell->value);
  }
  return {values.size(), values.empty() ? 0 : Mean(values)};
}

void FinishRow(const std::vector<ColumnRuns>& columns, LeaderboardRow* row) {
  if (columns.size() < 2) return;
  for (size_t c = 0; c < columns.size(); ++c) {
    if (!row->cells[c]) row->missing_tasks.push_back(columns[c].task);
  }
  if (row->missing_tasks.empty()) row->average = Score(*row).second;
}

// Fuller rows first, then by their means. Baselines rise to the best, so that the majority class
// comes first; the others fall.
bool Before(const Metric& metric, const LeaderboardRow& a, const LeaderboardRow& b) {
  if (a.kind != b.kind) return KindOrder(a.kind) < KindOrder(b.kind);
  const bool rises = a.kind == RunRecord::BASELINE;
  const auto [filled, value] = Score(rises ? b : a);
  const auto [other_filled, other_value] = Score(rises ? a : b);
  return filled != other_filled ? filled > other_filled : metric.Better(value, other_value);
}

}  // namespace

std::vector<LeaderboardRow> MakeRows(const std::vector<ColumnRuns>& columns,
                                     const LeaderboardOptions& options,
                                     std::vector<std::string>* left_out) {
  std::map<RowKey, LeaderboardRow> rows;
  for (size_t c = 0; c < columns.size(); ++c) {
    for (auto& [key, runs] : RowsOfColumn(columns[c])) {
      const auto& [order, method, variant] = key;
      LeaderboardRow& row = rows[key];
      row.kind = runs.front().record().kind();
      row.method = method;
      row.label = variant.empty() ? method : absl::StrCat(method, " (", variant, ")");
      row.cells.resize(columns.size());
      row.cells[c] = MakeCell(OnePerSeed(runs, left_out), columns[c], options);
    }
  }
  std::vector<LeaderboardRow> sorted;
  for (auto& [key, row] : rows) {
    FinishRow(columns, &row);
    sorted.push_back(std::move(row));
  }
  const Metric& metric = columns.front().metric();
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](const auto& a, const auto& b) { return Before(metric, a, b); });
  return sorted;
}

}  // namespace lra::internal
