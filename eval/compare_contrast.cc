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
  double weight = 1;
  const bool has_weight = words.size() > 1 && absl::SimpleAtod(words.front(), &weight);
  return {sign * weight, absl::StrJoin(words.begin() + (has_weight ? 1 : 0), words.end(), " ")};
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

// The trained runs of each term in a column by seed; empty where some row has no run there.
absl::StatusOr<std::vector<std::map<uint32_t, Entry>>> CellsIn(const ColumnRuns& column,
                                                               const std::vector<Term>& terms,
                                                               std::set<uint32_t>* seeds,
                                                               std::set<std::string>* seen) {
  std::vector<std::map<uint32_t, Entry>> cells;
  for (const Term& term : terms) {
    std::string label;
    LRA_ASSIGN_OR_RETURN(const std::vector<Entry> runs, internal::RunsIn(column, term.row, &label));
    if (runs.empty()) continue;
    seen->insert(term.row.name);
    std::map<uint32_t, Entry>& cell = cells.emplace_back();
    for (const Entry& run : runs) seeds->insert(run.record().seed());
    for (const Entry* run : internal::TrainedOf(runs, column))
      cell.emplace(run->record().seed(), *run);
  }
  if (cells.size() < terms.size()) cells.clear();
  return cells;
}

absl::Status TooFewSeeds(const ColumnRuns& column, const std::string& text,
                         const std::vector<uint32_t>& seeds) {
  return absl::FailedPreconditionError(absl::StrCat(
      "--contrast \"", text, "\": on ", column.task, " ",
      seeds.empty() ? "no seed" : absl::StrCat("only seed ", absl::StrJoin(seeds, ", ")),
      " trained in every row; at least ", kLeastPairedSeeds, " must"));
}

absl::StatusOr<TaskContrast> ContrastOn(const ColumnRuns& column, const std::string& text,
                                        const std::vector<Term>& terms,
                                        const std::vector<std::map<uint32_t, Entry>>& cells,
                                        const std::set<uint32_t>& seeds, double confidence) {
  TaskContrast task;
  task.task = column.task;
  task.metric = &column.metric();
  std::vector<WeightedCell> weighted;
  for (const Term& term : terms) weighted.push_back({term.weight, {}});
  for (const uint32_t seed : seeds) {
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
  if (static_cast<int64_t>(task.seeds.size()) < kLeastPairedSeeds)
    return TooFewSeeds(column, text, task.seeds);
  task.examples = static_cast<int64_t>(weighted.front().runs.front().size());
  task.effect.estimate = ContrastOf(weighted).estimate;
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

absl::StatusOr<RowContrast> Analyse(const CompareRequest& request, const std::string& text,
                                    const std::vector<ContrastTerm>& parsed,
                                    const std::vector<std::vector<ColumnRuns>>& tables) {
  LRA_ASSIGN_OR_RETURN(const std::vector<Term> terms, FindTerms(parsed));
  RowContrast contrast{text, {}, std::nullopt};
  std::set<std::string> seen;
  for (const std::vector<ColumnRuns>& columns : tables) {
    for (const ColumnRuns& column : columns) {
      if (!request.task.empty() && column.task != request.task) continue;
      std::set<uint32_t> seeds;
      LRA_ASSIGN_OR_RETURN(const auto cells, CellsIn(column, terms, &seeds, &seen));
      if (cells.empty()) continue;
      LRA_ASSIGN_OR_RETURN(TaskContrast task,
                           ContrastOn(column, text, terms, cells, seeds, request.confidence));
      contrast.tasks.push_back(std::move(task));
    }
  }
  for (const Term& term : terms) {
    if (!seen.contains(term.row.name)) return internal::NoRunOf(term.row.name, request, tables);
  }
  if (!contrast.tasks.empty()) return contrast;
  return absl::FailedPreconditionError(absl::StrCat(
      "--contrast \"", text,
      "\": no task has all its rows under equal settings; `lra table` shows which rows share a "
      "table"));
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
      task.is_told_apart = task.corrected_p <= 1 - analysis->request.confidence + 1e-12;
    }
  }
}

void AddAverage(double confidence, RowContrast* contrast) {
  std::vector<Estimate> parts;
  for (const TaskContrast& task : contrast->tasks) {
    if (task.metric != contrast->tasks.front().metric) return;
    parts.push_back(task.effect.estimate);
  }
  if (parts.size() < 2) return;
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
  DecideContrasts(&analysis);
  return analysis;
}

}  // namespace lra
