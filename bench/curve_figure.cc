#include "bench/curve_figure.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "bench/gnuplot.h"
#include "eval/learned_numbers.h"

namespace lra {

const char kFigureLineTypes[] =
    "set linetype 1 lc rgb '#0072b2' dt 1 pt 7 lw 1.5\n"
    "set linetype 2 lc rgb '#d55e00' dt 2 pt 5 lw 1.5\n"
    "set linetype 3 lc rgb '#009e73' dt 3 pt 9 lw 1.5\n"
    "set linetype 4 lc rgb '#cc79a7' dt 4 pt 11 lw 1.5\n"
    "set linetype 5 lc rgb '#56b4e9' dt 5 pt 13 lw 1.5\n"
    "set linetype 6 lc rgb '#e69f00' dt 1 pt 6 lw 1.5\n"
    "set linetype 7 lc rgb '#000000' dt 2 pt 4 lw 1.5\n"
    "set linetype 8 lc rgb '#0072b2' dt 3 pt 8 lw 1.5\n"
    "set linetype 9 lc rgb '#d55e00' dt 4 pt 10 lw 1.5\n"
    "set linetype 10 lc rgb '#009e73' dt 5 pt 12 lw 1.5\n"
    "set linetype 11 lc rgb '#cc79a7' dt 1 pt 1 lw 1.5\n"
    "set linetype 12 lc rgb '#56b4e9' dt 2 pt 2 lw 1.5\n"
    "set linetype 13 lc rgb '#e69f00' dt 3 pt 3 lw 1.5\n"
    "set linetype 14 lc rgb '#000000' dt 4 pt 14 lw 1.5\n"
    "set linetype cycle 14\n";

std::string PlainQuoted(const std::string& text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "''"}, {"\n", " "}}), "'");
}

std::string TickDistance(double low, double high) {
  const double least = (high - low) / 5;
  if (!(least > 0)) return "autofreq";
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double multiple : {1, 2, 5}) {
    if (multiple * power >= least) return absl::StrFormat("%g", multiple * power);
  }
  return absl::StrFormat("%g", 10 * power);
}

FigureCurve MakeFigureCurve(const std::string& label, const std::vector<const Curve*>& runs,
                            const std::function<std::optional<double>(const CurvePoint&)>& value) {
  FigureCurve curve = {label, {}, 0};
  size_t count = 0;
  for (const Curve* run : runs) {
    bool has_any = false;
    for (const CurvePoint& point : *run) {
      const std::optional<double> found = value(point);
      if (!found || !std::isfinite(*found)) continue;
      curve.seeds[point.step()].push_back(*found);
      has_any = true;
    }
    count += has_any ? 1 : 0;
  }
  std::erase_if(curve.seeds, [&](const auto& step) { return step.second.size() != count; });
  return curve;
}

FigureCurve ValidationCurve(const std::string& label, const std::vector<const Curve*>& runs,
                            const Metric& metric) {
  return MakeFigureCurve(label, runs, [&](const CurvePoint& point) {
    std::optional<double> value = FindValue(point.validation(), metric.name());
    if (value) *value *= metric.traits().scale;
    return value;
  });
}

CurvePlot PlotOf(const std::vector<FigureCurve>& curves, const std::string& name) {
  CurvePlot plot;
  std::vector<std::string> bands, lines;
  for (const FigureCurve& curve : curves) {
    if (curve.seeds.empty()) continue;
    plot.last_step = std::max(plot.last_step, curve.seeds.rbegin()->first);
    const int number = static_cast<int>(lines.size()) + 1;
    absl::StrAppend(&plot.blocks, "$", name, number, " << END\n");
    for (const auto& [step, seeds] : curve.seeds) {
      const auto [low, high] = std::minmax_element(seeds.begin(), seeds.end());
      absl::StrAppendFormat(&plot.blocks, "%d %.9g %.9g %.9g\n", step, Mean(seeds), *low, *high);
    }
    absl::StrAppend(&plot.blocks, "END\n");
    const int type = curve.line_type > 0 ? curve.line_type : number;
    bands.push_back(absl::StrFormat(
        "$%s%d using 1:3:4 with filledcurves lt %d fs transparent solid 0.15 noborder notitle",
        name, number, type));
    lines.push_back(absl::StrFormat("$%s%d using 1:2 with linespoints lt %d ps 0.4 title %s", name,
                                    number, type, PlainQuoted(curve.label)));
  }
  bands.insert(bands.end(), lines.begin(), lines.end());
  if (!bands.empty()) plot.command = absl::StrCat("plot ", absl::StrJoin(bands, ", \\\n  "), "\n");
  return plot;
}

namespace {

constexpr int kWidthPixels = 900, kPanelPixels = 320, kKeyLinePixels = 20;

struct CurvePanel {
  std::string title;
  std::vector<FigureCurve> curves;
};

// The curves of each cell's seeds. A cell looks alike in all panels.
struct CellCurve {
  std::string label;
  std::vector<const Curve*> runs;
  int64_t pretrain_steps = 0;  // of each run
};
using CellCurves = std::vector<CellCurve>;

CellCurves CurvesOfCells(const Ablation& ablation, const AblationTask& task) {
  CellCurves cells;
  for (size_t cell = 0; cell < task.folders.size(); ++cell) {
    CellCurve& one = cells.emplace_back();
    one.label = CellText(ablation.factors, static_cast<int>(cell));
    for (const AblationRun& run : task.folders[cell]) {
      one.runs.push_back(&run.curve);
      one.pretrain_steps = std::max(one.pretrain_steps, run.pretrain_steps);
    }
  }
  return cells;
}

bool IsAnyPretrained(const AblationTask& task) {
  for (const std::vector<AblationRun>& cell : task.folders) {
    for (const AblationRun& run : cell)
      if (run.pretrain_steps > 0) return true;
  }
  return false;
}

// Steps with labels come after those without, so that equal places are equal budgets.
void MoveBehind(int64_t pretrain_steps, FigureCurve* curve) {
  std::map<int64_t, std::vector<double>> moved;
  for (auto& [step, seeds] : curve->seeds) moved[step + pretrain_steps] = std::move(seeds);
  curve->seeds = std::move(moved);
}

template <class MakeCurve>
CurvePanel MakePanel(const std::string& title, const CellCurves& cells, MakeCurve make) {
  CurvePanel panel = {title, {}};
  for (const CellCurve& cell : cells) {
    panel.curves.push_back(make(cell.label, cell.runs));
    panel.curves.back().line_type = static_cast<int>(panel.curves.size());
    MoveBehind(cell.pretrain_steps, &panel.curves.back());
  }
  std::erase_if(panel.curves, [](const FigureCurve& curve) { return curve.seeds.empty(); });
  return panel;
}

// The mean over layers and heads at each step.
std::optional<double> LearnedMean(const CurvePoint& point, const std::string& name) {
  Curve one;
  *one.Add() = point;
  for (const LearnedCurve& learned : LearnedCurves(one)) {
    if (learned.name == name) return learned.points.front().mean;
  }
  return std::nullopt;
}

std::set<std::string> LearnedNames(const CellCurves& cells) {
  std::set<std::string> names;
  for (const CellCurve& cell : cells) {
    for (const Curve* run : cell.runs) {
      for (const LearnedCurve& learned : LearnedCurves(*run)) names.insert(learned.name);
    }
  }
  return names;
}

std::vector<CurvePanel> PanelsOf(const Ablation& ablation, const AblationTask& task) {
  const CellCurves cells = CurvesOfCells(ablation, task);
  std::vector<CurvePanel> panels;
  if (task.metric == nullptr) return panels;
  panels.push_back(MakePanel(absl::StrCat(task.task, ", validation: ", task.metric->name(), " in ",
                                          task.metric->traits().unit),
                             cells,
                             [&](const std::string& label, const std::vector<const Curve*>& runs) {
                               return ValidationCurve(label, runs, *task.metric);
                             }));
  panels.push_back(MakePanel(absl::StrCat(task.task, ", training: loss in nats"), cells,
                             [](const std::string& label, const std::vector<const Curve*>& runs) {
                               return MakeFigureCurve(label, runs, [](const CurvePoint& point) {
                                 return std::optional<double>(point.train_loss());
                               });
                             }));
  for (const std::string& name : LearnedNames(cells)) {
    panels.push_back(MakePanel(
        absl::StrCat(task.task, ", learned: ", name), cells,
        [&](const std::string& label, const std::vector<const Curve*>& runs) {
          return MakeFigureCurve(label, runs,
                                 [&](const CurvePoint& point) { return LearnedMean(point, name); });
        }));
  }
  std::erase_if(panels, [](const CurvePanel& panel) { return panel.curves.empty(); });
  return panels;
}

}  // namespace

std::string DesignCurvesProgram(const Ablation& ablation, const AblationTask& task,
                                const std::string& svg) {
  const std::vector<CurvePanel> panels = PanelsOf(ablation, task);
  if (panels.empty()) return "";
  size_t most = 0;
  for (const CurvePanel& panel : panels) most = std::max(most, panel.curves.size());
  const int height = static_cast<int>(panels.size()) *
                     (kPanelPixels + kKeyLinePixels * static_cast<int>((most + 1) / 2));
  std::string text = absl::StrFormat(
      "set terminal svg size %d,%d dynamic noenhanced background 'white'\nset output %s\n%s"
      "set grid\nset key below left Left reverse maxcols 2\nset xlabel %s\n",
      kWidthPixels, height, PlainQuoted(svg), kFigureLineTypes,
      PlainQuoted(IsAnyPretrained(task) ? "step, those of pretraining counted" : "step"));
  std::string plots;
  for (size_t i = 0; i < panels.size(); ++i) {
    const CurvePlot plot = PlotOf(panels[i].curves, absl::StrCat("panel", i + 1, "_"));
    text += plot.blocks;
    absl::StrAppend(&plots, "set title ", PlainQuoted(panels[i].title), "\n", plot.command);
  }
  return absl::StrCat(text, "set multiplot layout ", panels.size(), ",1\n", plots,
                      "unset multiplot\n");
}

absl::StatusOr<std::vector<std::string>> DrawDesignCurves(
    const std::vector<AblationResult>& designs, const std::string& prefix,
    const std::string& gnuplot) {
  std::vector<GnuplotPicture> pictures;
  for (const AblationResult& result : designs) {
    for (const AblationTask& task : result.ablation.tasks) {
      if (DesignCurvesProgram(result.ablation, task, "").empty()) continue;
      pictures.push_back(
          [&](const std::string& svg) { return DesignCurvesProgram(result.ablation, task, svg); });
    }
  }
  return DrawPictures(pictures, prefix, gnuplot);
}

}  // namespace lra
