// A designed ablation: a grid of cells, one for each combination of the levels of some factors, and
// the effects that are read off it, each a contrast of matched cells (docs/statistics.md).
#ifndef LRA_EVAL_EFFECT_PLAN_H_
#define LRA_EVAL_EFFECT_PLAN_H_

#include <string>
#include <utility>
#include <vector>

namespace lra {

// The first level is the reference, from which the others' effects are counted.
struct AblationFactor {
  std::string name;
  std::vector<std::string> levels;
};

// Cells are numbered with the levels of the last factor changing first.
using AblationFactors = std::vector<AblationFactor>;

int CellCount(const AblationFactors& factors);
// The level of each factor in a cell.
std::vector<int> LevelsOf(const AblationFactors& factors, int cell);
// "reweighting decay, positions none".
std::string CellText(const AblationFactors& factors, int cell);

enum class EffectKind {
  kMain,         // of a factor's level: its mean over the levels of all other factors
  kInteraction,  // of two factors' levels: how much one's effect differs between the other's levels
  kSimple,       // of a factor's level at one level of each other factor
};
// "main", "interaction", "simple".
const char* EffectKindName(EffectKind kind);

// From a factor's reference to another of its levels.
struct LevelChange {
  int factor = 0;
  int level = 0;
};

struct PlannedEffect {
  EffectKind kind = EffectKind::kMain;
  std::vector<LevelChange> changes;  // one; two of an interaction
  // For a simple effect: the level of each other factor, and 0 for the one that changes.
  std::vector<int> at;
  // Cell and weight. Cells with weights of unlike sign differ in `changes` alone.
  std::vector<std::pair<int, double>> weights;
  // Over how many differences of matched cells (differences of differences) the effect is a mean.
  int matches = 0;
};

// Main effects by factor and level, then the interactions of all pairs of factors, then simple
// effects, where they are not the main ones: with two factors or more. Interactions of three
// factors are not among them.
std::vector<PlannedEffect> PlanEffects(const AblationFactors& factors);

// "reweighting: decay - none", with ", at positions none" of a simple effect; "(A: a - b) x (B: c -
// d)" of an interaction.
std::string EffectText(const AblationFactors& factors, const PlannedEffect& effect);

}  // namespace lra

#endif  // LRA_EVAL_EFFECT_PLAN_H_
