#include "eval/effect_plan.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace lra {
namespace {

std::string ChangeText(const AblationFactors& factors, const LevelChange& change) {
  const AblationFactor& factor = factors[change.factor];
  return absl::StrCat(factor.name, ": ", factor.levels[change.level], " - ", factor.levels[0]);
}

// +1 in the changed level, -1 in the reference, 0 elsewhere; of two changes their product.
double SignOf(const std::vector<int>& levels, const std::vector<LevelChange>& changes) {
  double sign = 1;
  for (const LevelChange& change : changes) {
    const int level = levels[change.factor];
    sign *= level == change.level ? 1 : level == 0 ? -1 : 0;
  }
  return sign;
}

// The mean over all cells that the changes concern.
PlannedEffect MeanEffect(const AblationFactors& factors, EffectKind kind,
                         std::vector<LevelChange> changes) {
  PlannedEffect effect{kind, std::move(changes), {}, {}, 0};
  for (int cell = 0; cell < CellCount(factors); ++cell) {
    const double sign = SignOf(LevelsOf(factors, cell), effect.changes);
    if (sign != 0) effect.weights.emplace_back(cell, sign);
  }
  effect.matches = static_cast<int>(effect.weights.size()) / (kind == EffectKind::kMain ? 2 : 4);
  for (auto& [cell, weight] : effect.weights) weight /= effect.matches;
  return effect;
}

std::vector<LevelChange> ChangesOf(const AblationFactors& factors, int factor) {
  std::vector<LevelChange> changes;
  for (int level = 1; level < static_cast<int>(factors[factor].levels.size()); ++level)
    changes.push_back({factor, level});
  return changes;
}

void AddInteractions(const AblationFactors& factors, int a, int b,
                     std::vector<PlannedEffect>* effects) {
  for (const LevelChange& of_a : ChangesOf(factors, a)) {
    for (const LevelChange& of_b : ChangesOf(factors, b))
      effects->push_back(MeanEffect(factors, EffectKind::kInteraction, {of_a, of_b}));
  }
}

void AddSimple(const AblationFactors& factors, const LevelChange& change,
               std::vector<PlannedEffect>* effects) {
  std::vector<int> step(factors.size());  // how far a factor's next level is among the cells
  int cells = 1;
  for (size_t f = factors.size(); f-- > 0; cells *= static_cast<int>(factors[f].levels.size()))
    step[f] = cells;
  for (int cell = 0; cell < cells; ++cell) {
    std::vector<int> levels = LevelsOf(factors, cell);
    if (levels[change.factor] != 0) continue;
    effects->push_back({EffectKind::kSimple,
                        {change},
                        std::move(levels),
                        {{cell, -1}, {cell + change.level * step[change.factor], 1}},
                        1});
  }
}

}  // namespace

int CellCount(const AblationFactors& factors) {
  int cells = 1;
  for (const AblationFactor& factor : factors) cells *= static_cast<int>(factor.levels.size());
  return cells;
}

std::vector<int> LevelsOf(const AblationFactors& factors, int cell) {
  std::vector<int> levels(factors.size());
  for (size_t f = factors.size(); f-- > 0;) {
    const int count = static_cast<int>(factors[f].levels.size());
    levels[f] = cell % count;
    cell /= count;
  }
  return levels;
}

std::string CellText(const AblationFactors& factors, int cell) {
  const std::vector<int> levels = LevelsOf(factors, cell);
  std::vector<std::string> parts;
  for (size_t f = 0; f < factors.size(); ++f)
    parts.push_back(absl::StrCat(factors[f].name, " ", factors[f].levels[levels[f]]));
  return absl::StrJoin(parts, ", ");
}

const char* EffectKindName(EffectKind kind) {
  switch (kind) {
    case EffectKind::kMain:
      return "main";
    case EffectKind::kInteraction:
      return "interaction";
    case EffectKind::kSimple:
      break;
  }
  return "simple";
}

std::vector<PlannedEffect> PlanEffects(const AblationFactors& factors) {
  const int count = static_cast<int>(factors.size());
  std::vector<PlannedEffect> effects;
  for (int f = 0; f < count; ++f) {
    for (const LevelChange& change : ChangesOf(factors, f))
      effects.push_back(MeanEffect(factors, EffectKind::kMain, {change}));
  }
  for (int a = 0; a < count; ++a) {
    for (int b = a + 1; b < count; ++b) AddInteractions(factors, a, b, &effects);
  }
  for (int f = 0; f < count && count > 1; ++f) {
    for (const LevelChange& change : ChangesOf(factors, f)) AddSimple(factors, change, &effects);
  }
  return effects;
}

std::string EffectText(const AblationFactors& factors, const PlannedEffect& effect) {
  if (effect.kind == EffectKind::kInteraction) {
    return absl::StrCat("(", ChangeText(factors, effect.changes[0]), ") x (",
                        ChangeText(factors, effect.changes[1]), ")");
  }
  std::string text = ChangeText(factors, effect.changes[0]);
  for (size_t f = 0; f < effect.at.size(); ++f) {
    if (static_cast<int>(f) == effect.changes[0].factor) continue;
    absl::StrAppend(&text, ", at ", factors[f].name, " ", factors[f].levels[effect.at[f]]);
  }
  return text;
}

}  // namespace lra
