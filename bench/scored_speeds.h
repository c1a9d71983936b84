// Scores beside speed and memory of the same methods (Qin et al. 2022, Figure 1).
#ifndef LRA_BENCH_SCORED_SPEEDS_H_
#define LRA_BENCH_SCORED_SPEEDS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/efficiency_series.h"
#include "eval/leaderboard.h"

namespace lra {

// A method at the longest length that the panel has of it and of every other one shown.
struct ScoredSpeed {
  std::string label;
  double score = 0;  // in the metric's unit, as tables show it
  std::optional<Interval> interval;
  double per_second = 0;  // passes
  double megabytes = 0;   // the peak of tensors
};

struct ScoredSpeeds {
  std::string score_title;  // "accuracy, mean over listops, text"
  std::string speed_title;  // the panel's
  int64_t tokens = 0;
  std::vector<ScoredSpeed> methods;  // best score first
};

// The measured rows of the board's first table that have an average over its tasks (the score where
// there is one task), with what the panel says of their method. Averages have no interval where a
// task has none, such as one that no run learned. NotFound where no row has both,
// FailedPrecondition where the tasks' units differ, InvalidArgument for a panel over widths.
absl::StatusOr<ScoredSpeeds> ScoreSpeeds(const Panel& panel, const Leaderboard& board);

// A row a method: score, passes a second, its ratio over `reference`, memory.
TextTable ScoredSpeedsTable(const ScoredSpeeds& scored, const std::string& reference);

// The program that draws scores with intervals over passes a second, discs whose area is the
// memory: into STEM.svg with names beside the points, and a column wide into STEM.pdf and STEM.png
// with names below.
std::string ScoredSpeedsProgram(const ScoredSpeeds& scored, const std::string& stem);

}  // namespace lra

#endif  // LRA_BENCH_SCORED_SPEEDS_H_
