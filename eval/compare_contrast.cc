#include "eval/compare_contrast.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "eval/all_runs.h"
#include "eval/contrast.h"
#include "eval/multiple.h"
#include "eval/wanted_rows.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

using internal::ColumnRuns;
using internal::Entry;
using internal::WantedRow;

constexpr double kLeastWeight = 1e-9;

absl::Status CannotRead(absl::string_view text, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(
      "--contrast \"", text, "\": ", why, "; e.g. \"A - B\" or \"0.5 A - 0.5 B + 0.5 C - 0.5 D\""));
}

// "cosformer" or "0.5 cosformer".
ContrastTerm MakeTerm(double sign, const std::vector<absl::string_view>& words) {
  double weight = 0;
  const bool has_weight = words.size() > 1 && absl::SimpleAtod(words.front(), &weight);
  return {has_weight ? sign * weight : sign,
          absl::StrJoin(words.begin() + (has_weight ? 1 : 0), words.end(), " ")};
}

absl::Status CheckTerms(absl::string_view text, const std::vector<ContrastTerm>& terms) {
  double sum = 0;
  std::set<std::string> rows;
  for (const ContrastTerm& term : terms) {
    if (term.row.empty()) return CannotRead(text, "a sign without a row");
    if (!(std::abs(term.weight) >= kLeastWeight && std::isfinite(term.weight)))
      return CannotRead(text, absl::StrCat("the weight of ", term.row, " is 0 or no number"));
    if (!rows.insert(term.row).second)
      return CannotRead(text, absl::StrCat(term.row, " is named twice"));
    sum += term.weight;
  }
  if (terms.size() < 2) return CannotRead(text, "needs two rows or more");
  if (std::abs(sum) > kLeastWeight)
    return CannotRead(text, absl::StrCat("its weights sum to ", sum, ", not to 0"));
  return absl::OkStatus();
}

struct Term {
  double weight;
  WantedRow row;
};

// A column, and in it the trained runs of each term by seed; these are empty where some row has no
// run there.
struct ContrastColumn {
  const ColumnRuns* column = nullptr;
  size_t table = 0;
  std::vector<std::map<uint32_t, Entry>> cells;
  std::set<uint32_t> seeds;  // of all runs
};

absl::Status FillCells(const std::vector<Term>& terms, std::set<std::string>* seen,
                       ContrastColumn* column) {
  for (const Term& term : terms) {
    std::string label;
    LRA_ASSIGN_OR_RETURN(const std::vector<Entry> runs,
                         internal::RunsIn(*column->column, term.row, &label));
    if (runs.empty()) continue;
    seen->insert(term.row.name);
    std::map<uint32_t, Entry>& cell = column->cells.emplace_back();
    for (const Entry& run : runs) column->seeds.insert(run.record().seed());
    for (const Entry* run : internal::TrainedOf(runs, *column->column))
      cell.emplace(run->record().seed(), *run);
  }
  if (column->cells.size() < terms.size()) column->cells.clear();
  return absl::OkStatus();
}

absl::Status TooFewSeeds(const std::vector<uint32_t>& seeds) {
  return absl::FailedPreconditionError(absl::StrCat(
      seeds.empty() ? "no seed" : absl::StrCat("only seed ", absl::StrJoin(seeds, ", ")),
      " trained in every row; at least ", kLeastPairedSeeds, " must"));
}

// Cuts all runs to the examples that each has, the first ones (ValuesOf in row_statistics.cc), and
// returns their number.
int64_t CutToCommon(std::vector<WeightedCell>* cells) {
  size_t examples = cells->front().runs.front().size();
  for (const WeightedCell& cell : *cells) {
    for (const ExampleValues& run : cell.runs) examples = std::min(examples, run.size());
  }
  for (WeightedCell& cell : *cells) {
    for (ExampleValues& run : cell.runs) run.resize(examples);
  }
  return static_cast<int64_t>(examples);
}

// The error says why nothing can be said of this column.
absl::StatusOr<TaskContrast> ContrastOn(const ComparedColumn& name, const ContrastColumn& column,
                                        const std::vector<Term>& terms, double confidence) {
  const std::vector<std::map<uint32_t, Entry>>& cells = column.cells;
  TaskContrast task;
  static_cast<ComparedColumn&>(task) = name;
  std::vector<WeightedCell> weighted;
  for (const Term& term : terms) weighted.push_back({term.weight, {}});
  for (const uint32_t seed : column.seeds) {
    const bool is_whole = std::all_of(cells.begin(), cells.end(),
                                      [&](const auto& cell) { return cell.contains(seed); });
    (is_whole ? task.seeds : task.dropped_seeds).push_back(seed);
    for (size_t c = 0; is_whole && c < cells.size(); ++c) {
      const Entry& run = cells[c].at(seed);
      if (run.examples == nullptr) {
        return absl::FailedPreconditionError(
            absl::StrCat(run.located->directory,
                         ": scores of examples are not on record, which a contrast needs"));
      }
      weighted[c].runs.push_back(*run.examples);
    }
  }
  if (static_cast<int64_t>(task.seeds.size()) < kLeastPairedSeeds) return TooFewSeeds(task.seeds);
  task.examples = CutToCommon(&weighted);
  const Contrast contrast = ContrastOf(weighted, column.column->block_examples);
  task.effect.estimate = contrast.estimate;
  task.effect.differs_on_too_few = contrast.differing_examples < kLeastDifferingExamples;
  task.effect.interval = MeanInterval(task.effect.estimate, confidence);
  task.effect.p = TwoSidedP(task.effect.estimate, 0);
  task.effect.method = "contrast";
  return task;
}

absl::StatusOr<std::vector<Term>> FindTerms(const std::vector<ContrastTerm>& terms) {
  std::vector<Term> found;
  for (const ContrastTerm& term : terms) {
    LRA_ASSIGN_OR_RETURN(WantedRow row, internal::FindWantedRow(term.row));
    found.push_back({term.weight, std::move(row)});
  }
  return found;
}

// All columns that have every row; there is one.
absl::StatusOr<std::vector<ContrastColumn>> FindColumns(
    const CompareRequest& request, const std::string& text, const std::vector<Term>& terms,
    const std::vector<std::vector<ColumnRuns>>& tables) {
  std::vector<ContrastColumn> found;
  std::set<std::string> seen;
  for (size_t t = 0; t < tables.size(); ++t) {
    for (const ColumnRuns& runs : tables[t]) {
      if (!request.task.empty() && runs.task != request.task) continue;
      ContrastColumn column;
      column.column = &runs;
      column.table = t;
      LRA_RETURN_IF_ERROR(FillCells(terms, &seen, &column));
      if (!column.cells.empty()) found.push_back(std::move(column));
    }
  }
  for (const Term& term : terms) {
    if (!seen.contains(term.row.name)) return internal::NoRunOf(term.row.name, request, tables);
  }
  if (!found.empty()) return found;
  return absl::FailedPreconditionError(absl::StrCat(
      "--contrast \"", text,
      "\": no task has all its rows under equal settings; `lra table` shows which rows share a "
      "table"));
}

absl::StatusOr<RowContrast> Analyse(const CompareRequest& request, const std::string& text,
                                    const std::vector<ContrastTerm>& parsed,
                                    const std::vector<std::vector<ColumnRuns>>& tables) {
  LRA_ASSIGN_OR_RETURN(const std::vector<Term> terms, FindTerms(parsed));
  LRA_ASSIGN_OR_RETURN(const std::vector<ContrastColumn> found,
                       FindColumns(request, text, terms, tables));
  std::vector<std::pair<size_t, const ColumnRuns*>> columns;
  for (const ContrastColumn& column : found) columns.emplace_back(column.table, column.column);
  const std::vector<ComparedColumn> names = internal::NameColumns(columns);
  RowContrast contrast;
  contrast.text = text;
  for (size_t i = 0; i < found.size(); ++i) {
    absl::StatusOr<TaskContrast> task = ContrastOn(names[i], found[i], terms, request.confidence);
    if (task.ok()) {
      contrast.tasks.push_back(*std::move(task));
    } else {
      contrast.not_compared.push_back({names[i], std::string(task.status().message())});
    }
  }
  contrast.why_no_average = internal::WhyNoAverage(names, contrast.not_compared);
  return contrast;
}

absl::Status NothingCompared(const std::vector<RowContrast>& contrasts) {
  return absl::FailedPreconditionError(
      absl::StrJoin(contrasts, "; ", [](std::string* out, const RowContrast& contrast) {
        absl::StrAppend(out, "--contrast \"", contrast.text,
                        "\": ", internal::DescribeUncompared(contrast.not_compared));
      }));
}

void DecideContrasts(ContrastAnalysis* analysis) {
  std::vector<double> p;
  for (const RowContrast& contrast : analysis->contrasts) {
    for (const TaskContrast& task : contrast.tasks) p.push_back(task.effect.p);
  }
  const std::vector<double> corrected = HolmP(p);
  size_t next = 0;
  for (RowContrast& contrast : analysis->contrasts) {
    for (TaskContrast& task : contrast.tasks) {
      task.corrected_p = corrected[next++];
      task.is_told_apart = task.corrected_p <= 1 - analysis->request.confidence + 1e-12 &&
                           !task.effect.differs_on_too_few;
    }
  }
}

void AddAverage(double confidence, RowContrast* contrast) {
  if (contrast->tasks.size() < 2 || !contrast->why_no_average.empty()) return;
  std::vector<Estimate> parts;
  for (const TaskContrast& task : contrast->tasks) parts.push_back(task.effect.estimate);
  RowDifference average;
  average.estimate = AverageEstimate(parts);
  average.interval = MeanInterval(average.estimate, confidence);
  average.p = TwoSidedP(average.estimate, 0);
  average.method = "average";
  contrast->average = average;
}

}  // namespace

absl::StatusOr<std::vector<ContrastTerm>> ParseContrast(absl::string_view text) {
  std::vector<ContrastTerm> terms;
  std::vector<absl::string_view> words;
  double sign = 1;
  absl::string_view rest = absl::StripAsciiWhitespace(text);
  if (absl::ConsumePrefix(&rest, "-")) sign = -1;
  for (absl::string_view word : absl::StrSplit(rest, ' ', absl::SkipEmpty())) {
    if (word != "+" && word != "-") {
      words.push_back(word);
      continue;
    }
    terms.push_back(MakeTerm(sign, words));
    words.clear();
    sign = word == "-" ? -1 : 1;
  }
  terms.push_back(MakeTerm(sign, words));
  LRA_RETURN_IF_ERROR(CheckTerms(text, terms));
  return terms;
}

size_t ContrastAnalysis::tests() const {
  size_t tests = 0;
  for (const RowContrast& contrast : contrasts) tests += contrast.tasks.size();
  return tests;
}

absl::StatusOr<ContrastAnalysis> AnalyseContrasts(const CompareRequest& request,
                                                  const std::vector<std::string>& contrasts) {
  LRA_RETURN_IF_ERROR(CheckConfidence(request));
  std::vector<std::vector<ContrastTerm>> parsed;
  std::vector<std::string> rows;
  for (const std::string& text : contrasts) {
    LRA_ASSIGN_OR_RETURN(parsed.emplace_back(), ParseContrast(text));
    for (const ContrastTerm& term : parsed.back()) rows.push_back(term.row);
  }
  LRA_ASSIGN_OR_RETURN(const internal::ComparableRuns runs,
                       internal::FindComparableRuns(request, rows));
  ContrastAnalysis analysis{request, {}};
  for (size_t i = 0; i < contrasts.size(); ++i) {
    LRA_ASSIGN_OR_RETURN(RowContrast contrast,
                         Analyse(request, contrasts[i], parsed[i], runs.tables));
    AddAverage(request.confidence, &contrast);
    analysis.contrasts.push_back(std::move(contrast));
  }
  if (analysis.tests() == 0) return NothingCompared(analysis.contrasts);
  DecideContrasts(&analysis);
  return analysis;
}

}  // namespace lra
