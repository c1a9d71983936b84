// Rows and cells of a leaderboard: repeats become one cell.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "eval/external_record.h"
#include "eval/leaderboard_internal.h"
#include "eval/starting_run.h"
#include "eval/table_cost.h"
#include "lra/config.h"
#include "lra/fingerprint.h"

namespace lra::internal {
namespace {

// --- Variants ---

// The attentions of one method in one column: by fingerprint, path -> value, and the paths that all
// runs of the fingerprint have from --set or a run file.
struct Variant {
  std::map<std::string, std::string> fields;
  std::map<std::string, int> set_by_hand;
  int runs = 0;
};

std::map<std::string, Variant> VariantsOf(const std::vector<const RunRecord*>& records) {
  std::map<std::string, Variant> variants;
  for (const RunRecord* record : records) {
    const auto leaves = ComparedFields(record->config().attention());
    Variant& variant = variants[Fingerprint(record->config().attention())];
    variant.fields = {leaves.begin(), leaves.end()};
    ++variant.runs;
    for (const auto& [path, value] : leaves) {
      if (path != "name" && IsSetByHand(*record, absl::StrCat("attention.", path)))
        ++variant.set_by_hand[path];
    }
  }
  return variants;
}

// Values that tell the variants of one method apart, by the attention's fingerprint: the fields
// that vary among those of one column, and those that were set by hand, as "options.m=512". A
// method with one variant as its configuration has it has the label "".
std::map<std::string, std::string> VariantLabels(const std::vector<const RunRecord*>& records) {
  std::map<std::string, Variant> variants = VariantsOf(records);
  std::map<std::string, std::set<std::string>> values_of;  // path -> values, "" = unset
  for (const auto& [fingerprint, variant] : variants) {
    for (const auto& [path, value] : variant.fields) values_of[path];
  }
  for (auto& [path, values] : values_of) {
    for (auto& [fingerprint, variant] : variants) values.insert(variant.fields[path]);
  }
  std::map<std::string, std::string> labels;
  for (const auto& [fingerprint, variant] : variants) {
    std::vector<std::string> parts;
    for (const auto& [path, values] : values_of) {
      const auto by_hand = variant.set_by_hand.find(path);
      const bool is_set = by_hand != variant.set_by_hand.end() && by_hand->second == variant.runs;
      const std::string& value = variant.fields.at(path);
      if (values.size() > 1 || is_set)
        parts.push_back(absl::StrCat(path, "=", value.empty() ? "unset" : value));
    }
    labels[fingerprint] = absl::StrJoin(parts, ", ");
  }
  return labels;
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

// The one after which training ended, by an early stop or by itself.
int64_t LastStep(const RunRecord& record) {
  return record.stopped_at_step() > 0 ? record.stopped_at_step() : record.config().train().steps();
}

// Whether the score is that of the last checkpoint; older records do not say of which step it is.
bool IsOfLastStep(const Entry& run) {
  return run.result->step() == 0 || run.result->step() == LastStep(run.record());
}

// The mean over scored runs. A run whose last checkpoint was selected has one score, which is both;
// nothing where the last one of some run was not scored.
std::optional<double> LastValue(const std::vector<const Entry*>& runs) {
  std::vector<double> values;
  bool is_another = false;
  for (const Entry* run : runs) {
    const SplitResult* last = LastResult(*run);
    if (last == nullptr && !IsOfLastStep(*run)) return std::nullopt;
    is_another |= last != nullptr;
    values.push_back(run->metric->Value(last == nullptr ? run->result->sums() : last->sums()));
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

int64_t StepsMade(const RunRecord& record) {
  return record.has_failure() ? record.failure().step() : LastStep(record);
}

// The runs whose times can be compared: of those that say how long they took, those that made the
// most steps and, where some count CPU time, those that do. Empty where some were on a device and
// some were not.
std::vector<const RunRecord*> TimedRuns(const std::vector<Entry>& runs) {
  std::vector<const RunRecord*> timed;
  int64_t most_steps = 0;
  for (const Entry& run : runs) {
    const RunRecord& record = run.record();
    if (HoursOfRun(record) <= 0) continue;
    if (!timed.empty() && WasOnDevice(record) != WasOnDevice(*timed.front())) return {};
    timed.push_back(&record);
    most_steps = std::max(most_steps, StepsMade(record));
  }
  std::erase_if(timed, [&](const RunRecord* record) { return StepsMade(*record) < most_steps; });
  const auto counts_cpu_time = [](const RunRecord* record) { return CountsCpuTime(*record); };
  // CPU time and wall time times threads are not alike.
  if (std::any_of(timed.begin(), timed.end(), counts_cpu_time))
    std::erase_if(timed, std::not_fn(counts_cpu_time));
  return timed;
}

// Other work on a machine only adds to a run's time, so the fastest run says the most of the cell.
void AddCost(const std::vector<Entry>& runs, LeaderboardCell* cell) {
  const std::vector<const RunRecord*> timed = TimedRuns(runs);
  if (timed.empty()) return;
  const auto [fastest, slowest] = std::minmax_element(
      timed.begin(), timed.end(),
      [](const RunRecord* a, const RunRecord* b) { return HoursOfRun(*a) < HoursOfRun(*b); });
  const RunRecord& record = **fastest;
  const double hours = HoursOfRun(record);
  (WasOnDevice(record) ? cell->device_hours : cell->core_hours) = hours;
  cell->has_cpu_time = CountsCpuTime(record);
  cell->slowest_over_fastest = HoursOfRun(**slowest) / hours;
  if (record.efficiency().has_joules() &&
      (!record.has_pretrain() || record.pretrain().has_joules()))
    cell->joules = record.efficiency().joules() + record.pretrain().joules();
}

void AddProvenance(const std::vector<Entry>& runs, LeaderboardCell* cell) {
  for (const Entry& run : runs) {
    const RunRecord& record = run.record();
    cell->early_stopped_runs += record.stopped_at_step() > 0 ? 1 : 0;
    cell->pretrain_steps = std::max<int64_t>(cell->pretrain_steps, record.pretrain().steps());
    cell->pretrain_examples =
        std::max<int64_t>(cell->pretrain_examples, record.pretrain().examples());
    if (const std::string start = StartingRunOf(record); !start.empty()) ++cell->starts[start];
    if (record.transformer_parameters() <= 0) continue;
    const double excess =
        static_cast<double>(record.parameters() - record.transformer_parameters()) /
        static_cast<double>(record.transformer_parameters());
    cell->parameter_excess = std::max(cell->parameter_excess.value_or(excess), excess);
  }
  AddCost(runs, cell);
  cell->tuning = DescribeTuning(runs);
}

// --- Cells ---

LeaderboardCell MakeCell(std::vector<Entry> runs, const ColumnRuns& column,
                         const LeaderboardOptions& options, std::vector<std::string>* left_out,
                         CellRuns* cell_runs) {
  LeaderboardCell cell;
  const auto missing = std::stable_partition(runs.begin(), runs.end(),
                                             [](const Entry& run) { return !run.is_missing; });
  cell.missing = std::distance(missing, runs.end());
  runs.erase(missing, runs.end());
  cell_runs->entries = OnePerSeed(std::move(runs), left_out);
  for (const Entry& run : cell_runs->entries) {
    cell.seeds.push_back(run.record().seed());
    cell.directories.push_back(run.located->directory);
    if (run.result != nullptr) cell.examples = run.result->examples();
  }
  const std::vector<const Entry*> shown = FillStatistics(column, options, cell_runs, &cell);
  const bool is_trained_here =
      !cell.seeds.empty() && cell_runs->entries.front().record().kind() != RunRecord::BASELINE;
  if (!is_trained_here) return cell;
  AddProvenance(cell_runs->entries, &cell);
  cell.last_value = LastValue(shown);
  return cell;
}

// Whether a second run of a cell and seed is the first one again. For what was trained here it does
// not matter who looked at its test split since; other rows are nothing but their predictions.
bool IsSameRun(const Entry& a, const Entry& b) {
  if (a.record().kind() != RunRecord::MEASURED && a.result != nullptr && b.result != nullptr)
    return Fingerprint(*a.result) == Fingerprint(*b.result);
  RunRecord record_a = a.record(), record_b = b.record();
  record_a.clear_test_looks();
  record_b.clear_test_looks();
  return EqualExceptVolatile(record_a, record_b);
}

// Whether two runs are of one cell and seed or, of other code, one run under two seeds.
bool IsRepeat(const Entry& a, const Entry& b) {
  if (a.record().seed() == b.record().seed()) return true;
  return a.record().kind() == RunRecord::EXTERNAL && b.record().kind() == RunRecord::EXTERNAL &&
         a.result != nullptr && b.result != nullptr && SamePredictions(*a.result, *b.result);
}

// "is a copy of ": what the folder of `kept` follows.
std::string HowItRepeats(const Entry& run, const Entry& kept) {
  if (run.record().seed() != kept.record().seed()) {
    return absl::StrCat("has, as seed ", run.record().seed(), ", the predictions of seed ",
                        kept.record().seed(), ", ");
  }
  return IsSameRun(kept, run) ? "is a copy of "
                              : "repeats method, settings and seed, but not the bits, of ";
}

// --- Rows ---

int KindOrder(RunRecord::Kind kind) {
  return kind == RunRecord::BASELINE ? 0 : kind == RunRecord::MEASURED ? 1 : 2;
}

// What orders a row: how many cells are filled, and the mean of what orders these. Where there is
// no such mean, because units differ, it is the first of them, of the column `first`.
struct RowScore {
  size_t filled = 0, first = 0;
  double value = 0;
};

RowScore ScoreOf(const LeaderboardRow& row, bool has_one_unit) {
  RowScore score;
  std::vector<double> values;
  for (size_t c = 0; c < row.cells.size(); ++c) {
    if (!row.cells[c] || std::isnan(row.cells[c]->rank_value())) continue;
    if (values.empty() && !has_one_unit) score.first = c;
    values.push_back(row.cells[c]->rank_value());
  }
  score.filled = values.size();
  if (!values.empty()) score.value = has_one_unit ? Mean(values) : values.front();
  return score;
}

// Fuller rows first, then by their scores. Baselines rise to the best, so that the majority class
// comes first; the others fall.
bool Before(const Metric& metric, bool has_one_unit, const LeaderboardRow& a,
            const LeaderboardRow& b) {
  if (a.kind != b.kind) return KindOrder(a.kind) < KindOrder(b.kind);
  const auto [filled, first, value] = ScoreOf(a, has_one_unit);
  const auto [other_filled, other_first, other_value] = ScoreOf(b, has_one_unit);
  if (filled != other_filled) return filled > other_filled;
  if (first != other_first) return first < other_first;
  return a.kind == RunRecord::BASELINE ? metric.Better(other_value, value)
                                       : metric.Better(value, other_value);
}

}  // namespace

std::vector<Entry> OnePerSeed(std::vector<Entry> runs, std::vector<std::string>* left_out) {
  std::stable_sort(runs.begin(), runs.end(), [](const Entry& a, const Entry& b) {
    return a.record().seed() < b.record().seed();
  });
  std::vector<Entry> kept;
  for (const Entry& run : runs) {
    const auto repeated = std::find_if(kept.begin(), kept.end(),
                                       [&](const Entry& other) { return IsRepeat(other, run); });
    if (repeated == kept.end()) {
      kept.push_back(run);
      continue;
    }
    left_out->push_back(absl::StrCat(run.located->directory, ": ", HowItRepeats(run, *repeated),
                                     repeated->located->directory, "; only that one is counted"));
  }
  return kept;
}

ColumnRuns WithoutRepeats(const ColumnRuns& column) {
  std::set<const LocatedRecord*> counted;
  std::vector<std::string> repeats;  // the table names them
  for (auto& [key, runs] : RowsOfColumn(column)) {
    // A run that is missing repeats none and is repeated by none.
    for (const Entry& run : runs) {
      if (run.is_missing) counted.insert(run.located);
    }
    std::erase_if(runs, [](const Entry& run) { return run.is_missing; });
    for (const Entry& run : OnePerSeed(runs, &repeats)) counted.insert(run.located);
  }
  ColumnRuns without = column;
  std::erase_if(without.entries, [&](const Entry& run) { return !counted.contains(run.located); });
  return without;
}

std::map<RowKey, std::vector<Entry>> RowsOfColumn(const ColumnRuns& column) {
  std::map<std::string, std::vector<const RunRecord*>> by_method;
  for (const Entry& entry : column.entries)
    by_method[entry.record().method()].push_back(&entry.record());
  std::map<std::string, std::map<std::string, std::string>> labels;
  for (const auto& [method, records] : by_method) labels[method] = VariantLabels(records);
  std::map<RowKey, std::vector<Entry>> rows;
  for (const Entry& entry : column.entries) {
    const RunRecord& record = entry.record();
    rows[{KindOrder(record.kind()), record.method(),
          labels.at(record.method()).at(Fingerprint(record.config().attention()))}]
        .push_back(entry);
  }
  return rows;
}

std::string LabelOf(const RowKey& key) {
  const auto& [order, method, variant] = key;
  return variant.empty() ? method : absl::StrCat(method, " (", variant, ")");
}

std::vector<OpenRow> MakeRows(const std::vector<ColumnRuns>& columns,
                              const LeaderboardOptions& options,
                              std::vector<std::string>* left_out) {
  std::map<RowKey, OpenRow> rows;
  for (size_t c = 0; c < columns.size(); ++c) {
    for (auto& [key, runs] : RowsOfColumn(columns[c])) {
      OpenRow& open = rows[key];
      open.row.kind = runs.front().record().kind();
      open.row.method = std::get<1>(key);
      open.row.label = LabelOf(key);
      open.row.cells.resize(columns.size());
      open.runs.resize(columns.size());
      open.row.cells[c] = MakeCell(runs, columns[c], options, left_out, &open.runs[c]);
    }
  }
  std::vector<OpenRow> sorted;
  for (auto& [key, row] : rows) sorted.push_back(std::move(row));
  FillAllRuns(columns, options, &sorted);
  const Metric& metric = columns.front().metric();
  const bool has_one_unit = UnlikeUnits(MetricsOf(columns)).empty();
  std::stable_sort(sorted.begin(), sorted.end(), [&](const OpenRow& a, const OpenRow& b) {
    return Before(metric, has_one_unit, a.row, b.row);
  });
  return sorted;
}

}  // namespace lra::internal
