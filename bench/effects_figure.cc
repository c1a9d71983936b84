#include "bench/effects_figure.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "bench/column_figure.h"
#include "bench/gnuplot.h"
#include "eval/ablation_text.h"
#include "eval/metric.h"
#include "lra/text_columns.h"

namespace lra {
namespace {

// Pixels of a line of text and of all that is around the lines.
constexpr int kLinePixels = 26, kFramePixels = 130;
// The plot with what is right of it; a character of the labels beside it.
constexpr int kPlotPixels = 520, kCharacterPixels = 6;

using Effects = std::vector<const AblationEffect*>;

Effects ShownEffects(const AblationResult& result) {
  Effects shown;
  for (const AblationEffect& effect : result.effects) {
    if (!effect.estimate || effect.plan.kind == EffectKind::kSimple) continue;
    if (!shown.empty() && effect.metric->name() != shown.front()->metric->name()) continue;
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

int LabelPixels(const AblationResult& result, const Effects& effects) {
  size_t longest = 0;
  for (const AblationEffect* effect : effects)
    longest = std::max(longest, CountCharacters(LabelOf(result, *effect)));
  return kCharacterPixels * static_cast<int>(longest + 2);
}

// Effects in a column have their labels above them.
struct LabelledEffects {
  std::vector<std::vector<std::string>> labels;  // lines
  std::vector<double> label_places, places;      // in lines from the top
  double lines = 0;
};

LabelledEffects LabelsAbove(const AblationResult& result, const Effects& effects) {
  LabelledEffects labelled;
  for (const AblationEffect* effect : effects) {
    labelled.labels.push_back(WrapText(LabelOf(result, *effect), kColumnCharacters));
    labelled.label_places.push_back(labelled.lines);
    labelled.lines += labelled.labels.back().size();
    labelled.places.push_back(labelled.lines - 0.15);
    labelled.lines += 1;
  }
  return labelled;
}

// Effect, ends of the interval and places from the top, on a screen and in a column, of those that
// were told apart or not.
std::string Block(const Effects& effects, const LabelledEffects& labelled, const char* name,
                  bool is_told_apart) {
  const double scale = effects.front()->metric->traits().scale;
  std::string text = absl::StrCat("$", name, " << END\n");
  for (size_t i = 0; i < effects.size(); ++i) {
    if (effects[i]->is_told_apart != is_told_apart) continue;
    absl::StrAppendFormat(&text, "%.9g %.9g %.9g %d %.2f\n", scale * effects[i]->estimate->mean,
                          scale * effects[i]->interval.low, scale * effects[i]->interval.high, i,
                          labelled.places[i]);
  }
  return text + "END\n";
}

bool Any(const Effects& effects, bool is_told_apart) {
  for (const AblationEffect* effect : effects) {
    if (effect->is_told_apart == is_told_apart) return true;
  }
  return false;
}

std::string EffectAxis(const AblationResult& result, const Effects& effects) {
  std::vector<const Metric*> metrics;
  for (const AblationEffect* effect : effects) metrics.push_back(effect->metric);
  return absl::StrFormat("%s, with %g %% interval", MetricOfAll(metrics).difference_unit(),
                         100 * result.confidence);
}

// Colours of Okabe and Ito, which the colour-blind tell apart; points differ in form as well.
struct EffectKindStyle {
  bool is_told_apart;
  const char *block, *title, *points, *colour;
};
constexpr EffectKindStyle kEffectStyles[] = {
    {true, "$told", "told apart from 0", "pt 7", "lc rgb \"#0072B2\""},
    {false, "$other", "not told apart", "pt 6", "lc rgb \"#D55E00\""}};

std::string EffectsOnScreen(const AblationResult& result, const Effects& effects,
                            const std::string& stem) {
  // Left to itself gnuplot takes labels for wider than they are, at the plot's cost.
  const int label = LabelPixels(result, effects), width = label + kPlotPixels;
  const int count = static_cast<int>(effects.size());
  std::string text =
      absl::StrCat(ScreenTerminal(stem, width, kFramePixels + kLinePixels * count, ""),
                   absl::StrFormat("set lmargin at screen %.3f\n", double(label) / width));
  if (!result.ablation.title.empty())
    absl::StrAppend(&text, "set title ", GnuplotText(result.ablation.title), "\n");
  absl::StrAppend(&text, "set xlabel \"", EffectAxis(result, effects), "\"\nset yrange [",
                  count - 1, ".5:-0.5]\nset ytics (");
  for (size_t i = 0; i < effects.size(); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", GnuplotText(LabelOf(result, *effects[i])), " ", i);
  }
  absl::StrAppend(&text, ")\nset grid x\nset arrow from first 0, graph 0 to first 0, graph 1 ",
                  "nohead lc rgb \"black\"\nset key at screen 0.02, character 1 left bottom "
                  "vertical maxrows 2 Left reverse\n");
  std::vector<std::string> plots;
  for (const EffectKindStyle& style : kEffectStyles) {
    if (!Any(effects, style.is_told_apart)) continue;
    plots.push_back(absl::StrCat(style.block, " using 1:4:2:3 with xerrorbars ", style.points,
                                 " ps 0.8 lw 2 ", style.colour, " title \"", style.title, "\""));
  }
  return absl::StrCat(text, "plot ", absl::StrJoin(plots, ", "), "\n");
}

// Intervals and 0, with a little room.
std::string RangeOfEffects(const Effects& effects) {
  const double scale = effects.front()->metric->traits().scale;
  double low = 0, high = 0;
  for (const AblationEffect* effect : effects) {
    for (const double end : {effect->estimate->mean, effect->interval.low, effect->interval.high}) {
      if (!std::isfinite(end)) continue;
      low = std::min(low, scale * end);
      high = std::max(high, scale * end);
    }
  }
  const double room = std::max(0.04 * (high - low), 1e-9);
  return absl::StrFormat("set xrange [%.6g:%.6g]\nset xtics %s\n", low - room, high + room,
                         TickDistance(low, high));
}

ColumnFigure EffectsColumn(const AblationResult& result, const Effects& effects,
                           const LabelledEffects& labelled) {
  // Neither the grid nor the line at 0 strikes through a label.
  std::string text = absl::StrCat(
      "set style textbox opaque noborder margins 0.3,0.3\nset border 1\nunset ytics\n"
      "set grid noytics xtics\nset arrow from first 0, graph 0 to first 0, graph 1 nohead back\n",
      absl::StrFormat("set yrange [%.2f:-0.8]\n", labelled.lines - 0.4), RangeOfEffects(effects),
      ColumnAxisName({EffectAxis(result, effects)}));
  for (size_t i = 0; i < effects.size(); ++i) {
    absl::StrAppendFormat(&text, "set label %s at graph 0.01,first %.2f left front boxed\n",
                          QuotedLines(labelled.labels[i]), labelled.label_places[i]);
  }
  ColumnFigure figure = {result.ablation.title, {}, {}};
  std::vector<std::string> plots;
  for (const EffectKindStyle& style : kEffectStyles) {
    if (!Any(effects, style.is_told_apart)) continue;
    const std::string look = absl::StrCat(style.points, " ps 0.5 lw 1.5 ", style.colour);
    plots.push_back(absl::StrCat(style.block, " using 1:5:2:3 with xerrorbars ", look));
    figure.legend.push_back({style.title, absl::StrCat("points ", look)});
  }
  figure.plots.push_back({"", absl::StrCat(text, "plot ", absl::StrJoin(plots, ", "), "\n"),
                          kColumnLinePoints * (labelled.lines + 0.4), kNamedAxisPoints, 8});
  return figure;
}

}  // namespace

std::string EffectsProgram(const AblationResult& result, const std::string& stem) {
  const Effects effects = ShownEffects(result);
  const LabelledEffects labelled = LabelsAbove(result, effects);
  return absl::StrCat(Block(effects, labelled, "told", true),
                      Block(effects, labelled, "other", false),
                      EffectsOnScreen(result, effects, stem),
                      ColumnProgram(EffectsColumn(result, effects, labelled), stem));
}

absl::StatusOr<std::vector<std::string>> DrawEffects(const std::vector<AblationResult>& designs,
                                                     const std::string& prefix,
                                                     const std::string& gnuplot) {
  std::vector<GnuplotPicture> pictures;
  for (const AblationResult& result : designs) {
    if (ShownEffects(result).empty()) continue;
    pictures.push_back([&result](const std::string& stem) { return EffectsProgram(result, stem); });
  }
  return DrawPictures(pictures, prefix, gnuplot);
}

}  // namespace lra
