// An ablation in plain words.
#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "eval/ablation_text.h"
#include "eval/compare_methods.h"
#include "eval/comparison.h"
#include "eval/difference_text.h"
#include "eval/starting_run.h"

namespace lra {
namespace {

constexpr size_t kAdvisedSeeds = 5;

const std::string& LevelName(const AblationFactors& factors, const LevelChange& change) {
  return factors[change.factor].levels[change.level];
}

// "reweighting decay instead of none".
std::string Instead(const AblationFactors& factors, const LevelChange& change) {
  const AblationFactor& factor = factors[change.factor];
  return absl::StrCat(factor.name, " ", factor.levels[change.level], " instead of ",
                      factor.levels[0]);
}

// "The effect of reweighting decay instead of none is, with positions absolute instead of none,".
std::string Subject(const AblationFactors& factors, const AblationEffect& effect) {
  const std::vector<LevelChange>& changes = effect.plan.changes;
  if (!effect.less_task.empty()) {
    return absl::StrCat("The effect of ", Instead(factors, changes[0]), " on ", effect.task,
                        " less that on ", effect.less_task);
  }
  const std::string where = absl::StrCat(" on ", WhereText(effect));
  if (effect.plan.kind == EffectKind::kInteraction) {
    return absl::StrCat("The effect of ", Instead(factors, changes[0]), where, " with ",
                        factors[changes[1].factor].name, " ", LevelName(factors, changes[1]),
                        " less that with ", factors[changes[1].factor].levels[0]);
  }
  return absl::StrCat("The effect of ", Instead(factors, changes[0]), where);
}

// "p = 0.03 over 2 tests".
std::string TestText(const AblationEffect& effect) {
  if (!effect.corrected_p) return PText(effect.p);
  return effect.family_tests == 1
             ? PText(*effect.corrected_p)
             : absl::StrCat(PText(*effect.corrected_p), " over ", effect.family_tests, " tests");
}

std::string WouldHaveBeenSeen(const AblationEffect& effect) {
  if (!effect.smallest_difference) return "";
  const std::string amount =
      absl::StrFormat("%.2g", effect.metric->traits().scale * *effect.smallest_difference);
  return absl::StrFormat(" %s would have been seen with %g %%.",
                         AmountText(amount, effect.metric->difference_unit()), 100 * kShownPower);
}

// Where nothing differs at all, it is more likely that a setting did not act than that it acts and
// never matters; an interval does not tell these from each other.
std::string AlikeText(const AblationEffect& effect) {
  return effect.scores_alike
             ? " Both gave the same score on every example with every seed, as where "
               "a setting does not reach the model."
             : "";
}

std::string SeedsText(const std::vector<uint32_t>& seeds) {
  return seeds.empty()
             ? "no seed"
             : absl::StrCat(seeds.size() == 1 ? "seed " : "seeds ", absl::StrJoin(seeds, ", "));
}

// Those of the sort that the words are about: main effects, or what they depend on.
std::vector<const AblationEffect*> Claims(const AblationResult& result, bool is_interaction) {
  std::vector<const AblationEffect*> claims;
  for (const AblationEffect& effect : result.effects) {
    const bool depends = effect.plan.kind == EffectKind::kInteraction || !effect.less_task.empty();
    if (effect.plan.kind != EffectKind::kSimple && depends == is_interaction)
      claims.push_back(&effect);
  }
  return claims;
}

bool Changes(const AblationEffect& effect, const LevelChange& change) {
  return std::any_of(effect.plan.changes.begin(), effect.plan.changes.end(),
                     [&](const LevelChange& other) {
                       return other.factor == change.factor && other.level == change.level;
                     });
}

// A mean effect says little where it was shown to depend on something: then the single effects are
// told behind it.
bool DependsOnCells(const AblationResult& result, const AblationEffect& main) {
  const std::vector<const AblationEffect*> interactions = Claims(result, true);
  return std::any_of(interactions.begin(), interactions.end(), [&](const AblationEffect* other) {
    return other->is_told_apart && other->less_task.empty() && other->task == main.task &&
           Changes(*other, main.plan.changes.front());
  });
}

bool DependsOnTasks(const AblationResult& result, const AblationEffect& main) {
  const std::vector<const AblationEffect*> interactions = Claims(result, true);
  return main.is_average() &&
         std::any_of(interactions.begin(), interactions.end(), [&](const AblationEffect* other) {
           return other->is_told_apart && !other->less_task.empty() &&
                  Changes(*other, main.plan.changes.front());
         });
}

// The main effect behind an average, on each task; a sentence above says of each whether it was
// told apart.
std::string EffectsOnTasksOf(const AblationResult& result, const AblationEffect& average) {
  std::vector<std::string> parts;
  for (const AblationEffect* effect : Claims(result, false)) {
    if (effect->is_average() || !effect->estimate ||
        !Changes(*effect, average.plan.changes.front()))
      continue;
    parts.push_back(
        absl::StrCat("on ", effect->task, " ",
                     SignedText(*effect->metric, effect->estimate->mean, effect->interval)));
  }
  return absl::StrCat(
      " It was shown to differ between tasks, so the average stands for none of them; it is ",
      absl::StrJoin(parts, ", "), ".");
}

std::string SimpleEffectsOf(const AblationResult& result, const AblationEffect& main) {
  const AblationFactors& factors = result.ablation.factors;
  std::vector<std::string> parts;
  for (const AblationEffect& effect : result.effects) {
    if (effect.plan.kind != EffectKind::kSimple || effect.task != main.task || !effect.estimate ||
        !Changes(effect, main.plan.changes.front()))
      continue;
    std::vector<std::string> at;
    for (size_t f = 0; f < factors.size(); ++f) {
      if (static_cast<int>(f) != effect.plan.changes.front().factor)
        at.push_back(absl::StrCat(factors[f].name, " ", factors[f].levels[effect.plan.at[f]]));
    }
    parts.push_back(
        absl::StrCat("at ", absl::StrJoin(at, ", "), " ",
                     SignedText(*effect.metric, effect.estimate->mean, effect.interval)));
  }
  return parts.empty() ? ""
                       : absl::StrCat(
                             " It was shown to differ between cells, so the mean stands "
                             "for none of them; one by one, without a claim: ",
                             absl::StrJoin(parts, "; "), ".");
}

std::string InteractionWords(const AblationResult& result) {
  const std::vector<const AblationEffect*> all = Claims(result, true);
  std::vector<std::string> sentences;
  double missed = 0;
  const AblationEffect* widest = nullptr;
  size_t told = 0, tested = 0;
  for (const AblationEffect* effect : all) {
    tested += effect->estimate ? 1 : 0;
    told += effect->is_told_apart ? 1 : 0;
    if (effect->is_told_apart) sentences.push_back(EffectSentence(result, *effect));
    if (effect->is_told_apart || effect->smallest_difference.value_or(0) <= missed) continue;
    missed = *effect->smallest_difference;
    widest = effect;
  }
  if (tested > told) {
    const bool is_one = tested - told == 1;
    const std::string which =
        is_one ? absl::StrCat("The ", told == 0 ? "one" : "other", " interaction")
               : absl::StrCat("None of the ", told == 0 ? "" : "other ", tested - told,
                              " interactions");
    sentences.push_back(absl::StrCat(which, " was ", is_one ? "not " : "",
                                     "told apart from 0, which does not show that there is none."));
    if (widest != nullptr) {
      sentences.back() +=
          absl::StrCat(is_one ? "" : " In the widest of these,", WouldHaveBeenSeen(*widest));
    }
  }
  return absl::StrJoin(sentences, " ");
}

// Whose runs the numbers are about, and on how few seeds they rest.
std::vector<std::string> Limits(const AblationResult& result) {
  std::vector<std::string> limits;
  std::set<std::string> dropped, starts;
  size_t fewest = kAdvisedSeeds;
  for (const AblationTask& task : result.ablation.tasks) {
    starts.insert(task.starts.begin(), task.starts.end());
    fewest = std::min(fewest, task.seeds.size());
    for (size_t cell = 0; cell < task.runs.size(); ++cell) {
      for (size_t s = 0; s < task.seeds.size(); ++s) {
        if (task.runs[cell][s].empty())
          dropped.insert(absl::StrCat(task.task, " seed ", task.seeds[s]));
      }
    }
  }
  if (!dropped.empty()) {
    limits.push_back(absl::StrCat(
        "Some runs did not train (", absl::StrJoin(dropped, ", "),
        "); their seeds are left out of each effect that needs them, so the effects are those of "
        "runs that train."));
  }
  for (const AblationTask& task : result.ablation.tasks) {
    if (task.unjudged.empty()) continue;
    limits.push_back(absl::StrCat("On ", task.task, " ", task.unjudged,
                                  "; --baselines names a folder with the record."));
  }
  if (fewest < kAdvisedSeeds) {
    limits.push_back(
        absl::StrCat("These are ", fewest, " seeds; ", kAdvisedSeeds, " or more are advised."));
  }
  limits.push_back(
      "All of this is about new seeds and new examples at these settings; other sizes, budgets, "
      "tuning and data were not varied.");
  if (starts.erase(kOwnEncoder) > 0) {
    limits.push_back(
        absl::StrCat("Runs that begin from ", kOwnEncoder,
                     ", do so by one recipe a cell: the intervals cover other encoders "
                     "of it, and the budget does not count their training."));
  }
  if (!starts.empty()) {
    limits.push_back(absl::StrCat(
        "Runs that begin from ", absl::StrJoin(starts, " or "),
        " begin from the same with every seed: the intervals do not cover another, and the budget "
        "does not count its training."));
  }
  return limits;
}

}  // namespace

std::string WhereText(const AblationEffect& effect) {
  if (effect.is_average()) return "the average of the tasks";
  return effect.less_task.empty() ? effect.task
                                  : absl::StrCat(effect.task, " less ", effect.less_task);
}

std::string EffectSentence(const AblationResult& result, const AblationEffect& effect) {
  const std::string subject = Subject(result.ablation.factors, effect);
  if (!effect.estimate) {
    return absl::StrCat(subject, " is not known: ", SeedsText(effect.seeds),
                        " trained in every cell of it, and at least ", kLeastPairedSeeds, " must.");
  }
  const std::string amount = SignedText(*effect.metric, effect.estimate->mean, effect.interval);
  if (effect.is_told_apart)
    return absl::StrCat(subject, " is ", amount, " (", TestText(effect), ").");
  return absl::StrCat(subject, " was not told apart from 0: ", amount, " (", TestText(effect), ").",
                      AlikeText(effect), WouldHaveBeenSeen(effect));
}

std::vector<std::string> AblationWords(const AblationResult& result) {
  std::vector<std::string> sentences;
  for (const AblationEffect* effect : Claims(result, false)) {
    sentences.push_back(EffectSentence(result, *effect));
    if (!effect->estimate) continue;
    if (DependsOnTasks(result, *effect)) sentences.back() += EffectsOnTasksOf(result, *effect);
    if (DependsOnCells(result, *effect)) sentences.back() += SimpleEffectsOf(result, *effect);
  }
  const std::string interactions = InteractionWords(result);
  if (!interactions.empty()) sentences.push_back(interactions);
  if (const std::string why = result.ablation.why_no_average(); !why.empty()) {
    sentences.push_back(absl::StrCat(
        "There is no average over the tasks, and no difference between tasks of unlike units: ",
        why, "."));
  }
  for (std::string& limit : Limits(result)) sentences.push_back(std::move(limit));
  return sentences;
}

}  // namespace lra
