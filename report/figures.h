// Figures for papers: a column wide (84 mm), in colours that the colour-blind tell apart, each as
// SVG, PDF and PNG, through gnuplot.
#ifndef LRA_REPORT_FIGURES_H_
#define LRA_REPORT_FIGURES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "eval/leaderboard.h"
#include "eval/run_record.h"

namespace lra {

// What a figure shows: of one task of one table, the scores with their intervals; the validation
// scores by step, means over seeds with bands from the lowest to the highest; the scores by cost,
// which is that of each row's fastest run, the one that other work on its machine disturbed least.
enum class FigureKind { kScores, kCurves, kCost };

// The program that draws the figure into STEM.svg, STEM.pdf and STEM.png; empty where there is
// nothing to draw: no scores, no curves, no known cost. `column` is a task of the table.
std::string FigureProgram(FigureKind kind, const LeaderboardTable& table, size_t column,
                          const std::vector<LocatedRecord>& runs, const std::string& stem);

// Draws every figure into the folder, which is made: scores-1, scores-2, ... in the order of tables
// and tasks, then curves-1, ... and cost-1, ...; beside each its program (.gp). Returns the stems.
// FailedPrecondition, with what to install, without gnuplot.
absl::StatusOr<std::vector<std::string>> DrawReportFigures(const Leaderboard& board,
                                                           const std::vector<LocatedRecord>& runs,
                                                           const std::string& folder,
                                                           const std::string& gnuplot = "gnuplot");

}  // namespace lra

#endif  // LRA_REPORT_FIGURES_H_
