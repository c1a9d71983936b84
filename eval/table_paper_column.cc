#include "eval/table_paper_column.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "eval/latex_text.h"
#include "eval/multiple.h"
#include "eval/published.h"
#include "eval/starting_run.h"

namespace lra::internal {
namespace {

constexpr char kOneRunSymbol[] = "$\\ast$";

constexpr PaperMarkText kPaperMarks[] = {
    {PaperMark::kLetters, "",
     "Methods that share a letter in a column could not be told apart (Holm, 5\\,\\% a column)."},
    {PaperMark::kManyLetters, "", "a2 is another letter than a."},
    {PaperMark::kFailures, "",
     "(4/5): four of five runs trained, and the number is theirs; a run that diverged or is not "
     "above the majority class did not train. Averages and bold count such a run as guessing; "
     "where no majority class is on record, its row has neither."},
    {PaperMark::kNoBold, "",
     "Nothing is bold in a column where a mean has neither letters nor an interval."},
    {PaperMark::kOneRun, kOneRunSymbol,
     "One run, or an average with such a cell: the interval is about trained models only."},
    {PaperMark::kLessExamples, "$\\ddagger$",
     "Scores of examples are not on record: the interval rests on counts or seeds alone."},
    {PaperMark::kNotAbove, "$\\dagger$",
     "Not shown to be better than every baseline that the task requires."},
    {PaperMark::kLarger, "$\\S$", "More than 10\\,\\% more parameters than the transformer."},
    {PaperMark::kPretrained, "$\\P$", "Pretrained without labels."},
    {PaperMark::kFromAnotherRun, "$\\|$",
     "From another run's encoder or weights, the same for all seeds: the interval does not cover "
     "others, and the budget does not count their training."},
    {PaperMark::kFromOwnEncoder, "$\\triangleright$",
     "From another run's encoder, each seed its own, by one recipe: the budget does not count "
     "their "
     "training."}};
static_assert(kParameterAllowance == 0.10);

// "37.0" of a column with two decimals gets a space of a digit's width.
std::string Padded(const std::string& number, size_t decimals) {
  const size_t dot = number.find('.');
  const size_t has = dot == std::string::npos ? 0 : number.size() - dot - 1;
  if (has >= decimals) return number;
  return absl::StrCat(number, "\\phantom{", dot == std::string::npos ? "." : "",
                      std::string(decimals - has, '0'), "}");
}

// "$\pm$2.2"; "$^{+3.1}_{-2.2}$" where the arms differ by more than the last digit.
std::string IntervalText(const Metric& metric, double value, const Interval& interval, int more) {
  const double up = interval.high - value, down = value - interval.low;
  const std::string larger = metric.Number(std::max(up, down), more);
  const double digit = std::pow(10, -std::max(0, metric.traits().decimals + more));
  if (std::abs(up - down) * std::abs(metric.traits().scale) <= digit)
    return absl::StrCat("$\\pm$", larger);
  return absl::StrCat("$^{+", metric.Number(up, more), "}_{-", metric.Number(down, more), "}$");
}

std::string Small(const std::string& text) {
  return text.empty() ? "" : absl::StrCat("{\\scriptsize\\,", text, "}");
}

std::string Superscript(const std::string& marks) {
  return marks.empty() ? "" : absl::StrCat("\\textsuperscript{", marks, "}");
}

}  // namespace

absl::Span<const PaperMarkText> PaperMarks() { return kPaperMarks; }

PaperColumn::PaperColumn(const LeaderboardTable& table, size_t column)
    : table_(table), column_(column) {
  FindDecimals(/*of_baselines=*/false);
  if (!more_) FindDecimals(/*of_baselines=*/true);
  decimals_ = std::max(0, metric().traits().decimals + more_.value_or(0));
  constexpr int kPrintedDecimals = 2;
  if (HasPrinted()) decimals_ = std::max(decimals_, kPrintedDecimals);
  FindBest();
}

PaperCell PaperColumn::Cell(const LeaderboardRow& row, std::set<PaperMark>* used) const {
  if (is_withheld_) used->insert(PaperMark::kNoBold);
  if (is_average()) return AverageCell(row, used);
  const LeaderboardCell* const cell = CellOf(row);
  if (cell == nullptr || cell->runs() == 0) return {};
  if (cell->trained == 0) {
    used->insert(PaperMark::kFailures);
    return {"", Small(absl::StrCat("\\textsc{fail} 0/", cell->runs()))};
  }
  return {NumberText(cell->value, IsBest(row)),
          absl::StrCat(Small(Arms(cell->value, cell->interval)), Behind(row, *cell, used))};
}

PaperCell PaperColumn::Printed(const PublishedRows::Row& row) const {
  if (is_average()) return row.average ? PaperCell{PrintedNumber(*row.average)} : PaperCell{};
  const auto& cell = row.cells[column_];
  if (!cell) return {};
  if (cell->is_failed()) return {"", Small("\\textsc{fail}")};
  return {
      PrintedNumber(cell->value()),
      cell->has_spread() ? Small(absl::StrCat("(", lra::PrintedNumber(cell->spread()), ")")) : ""};
}

std::string PaperColumn::Head() const {
  return absl::StrCat("\\multicolumn{2}{c}{",
                      is_average() ? "average" : EscapeLatex(table_.tasks[column_]), "}");
}

const LeaderboardCell* PaperColumn::CellOf(const LeaderboardRow& row) const {
  return is_average() || !row.cells[column_] ? nullptr : &*row.cells[column_];
}

std::optional<Interval> PaperColumn::IntervalOf(const LeaderboardRow& row) const {
  const LeaderboardCell* const cell = CellOf(row);
  const auto interval = is_average()                           ? row.average_interval
                        : cell != nullptr && cell->trained > 0 ? cell->interval
                                                               : std::nullopt;
  return interval && !std::isnan(interval->low) ? interval : std::nullopt;
}

std::optional<Interval> PaperColumn::RankIntervalOf(const LeaderboardRow& row) const {
  const LeaderboardCell* const cell = CellOf(row);
  if (cell == nullptr || !cell->all_runs) return IntervalOf(row);
  const Interval& interval = cell->all_runs->interval;
  return std::isnan(interval.low) ? std::nullopt : std::optional<Interval>(interval);
}

absl::Span<const int> PaperColumn::GroupsOf(const LeaderboardRow& row) const {
  const LeaderboardCell* const cell = CellOf(row);
  return cell == nullptr ? absl::Span<const int>() : cell->letter_groups;
}

std::optional<double> PaperColumn::RankOf(const LeaderboardRow& row) const {
  if (row.kind == RunRecord::BASELINE) return std::nullopt;
  if (is_average()) return row.average;
  const LeaderboardCell* const cell = CellOf(row);
  if (cell == nullptr || cell->trained == 0 || cell->is_unranked()) return std::nullopt;
  return cell->rank_value();
}

bool PaperColumn::HasPrinted() const {
  for (const PublishedRows& published : table_.published) {
    for (const PublishedRows::Row& row : published.rows)
      if (is_average() ? row.average.has_value() : row.cells[column_].has_value()) return true;
  }
  return false;
}

void PaperColumn::FindDecimals(bool of_baselines) {
  for (const LeaderboardRow& row : table_.rows) {
    if (of_baselines != (row.kind == RunRecord::BASELINE)) continue;
    if (const auto interval = IntervalOf(row))
      more_ = std::max(more_.value_or(-metric().traits().decimals),
                       metric().DecimalsFor((interval->high - interval->low) / 2));
  }
}

void PaperColumn::FindBest() {
  size_t candidates = 0;
  bool is_any_unknown = false;
  for (const LeaderboardRow& row : table_.rows) {
    const std::optional<double> rank = RankOf(row);
    if (!rank) continue;
    ++candidates;
    is_any_unknown |= GroupsOf(row).empty() && !RankIntervalOf(row);
    if (best_ == nullptr || metric().Better(*rank, *RankOf(*best_))) best_ = &row;
  }
  is_withheld_ = candidates > 1 && is_any_unknown;
  if (candidates < 2 || is_withheld_) best_ = nullptr;
}

bool PaperColumn::IsBest(const LeaderboardRow& row) const {
  if (best_ == nullptr || !RankOf(row)) return false;
  if (&row == best_ || *RankOf(row) == *RankOf(*best_)) return true;
  const absl::Span<const int> groups = GroupsOf(row), best_groups = GroupsOf(*best_);
  if (!groups.empty() && !best_groups.empty()) {
    return std::find_first_of(groups.begin(), groups.end(), best_groups.begin(),
                              best_groups.end()) != groups.end();
  }
  return IntervalsMeet(row);
}

bool PaperColumn::IntervalsMeet(const LeaderboardRow& row) const {
  const auto own = RankIntervalOf(row), best = RankIntervalOf(*best_);
  if (!own || !best) return false;
  const double rank = *RankOf(row), best_rank = *RankOf(*best_);
  const double arms = best_rank > rank ? std::hypot(own->high - rank, best_rank - best->low)
                                       : std::hypot(rank - own->low, best->high - best_rank);
  return std::abs(best_rank - rank) <= arms;
}

std::string PaperColumn::NumberText(double value, bool is_best) const {
  const std::string number = metric().Number(value, more_.value_or(0));
  const std::string padding = Padded(number, decimals_).substr(number.size());
  return absl::StrCat(is_best ? absl::StrCat("\\textbf{", number, "}") : number, padding);
}

std::string PaperColumn::PrintedNumber(double value) const {
  return Padded(lra::PrintedNumber(value), decimals_);
}

std::string PaperColumn::Arms(double value, const std::optional<Interval>& interval) const {
  if (!interval || std::isnan(interval->low)) return "";
  return IntervalText(metric(), value, *interval, more_.value_or(0));
}

PaperCell PaperColumn::AverageCell(const LeaderboardRow& row, std::set<PaperMark>* used) const {
  if (!row.average) return {};
  PaperCell cell{NumberText(*row.average, IsBest(row)),
                 Small(Arms(*row.average, row.average_interval))};
  // Baselines are single runs by nature.
  if (!row.average_has_single_runs || row.kind == RunRecord::BASELINE) return cell;
  used->insert(PaperMark::kOneRun);
  absl::StrAppend(&cell.behind, Superscript(kOneRunSymbol));
  return cell;
}

std::string PaperColumn::Behind(const LeaderboardRow& row, const LeaderboardCell& cell,
                                std::set<PaperMark>* used) {
  if (row.kind == RunRecord::BASELINE) return "";
  std::string text;
  if (cell.trained < cell.runs()) {
    text = Small(absl::StrCat("(", cell.trained, "/", cell.runs(), ")"));
    used->insert(PaperMark::kFailures);
  }
  std::string above = cell.letters;
  if (!above.empty()) used->insert(PaperMark::kLetters);
  if (!cell.letter_groups.empty() && cell.letter_groups.back() >= kAlphabet)
    used->insert(PaperMark::kManyLetters);
  for (const PaperMarkText& mark : kPaperMarks) {
    if (!HasMark(mark.mark, cell)) continue;
    absl::StrAppend(&above, mark.symbol);
    used->insert(mark.mark);
  }
  return absl::StrCat(text, Superscript(above));
}

bool PaperColumn::HasMark(PaperMark mark, const LeaderboardCell& cell) {
  switch (mark) {
    case PaperMark::kOneRun:
      return cell.trained == 1;
    case PaperMark::kLessExamples:
      return cell.lacks_examples();
    case PaperMark::kNotAbove:
      // A single run has no corrected p; whether it is above singly is known.
      return cell.trained == 1 ? cell.learned.runs_above == 0
                               : cell.learned.verdict == Verdict::kNo;
    case PaperMark::kLarger:
      return cell.parameter_excess.value_or(0) > kParameterAllowance;
    case PaperMark::kPretrained:
      return cell.pretrain_steps > 0;
    case PaperMark::kFromAnotherRun:
      return cell.starts.contains(kAnotherEncoder) || cell.starts.contains(kAnotherWeights);
    case PaperMark::kFromOwnEncoder:
      return cell.starts.contains(kOwnEncoder);
    default:
      return false;
  }
}

}  // namespace lra::internal
