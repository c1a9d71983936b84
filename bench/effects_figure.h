// Figures of a designed ablation: each effect with its interval, through gnuplot.
#ifndef LRA_BENCH_EFFECTS_FIGURE_H_
#define LRA_BENCH_EFFECTS_FIGURE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "eval/ablation.h"

namespace lra {

// The program that draws main effects and interactions, the first on top, into STEM.svg, labels at
// their left, and into STEM.pdf and STEM.png, a column wide, labels above them: those told apart
// from 0 as filled points, the others as open ones. Simple effects claim nothing and are left out,
// as are effects in another metric than the first one's, which have another axis.
std::string EffectsProgram(const AblationResult& result, const std::string& stem);

// A picture for each design with an effect to show: the stems PREFIX-1, ... The errors of
// DrawPictures.
absl::StatusOr<std::vector<std::string>> DrawEffects(const std::vector<AblationResult>& designs,
                                                     const std::string& prefix,
                                                     const std::string& gnuplot = "gnuplot");

}  // namespace lra

#endif  // LRA_BENCH_EFFECTS_FIGURE_H_
