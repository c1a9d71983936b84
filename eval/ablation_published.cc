#include "eval/ablation_published.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "eval/ablation_text.h"
#include "eval/difference_text.h"
#include "lra/text_table.h"

namespace lra {
namespace {

const PublishedRow* OnlyRowOf(const PublishedTable& published, const std::string& method) {
  const PublishedRow* only = nullptr;
  for (const PublishedRow& row : published.rows()) {
    if (row.method() != method) continue;
    if (only != nullptr) return nullptr;
    only = &row;
  }
  return only;
}

// What is asked of a column: the effect's metric, on the split of the ablation.
struct Asked {
  const PublishedTable& table;
  const std::string& metric;
  const std::string& split;
};

bool HasNumber(const PublishedCell* cell) {
  return cell != nullptr && cell->has_value() && !cell->is_failed();
}

std::optional<PrintedEffect> PrintedOnTask(const Asked& asked, const AblationEffect& effect,
                                           const PublishedRow& level,
                                           const PublishedRow& reference) {
  const auto cell_in = [&](const PublishedRow& row) {
    return FindCell(asked.table, row, effect.task, asked.metric, asked.split);
  };
  const PublishedCell *const of_level = cell_in(level), *const of_reference = cell_in(reference);
  if (!HasNumber(of_level) || !HasNumber(of_reference) ||
      of_level->column() != of_reference->column())
    return std::nullopt;
  return PrintedEffect{&effect,
                       {of_level->column()},
                       {effect.task},
                       PrintedNumber(of_level->value()),
                       PrintedNumber(of_reference->value())};
}

std::optional<PrintedEffect> PrintedOnAverage(const Asked& asked, const AblationEffect& effect,
                                              const PublishedRow& level,
                                              const PublishedRow& reference) {
  const std::multiset<std::string> tasks =
      AveragedTasks(asked.table, level, asked.metric, asked.split);
  if (tasks.empty() || tasks != AveragedTasks(asked.table, reference, asked.metric, asked.split))
    return std::nullopt;
  return PrintedEffect{&effect, AveragedColumns(level), tasks, AverageText(asked.table, level),
                       AverageText(asked.table, reference)};
}

std::optional<PrintedEffect> PrintedOf(const Ablation& ablation, const PublishedTable& published,
                                       const AblationEffect& effect) {
  if (effect.plan.kind != EffectKind::kMain || !effect.less_task.empty()) return std::nullopt;
  const LevelChange& change = effect.plan.changes.front();
  const AblationFactor& factor = ablation.factors[change.factor];
  if (factor.name != kAttentionFactor) return std::nullopt;
  const PublishedRow* const level = OnlyRowOf(published, factor.levels[change.level]);
  const PublishedRow* const reference = OnlyRowOf(published, factor.levels[0]);
  if (level == nullptr || reference == nullptr) return std::nullopt;
  const Asked asked = {published, effect.metric->name(), ablation.split};
  return effect.is_average() ? PrintedOnAverage(asked, effect, *level, *reference)
                             : PrintedOnTask(asked, effect, *level, *reference);
}

size_t DecimalsIn(const std::string& number) {
  const size_t point = number.find('.');
  return point == std::string::npos ? 0 : number.size() - point - 1;
}

// "+1.03 points (55.23 - 54.20)".
std::string DifferenceInPrint(const PrintedEffect& printed) {
  const double difference =
      std::strtod(printed.level.c_str(), nullptr) - std::strtod(printed.reference.c_str(), nullptr);
  const size_t decimals = std::max(DecimalsIn(printed.level), DecimalsIn(printed.reference));
  return absl::StrFormat("%+.*f %s (%s - %s)", static_cast<int>(decimals), difference,
                         printed.ours->metric->difference_unit(), printed.level, printed.reference);
}

std::string OursBeside(const AblationEffect& effect) {
  return effect.estimate ? SignedText(*effect.metric, effect.estimate->mean, effect.interval)
                         : "not known";
}

// What the table says of itself and of the rows of the methods in question.
std::string RemarksInPrint(const AblationFactors& factors, const PublishedTable& published) {
  std::string text = published.note().empty() ? "" : absl::StrCat(" ", published.note());
  for (const AblationFactor& factor : factors) {
    if (factor.name != kAttentionFactor) continue;
    for (const PublishedRow& row : published.rows()) {
      const std::string remarks = RemarksOn(row);
      if (remarks.empty() || std::find(factor.levels.begin(), factor.levels.end(), row.method()) ==
                                 factor.levels.end())
        continue;
      absl::StrAppend(&text, " ", row.label(), ": ", remarks, ".");
    }
  }
  return text;
}

// Why the two columns do not measure the same.
std::string ApartText(const AblationResult& result, const std::vector<PrintedEffect>& effects,
                      const PublishedTable& published) {
  std::string text =
      "What is printed has sizes, budgets and runs of its own and no interval, so neither "
      "difference confirms or refutes the other.";
  std::multiset<std::string> tasks;
  for (const AblationTask& task : result.ablation.tasks) tasks.insert(task.task);
  for (const PrintedEffect& printed : effects) {
    if (!printed.ours->is_average() || printed.tasks == tasks) continue;
    absl::StrAppend(&text, " Ours is another average: of ", absl::StrJoin(tasks, ", "), ".");
    break;
  }
  return absl::StrCat(text, RemarksInPrint(result.ablation.factors, published));
}

}  // namespace

std::vector<PrintedEffect> PrintedEffects(const AblationResult& result,
                                          const PublishedTable& published) {
  std::vector<PrintedEffect> effects;
  for (const AblationEffect& effect : result.effects) {
    if (std::optional<PrintedEffect> printed = PrintedOf(result.ablation, published, effect)) {
      effects.push_back(*std::move(printed));
    }
  }
  return effects;
}

std::string PrintedEffectsText(const AblationResult& result, const PublishedTable& published) {
  const std::vector<PrintedEffect> effects = PrintedEffects(result, published);
  if (effects.empty()) {
    return absl::StrCat("\nPublished ", published.name(), " (", SourceText(published),
                        ") prints none of these effects.\n");
  }
  TextTable table;
  table.title = absl::StrCat("In print, not measured here: ", published.name(), " (",
                             SourceText(published), "; ", published.protocol(), "; evidence class ",
                             published.evidence_class(), ")");
  table.header = {"effect", "in print, on", "in print", "here, on", "here"};
  for (const PrintedEffect& printed : effects) {
    const std::string columns = absl::StrJoin(printed.columns, ", ");
    table.rows.push_back(
        {EffectText(result.ablation.factors, printed.ours->plan),
         printed.ours->is_average() ? absl::StrCat("the average of ", columns) : columns,
         DifferenceInPrint(printed), WhereText(*printed.ours), OursBeside(*printed.ours)});
  }
  return absl::StrCat("\n", ToMarkdown(table), "\n", ApartText(result, effects, published), "\n");
}

}  // namespace lra
