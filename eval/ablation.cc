#include "eval/ablation.h"

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "eval/all_runs.h"
#include "eval/compare_methods.h"
#include "eval/comparison.h"
#include "eval/multiple.h"
#include "eval/power.h"
#include "eval/row_statistics.h"

namespace lra {
namespace {

void Conclude(double confidence, AblationEffect* effect) {
  effect->interval = MeanInterval(*effect->estimate, confidence);
  effect->p = TwoSidedP(*effect->estimate, 0);
}

// Sets which seeds trained in every cell that the contrast needs.
void SortSeeds(const AblationTask& task, AblationEffect* effect) {
  for (size_t s = 0; s < task.seeds.size(); ++s) {
    const bool has_trained =
        std::all_of(effect->plan.weights.begin(), effect->plan.weights.end(),
                    [&](const auto& weight) { return !task.runs[weight.first][s].empty(); });
    (has_trained ? effect->seeds : effect->dropped_seeds).push_back(task.seeds[s]);
  }
}

// Whether cells that differ in the change alone had the same score of every example, wherever one
// of these seeds was trained.
bool ScoresAlike(const AblationTask& task, const AblationFactors& factors,
                 const PlannedEffect& plan, const std::vector<uint32_t>& seeds) {
  if (plan.kind == EffectKind::kInteraction) return false;
  const LevelChange& change = plan.changes.front();
  int step = 1;  // from a level of the factor to its next, among the cells
  for (size_t f = change.factor + 1; f < factors.size(); ++f)
    step *= static_cast<int>(factors[f].levels.size());
  for (const auto& [cell, weight] : plan.weights) {
    if (weight > 0) continue;  // it is the other of a pair
    for (size_t s = 0; s < task.seeds.size(); ++s) {
      if (std::find(seeds.begin(), seeds.end(), task.seeds[s]) != seeds.end() &&
          task.runs[cell][s] != task.runs[cell + change.level * step][s])
        return false;
    }
  }
  return true;
}

AblationEffect EffectOn(const AblationTask& task, const AblationFactors& factors,
                        const PlannedEffect& plan, double confidence) {
  AblationEffect effect;
  effect.plan = plan;
  effect.task = task.task;
  effect.metric = task.metric;
  SortSeeds(task, &effect);
  if (static_cast<int64_t>(effect.seeds.size()) < kLeastPairedSeeds) return effect;
  std::vector<WeightedCell> cells;
  for (const auto& [cell, weight] : plan.weights) cells.push_back({weight, task.runs[cell]});
  const Contrast contrast = ContrastOf(cells, task.block_examples);
  effect.estimate = contrast.estimate;
  effect.differing_examples = contrast.differing_examples;
  effect.scores_alike = ScoresAlike(task, factors, plan, effect.seeds);
  effect.is_constant = effect.scores_alike || contrast.estimate.constant_examples.has_value();
  Conclude(confidence, &effect);
  return effect;
}

// Every effect of the plan on each task: [effect][task].
std::vector<std::vector<AblationEffect>> EffectsOnTasks(const Ablation& ablation,
                                                        double confidence) {
  std::vector<std::vector<AblationEffect>> effects;
  for (const PlannedEffect& plan : PlanEffects(ablation.factors)) {
    std::vector<AblationEffect>& of_plan = effects.emplace_back();
    for (const AblationTask& task : ablation.tasks)
      of_plan.push_back(EffectOn(task, ablation.factors, plan, confidence));
  }
  return effects;
}

// Where all tasks have the effect, and one metric in one unit. Seeds are those of the tasks, each
// its own.
std::optional<AblationEffect> AverageOf(const std::vector<AblationEffect>& tasks,
                                        double confidence) {
  std::vector<Estimate> parts;
  int64_t differing_examples = 0;
  for (const AblationEffect& task : tasks) {
    if (!task.estimate || task.metric != tasks.front().metric) return std::nullopt;
    parts.push_back(*task.estimate);
    differing_examples += task.differing_examples;
  }
  if (parts.size() < 2) return std::nullopt;
  AblationEffect average;
  average.differing_examples = differing_examples;
  average.plan = tasks.front().plan;
  average.metric = tasks.front().metric;
  average.estimate = AverageEstimate(parts);
  average.scores_alike = std::all_of(tasks.begin(), tasks.end(),
                                     [](const AblationEffect& task) { return task.scores_alike; });
  average.is_constant = std::all_of(tasks.begin(), tasks.end(),
                                    [](const AblationEffect& task) { return task.is_constant; });
  Conclude(confidence, &average);
  return average;
}

// A main effect on `task` less that on `first`.
std::optional<AblationEffect> TaskInteraction(const AblationEffect& task,
                                              const AblationEffect& first, double confidence) {
  if (!task.estimate || !first.estimate || task.metric != first.metric) return std::nullopt;
  AblationEffect effect;
  effect.plan = task.plan;
  effect.task = task.task;
  effect.less_task = first.task;
  effect.metric = task.metric;
  effect.estimate = DifferenceOfTasks(*task.estimate, *first.estimate);
  effect.differing_examples = task.differing_examples + first.differing_examples;
  effect.is_constant = task.is_constant && first.is_constant;
  Conclude(confidence, &effect);
  return effect;
}

// What is corrected together: main effects by factor, interactions all, averages apart.
using Family = std::tuple<bool, int>;
std::optional<Family> FamilyOf(const AblationEffect& effect) {
  if (!effect.estimate || effect.plan.kind == EffectKind::kSimple) return std::nullopt;
  const bool is_main = effect.plan.kind == EffectKind::kMain && effect.less_task.empty();
  return Family(effect.is_average(), is_main ? effect.plan.changes.front().factor : -1);
}

void CorrectTogether(double confidence, const std::vector<AblationEffect*>& members) {
  std::vector<double> p;
  for (const AblationEffect* effect : members) p.push_back(effect->p);
  const std::vector<double> corrected = HolmP(p);
  for (size_t i = 0; i < members.size(); ++i) {
    members[i]->corrected_p = corrected[i];
    members[i]->family_tests = static_cast<int>(members.size());
    members[i]->is_told_apart = corrected[i] <= 1 - confidence + 1e-12 &&
                                members[i]->differing_examples >= kLeastDifferingExamples;
    // What never varied, on any task, says nothing of what would have been seen.
    if (members[i]->is_constant) continue;
    members[i]->smallest_difference =
        SmallestDifferenceOf(*members[i]->estimate, kShownPower, OneOfTests(confidence, p.size()),
                             members[i]->metric->LargestDifference());
  }
}

void CorrectFamilies(double confidence, std::vector<AblationEffect>* effects) {
  std::map<Family, std::vector<AblationEffect*>> families;
  for (AblationEffect& effect : *effects) {
    if (const std::optional<Family> family = FamilyOf(effect)) families[*family].push_back(&effect);
  }
  for (const auto& [family, members] : families) CorrectTogether(confidence, members);
}

// What is corrected together over all pairs of a suite: averages apart, by metric, and the pairs'
// own main effects, those of another factor and interactions each by themselves.
using PairFamily = std::tuple<bool, std::string, std::string>;
std::optional<PairFamily> PairFamilyOf(const Ablation& ablation, const AblationEffect& effect) {
  const std::optional<Family> own = FamilyOf(effect);
  if (ablation.pair_factor < 0 || !own) return std::nullopt;
  const int factor = std::get<1>(*own);
  const std::string what = factor < 0 ? "interactions"
                           : factor == ablation.pair_factor
                               ? "pairs"
                               : "factor " + ablation.factors[factor].name;
  return PairFamily(effect.is_average(), effect.metric->name(), what);
}

}  // namespace

int64_t AblationTask::examples() const {
  for (const std::vector<ExampleValues>& cell : runs) {
    for (const ExampleValues& run : cell) {
      if (!run.empty()) return static_cast<int64_t>(run.size());
    }
  }
  return 0;
}

std::string Ablation::why_no_average() const {
  std::vector<const Metric*> metrics;
  for (const AblationTask& task : tasks) metrics.push_back(task.metric);
  const std::string units = UnlikeUnits(metrics);
  return units.empty() ? "" : absl::StrCat("the tasks' units differ (", units, ")");
}

AblationResult AnalyseAblation(Ablation ablation, double confidence) {
  AblationResult result{std::move(ablation), confidence, {}};
  std::vector<AblationEffect> averages, of_tasks;
  for (const std::vector<AblationEffect>& on_tasks : EffectsOnTasks(result.ablation, confidence)) {
    result.effects.insert(result.effects.end(), on_tasks.begin(), on_tasks.end());
    if (auto average = AverageOf(on_tasks, confidence)) averages.push_back(*std::move(average));
    for (size_t t = 1; t < on_tasks.size() && on_tasks[0].plan.kind == EffectKind::kMain; ++t) {
      if (auto effect = TaskInteraction(on_tasks[t], on_tasks[0], confidence))
        of_tasks.push_back(*std::move(effect));
    }
  }
  result.effects.insert(result.effects.end(), averages.begin(), averages.end());
  result.effects.insert(result.effects.end(), of_tasks.begin(), of_tasks.end());
  CorrectFamilies(confidence, &result.effects);
  return result;
}

void CorrectPairs(std::vector<AblationResult>* designs) {
  std::map<PairFamily, std::vector<AblationEffect*>> families;
  for (AblationResult& design : *designs) {
    for (AblationEffect& effect : design.effects) {
      if (const std::optional<PairFamily> family = PairFamilyOf(design.ablation, effect))
        families[*family].push_back(&effect);
    }
  }
  for (const auto& [family, members] : families)
    CorrectTogether(designs->front().confidence, members);
}

CellScore ScoreOf(const AblationTask& task, int cell, double confidence) {
  CellScore score;
  RowRuns row;
  row.metric = task.metric;
  row.examples = task.examples();
  row.block_examples = task.block_examples;
  for (const ExampleValues& run : task.runs[cell]) {
    ++score.runs;
    if (run.empty()) continue;
    row.runs.push_back({Mean(run), std::make_shared<const ExampleValues>(run)});
  }
  score.trained = row.count();
  if (row.runs.empty()) return score;
  const std::optional<RowEstimate> estimate = EstimateRow(row);
  if (!estimate) return score;
  score.mean = estimate->estimate.mean;
  score.interval = RowInterval(row, *estimate, confidence);
  return score;
}

}  // namespace lra
