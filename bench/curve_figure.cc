#include "bench/curve_figure.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "bench/column_figure.h"
#include "bench/gnuplot.h"
#include "eval/axis_title.h"
#include "eval/learned_numbers.h"

namespace lra {

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

namespace {

// Losses that fall by more than this cannot be read off an even axis.
constexpr double kFarRatio = 100;

}  // namespace

CurvePlot PlotOf(const std::vector<FigureCurve>& curves, const std::string& name) {
  CurvePlot plot;
  double least = std::numeric_limits<double>::infinity(), most = 0;
  std::vector<std::string> bands, lines;
  for (const FigureCurve& curve : curves) {
    if (curve.seeds.empty()) continue;
    plot.last_step = std::max(plot.last_step, curve.seeds.rbegin()->first);
    const int number = static_cast<int>(lines.size()) + 1;
    absl::StrAppend(&plot.blocks, "$", name, number, " << END\n");
    for (const auto& [step, seeds] : curve.seeds) {
      const auto [low, high] = std::minmax_element(seeds.begin(), seeds.end());
      absl::StrAppendFormat(&plot.blocks, "%d %.9g %.9g %.9g\n", step, Mean(seeds), *low, *high);
      least = std::min(least, *low);
      most = std::max(most, *high);
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
  if (bands.empty()) return plot;
  const bool is_far = least > 0 && most > kFarRatio * least;
  plot.command = absl::StrCat(is_far ? "set logscale y\nset format y '%g'\n" : "", "plot ",
                              absl::StrJoin(bands, ", \\\n  "), "\n");
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
  panels.push_back(MakePanel(absl::StrCat(task.task, ", validation: ", AxisTitle(*task.metric)),
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

// "panel2_" and a curve's number is the name of its data.
std::vector<CurvePlot> CurvePlotsOf(const std::vector<CurvePanel>& panels) {
  std::vector<CurvePlot> plots;
  for (const CurvePanel& panel : panels)
    plots.push_back(PlotOf(panel.curves, absl::StrCat("panel", plots.size() + 1, "_")));
  return plots;
}

std::string CurvesOnScreen(const std::vector<CurvePanel>& panels,
                           const std::vector<CurvePlot>& plots, const std::string& steps,
                           const std::string& stem) {
  size_t most = 0;
  for (const CurvePanel& panel : panels) most = std::max(most, panel.curves.size());
  const int height = static_cast<int>(panels.size()) *
                     (kPanelPixels + kKeyLinePixels * static_cast<int>((most + 1) / 2));
  std::string text =
      absl::StrCat(ScreenTerminal(stem, kWidthPixels, height, "noenhanced background 'white'"),
                   "set grid\nset key below left Left reverse maxcols 2\nset xlabel ",
                   PlainQuoted(steps), "\nset multiplot layout ", panels.size(), ",1\n");
  for (size_t i = 0; i < panels.size(); ++i)
    absl::StrAppend(&text, "unset logscale y\nset title ", PlainQuoted(panels[i].title), "\n",
                    plots[i].command);
  return text + "unset multiplot\n";
}

// One legend of all panels, in which a cell looks alike.
ColumnFigure CurvesColumn(const std::vector<CurvePanel>& panels,
                          const std::vector<CurvePlot>& plots, const std::string& steps) {
  int64_t last_step = 1;
  for (const CurvePlot& plot : plots) last_step = std::max(last_step, plot.last_step);
  ColumnFigure figure;
  std::map<int, std::string> labels;
  for (size_t i = 0; i < panels.size(); ++i) {
    figure.plots.push_back({panels[i].title, "unset logscale y\n" + plots[i].command, 90});
    for (const FigureCurve& curve : panels[i].curves) labels[curve.line_type] = curve.label;
  }
  ColumnPlot &first = figure.plots.front(), &last = figure.plots.back();
  last.commands = ColumnAxisName({steps}) + last.commands;
  last.below = kNamedAxisPoints;
  first.commands =
      absl::StrCat("set xrange [0:", last_step, "]\nset xtics ",
                   TickDistance(0, static_cast<double>(last_step)), "\n", first.commands);
  for (const auto& [type, label] : labels)
    figure.legend.push_back({label, absl::StrCat("linespoints lt ", type, " ps 0.4")});
  return figure;
}

}  // namespace

std::string DesignCurvesProgram(const Ablation& ablation, const AblationTask& task,
                                const std::string& stem) {
  const std::vector<CurvePanel> panels = PanelsOf(ablation, task);
  if (panels.empty()) return "";
  const std::vector<CurvePlot> plots = CurvePlotsOf(panels);
  std::string text = kFigureLineTypes;
  for (const CurvePlot& plot : plots) text += plot.blocks;
  const std::string steps = IsAnyPretrained(task) ? "step, those of pretraining counted" : "step";
  return absl::StrCat(text, CurvesOnScreen(panels, plots, steps, stem),
                      ColumnProgram(CurvesColumn(panels, plots, steps), stem));
}

absl::StatusOr<std::vector<std::string>> DrawDesignCurves(
    const std::vector<AblationResult>& designs, const std::string& prefix,
    const std::string& gnuplot) {
  std::vector<GnuplotPicture> pictures;
  for (const AblationResult& result : designs) {
    for (const AblationTask& task : result.ablation.tasks) {
      if (DesignCurvesProgram(result.ablation, task, "").empty()) continue;
      pictures.push_back([&](const std::string& stem) {
        return DesignCurvesProgram(result.ablation, task, stem);
      });
    }
  }
  return DrawPictures(pictures, prefix, gnuplot);
}

}  // namespace lra
