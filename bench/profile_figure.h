// Figures of profiles: scores by stratum, a line for each row, through gnuplot.
#ifndef LRA_BENCH_PROFILE_FIGURE_H_
#define LRA_BENCH_PROFILE_FIGURE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "eval/profile_board.h"

namespace lra {

// The program that draws one heading of the board into STEM.svg, and a column wide into STEM.pdf
// and STEM.png: measured rows with their intervals, baselines as grey lines. Strata that tables for
// people leave out are left out here, too; one must be left.
std::string ProfileProgram(const ProfileBoard& board, size_t heading, const std::string& stem);

// A picture for each heading of each board with two strata to show: the stems PREFIX-1, ... The
// errors of DrawPictures.
absl::StatusOr<std::vector<std::string>> DrawProfiles(const std::vector<ProfileBoard>& boards,
                                                      const std::string& prefix,
                                                      const std::string& gnuplot = "gnuplot");

}  // namespace lra

#endif  // LRA_BENCH_PROFILE_FIGURE_H_
