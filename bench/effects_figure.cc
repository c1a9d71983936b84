#include "bench/effects_figure.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/gnuplot.h"
#include "eval/ablation_text.h"

namespace lra {
namespace {

// Pixels of a line of text and of all that is around the lines.
constexpr int kLinePixels = 26, kFramePixels = 130;
// The plot with what is right of it; a character of the labels beside it.
constexpr int kPlotPixels = 520, kCharacterPixels = 6;

std::vector<const AblationEffect*> ShownEffects(const AblationResult& result) {
  std::vector<const AblationEffect*> shown;
  for (const AblationEffect& effect : result.effects) {
    if (!effect.estimate || effect.plan.kind == EffectKind::kSimple) continue;
    if (!shown.empty() && effect.metric != shown.front()->metric) continue;
    shown.push_back(&effect);
  }
  return shown;
}

// "effect (task)": the task only where there are several.
std::string LabelOf(const AblationResult& result, const AblationEffect& effect) {
  const std::string text = EffectText(result.ablation.factors, effect.plan);
  return result.ablation.tasks.size() == 1 ? text
                                           : absl::StrCat(text, " (", WhereText(effect), ")");
}

int LabelPixels(const AblationResult& result, const std::vector<const AblationEffect*>& effects) {
  size_t longest = 0;
  for (const AblationEffect* effect : effects)
    longest = std::max(longest, LabelOf(result, *effect).size());
  return kCharacterPixels * static_cast<int>(longest + 2);
}

// Effect, ends of the interval and place from the top, of those that were told apart or not.
std::string Block(const std::vector<const AblationEffect*>& effects, const char* name,
                  bool is_told_apart) {
  const double scale = effects.front()->metric->traits().scale;
  std::string text = absl::StrCat("$", name, " << END\n");
  for (size_t i = 0; i < effects.size(); ++i) {
    if (effects[i]->is_told_apart != is_told_apart) continue;
    absl::StrAppendFormat(&text, "%.9g %.9g %.9g %d\n", scale * effects[i]->estimate->mean,
                          scale * effects[i]->interval.low, scale * effects[i]->interval.high, i);
  }
  return text + "END\n";
}

bool Any(const std::vector<const AblationEffect*>& effects, bool is_told_apart) {
  for (const AblationEffect* effect : effects) {
    if (effect->is_told_apart == is_told_apart) return true;
  }
  return false;
}

}  // namespace

std::string EffectsProgram(const AblationResult& result, const std::string& svg) {
  const std::vector<const AblationEffect*> effects = ShownEffects(result);
  // Left to itself gnuplot takes labels for wider than they are, at the plot's cost.
  const int label = LabelPixels(result, effects), width = label + kPlotPixels;
  std::string text = absl::StrFormat(
      "set terminal svg size %d,%d dynamic\nset output \"%s\"\nset lmargin at screen %.3f\n", width,
      kFramePixels + kLinePixels * static_cast<int>(effects.size()), svg,
      static_cast<double>(label) / width);
  absl::StrAppend(&text, Block(effects, "told", true), Block(effects, "other", false));
  if (!result.ablation.title.empty())
    absl::StrAppend(&text, "set title ", GnuplotText(result.ablation.title), "\n");
  absl::StrAppendFormat(
      &text, "set xlabel \"%s, with %g %% interval\"\nset yrange [%d.5:-0.5]\nset ytics (",
      effects.front()->metric->difference_unit(), 100 * result.confidence,
      static_cast<int>(effects.size()) - 1);
  for (size_t i = 0; i < effects.size(); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", GnuplotText(LabelOf(result, *effects[i])), " ", i);
  }
  // Colours of Okabe and Ito, which the colour-blind tell apart; points differ in form as well.
  absl::StrAppend(&text, ")\nset grid x\nset arrow from first 0, graph 0 to first 0, graph 1 ",
                  "nohead lc rgb \"black\"\nset key at screen 0.02, character 1 left bottom "
                  "vertical maxrows 2 Left reverse\nplot ");
  if (Any(effects, true)) {
    absl::StrAppend(&text, "$told using 1:4:2:3 with xerrorbars pt 7 ps 0.8 lw 2 lc rgb ",
                    "\"#0072B2\" title \"told apart from 0\"", Any(effects, false) ? ", " : "");
  }
  if (Any(effects, false)) {
    absl::StrAppend(&text, "$other using 1:4:2:3 with xerrorbars pt 6 ps 0.8 lw 2 lc rgb ",
                    "\"#D55E00\" title \"not told apart\"");
  }
  return text + "\n";
}

absl::StatusOr<std::vector<std::string>> DrawEffects(const std::vector<AblationResult>& designs,
                                                     const std::string& prefix,
                                                     const std::string& gnuplot) {
  std::vector<GnuplotPicture> pictures;
  for (const AblationResult& result : designs) {
    if (ShownEffects(result).empty()) continue;
    pictures.push_back([&result](const std::string& svg) { return EffectsProgram(result, svg); });
  }
  return DrawPictures(pictures, prefix, gnuplot);
}

}  // namespace lra
