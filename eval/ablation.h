// `lra ablate`: the effects of a designed ablation, from every run's score of every example
// (docs/statistics.md). Runs of equal seed are paired across cells.
#ifndef LRA_EVAL_ABLATION_H_
#define LRA_EVAL_ABLATION_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "eval/contrast.h"
#include "eval/curve_values.h"
#include "eval/effect_plan.h"
#include "eval/locality.h"
#include "eval/metric.h"

namespace lra {

// The factor of a design's attentions; its levels are methods.
inline constexpr char kAttentionFactor[] = "attention";

// What is known of a run besides its scores.
struct AblationRun {
  std::string directory;
  Curve curve;  // empty of a run that diverged
  // Steps without labels before those of the curve.
  int64_t pretrain_steps = 0;
  // What it is known again by, made of its settings, seed and results (RunsFingerprint()).
  std::string fingerprint{};
};

// How local one cell attends: the mean over those of its runs that trained and could be measured.
struct CellLocality {
  int64_t seeds = 0;
  std::optional<Locality> mean;
  bool is_absolute = false;  // weights have both signs
  std::string reason;        // why a run was left out, if one was
  int64_t passed_over = 0;   // examples longer than the method's limit
};

struct TaskLocality {
  std::vector<int64_t> windows;
  int64_t examples = 0;
  std::string split;
  std::vector<CellLocality> cells;
  std::optional<Locality> uniform;  // of equal weights
};

// What was measured of the grid on one task.
struct AblationTask {
  std::string task;
  const Metric* metric = nullptr;
  std::vector<uint32_t> seeds;
  // [cell][seed]: the score of each example; empty where that run did not train.
  std::vector<std::vector<ExampleValues>> runs;
  // [cell][seed], for figures and measurements; empty where it is not known.
  std::vector<std::vector<AblationRun>> folders{};
  std::optional<TaskLocality> locality{};  // where it was asked for (inspect/ablation_locality.h)
  std::string unjudged{};                  // TrainedRun::unjudged, of some of the runs
  std::set<std::string> starts{};          // StartingRunOf(), of those that began from another run
  int64_t block_examples = 1;              // as RowRuns of the task have it (row_statistics.h)
  int64_t examples() const;
};

struct Ablation {
  std::string title;        // of the suite's group, if it has several
  std::string description;  // of the suite
  std::string split;
  AblationFactors factors;
  std::vector<AblationTask> tasks;
  // Which factor is the two cells of a suite's pair; -1 = none is.
  int pair_factor = -1;
  // "the tasks' units differ (bits/byte, bits/dim)": why no effect has an average over the tasks;
  // empty where all have one unit.
  std::string why_no_average() const;
};

// One effect on one task, on the average of the tasks, or of one task against another.
struct AblationEffect {
  PlannedEffect plan;
  std::string task;  // empty: the average of all tasks, with equal weights
  // For task x factor: the effect on `task` less that on this one. Empty otherwise.
  std::string less_task;
  const Metric* metric = nullptr;
  // Seeds that trained in every cell of the contrast, and the others.
  std::vector<uint32_t> seeds, dropped_seeds;
  // Unset where fewer than kLeastPairedSeeds seeds trained in every cell: nothing can be said.
  std::optional<Estimate> estimate;
  // Contrast::differing_examples of all its tasks; of fewer than kLeastDifferingExamples it is not
  // told apart from 0.
  int64_t differing_examples = 0;
  Interval interval;
  double p = 1;
  // Unset of simple effects, which are exploratory: they are shown, and nothing is claimed of them.
  std::optional<double> corrected_p;
  int family_tests = 0;  // over how many tests p was corrected (Holm)
  bool is_told_apart = false;
  // With every seed both levels had the same score of every example, in each of the matched cells:
  // of main and simple effects alone.
  bool scores_alike = false;
  // Whether the effect was one value, on each of its tasks, in all examples and with every seed.
  // Estimates that are made of such have a variance all the same (WithVariance()).
  bool is_constant = false;
  // The smallest difference that would have been told from 0 with kShownPower, whatever the other
  // tests of the family say (OneOfTests()); unset of simple effects.
  std::optional<double> smallest_difference;

  bool is_average() const { return task.empty(); }
};

struct AblationResult {
  Ablation ablation;  // with the scores of examples
  double confidence = 0.95;
  std::vector<AblationEffect> effects;
};

// Main effects and interactions on each task, their averages over tasks of equal metric, task x
// factor (each further task against the first), and simple effects. Families for Holm's correction:
// each factor's main effects over all tasks; all interactions, with task x factor; the same of
// averages. Every task has as many runs as the grid has cells, all of them as many seeds.
AblationResult AnalyseAblation(Ablation ablation, double confidence);

// Corrects the effects of all pairs of a suite for each other, those by one metric, averages over
// tasks apart: whoever tries many pairs finds one. Families are the pairs' main effects, those of
// each other factor beside them, by its name, and all of their interactions. Designs without a pair
// stay as they were.
void CorrectPairs(std::vector<AblationResult>* designs);

// The score of one cell over the seeds that trained, as a leaderboard has it; nullopt if none did.
struct CellScore {
  int64_t trained = 0, runs = 0;
  std::optional<double> mean;
  std::optional<Interval> interval;
};
CellScore ScoreOf(const AblationTask& task, int cell, double confidence);

}  // namespace lra

#endif  // LRA_EVAL_ABLATION_H_
