// Learning curves on top of each other, means over seeds with bands, through gnuplot.
#ifndef LRA_BENCH_CURVE_FIGURE_H_
#define LRA_BENCH_CURVE_FIGURE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "eval/ablation.h"
#include "eval/curve_values.h"
#include "eval/metric.h"

namespace lra {

struct FigureCurve {
  std::string label;
  std::map<int64_t, std::vector<double>> seeds;  // by step
  int line_type = 0;                             // 0 = by its place among the curves
};

// The values of the runs at each step at which all runs that have any have one.
FigureCurve MakeFigureCurve(const std::string& label, const std::vector<const Curve*>& runs,
                            const std::function<std::optional<double>(const CurvePoint&)>& value);
// The metric on the validation split, in its unit.
FigureCurve ValidationCurve(const std::string& label, const std::vector<const Curve*>& runs,
                            const Metric& metric);

struct CurvePlot {
  std::string blocks;  // data
  // `plot`: bands from the lowest to the highest seed, then the means; before it a logarithmic axis
  // where all values are above 0 and the largest is more than 100 times the least.
  std::string command;
  int64_t last_step = 0;
};
// Names of data blocks begin with `name`.
CurvePlot PlotOf(const std::vector<FigureCurve>& curves, const std::string& name);

// The learning curves of the cells of one task of a design (Qin et al. 2022, Figure 4), panels from
// the top: the validation score, the training loss, and what attentions learned of their own
// choices, which is the mean over layers and heads. Curves of pretrained runs begin behind the
// steps that they took without labels. The program draws STEM.svg, and a column wide STEM.pdf and
// STEM.png; it is empty without a curve.
std::string DesignCurvesProgram(const Ablation& ablation, const AblationTask& task,
                                const std::string& stem);

// A picture for each task of each design: the stems PREFIX-1, ... The errors of DrawPictures.
absl::StatusOr<std::vector<std::string>> DrawDesignCurves(
    const std::vector<AblationResult>& designs, const std::string& prefix,
    const std::string& gnuplot = "gnuplot");

}  // namespace lra

#endif  // LRA_BENCH_CURVE_FIGURE_H_
