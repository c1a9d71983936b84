// `lra bench step`: several steps, each measured again and again by fresh processes in turn, so
// that what else the machine does falls on all of them.
#ifndef LRA_BENCH_STEP_COMPARISON_H_
#define LRA_BENCH_STEP_COMPARISON_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/bench.pb.h"
#include "bench/cell.h"
#include "bench/spread.h"

namespace lra {

struct StepPlan {
  std::vector<MethodChoice> methods;
  std::vector<std::string> kernels;  // paths to force, each a row of its own; "" = the best
  BenchRequest base;                 // sizes, threads, passes
  int repetitions = 5;
  std::string python;     // with torch; empty = none
  bool compiles = false;  // also torch.compile
  bool has_fla = false;   // also flash-linear-attention, of what it knows
  std::string other;      // another build of lra to set beside; empty = none
  bool profiles = false;
  bool repeats = false;  // also each step as a graph of the device
  bool is_quiet = false;
};

// One thing that is measured.
struct Contender {
  std::string label;
  std::string reference;  // the label of what its time is a ratio of; empty = nothing
  std::function<BenchResult()> measure;
};

struct Contest {
  std::string label, reference;
  std::vector<BenchResult> results;  // of the repetitions
};

std::vector<Contender> StepContenders(const StepPlan& plan, const std::string& program);

// All contenders once, then all again. One that is not measured is not asked again. `report` gets
// each result as it comes.
std::vector<Contest> Interleave(
    const std::vector<Contender>& contenders, int repetitions,
    const std::function<void(const Contender&, int repetition, const BenchResult&)>& report);

// The median over repetitions of each one's median pass.
MedianInterval SecondsOfContest(const Contest& contest);
// The ratio contest / reference within each repetition. Nothing where either has no result.
std::optional<MedianInterval> RatioOfContests(const Contest& contest, const Contest& reference);

struct StepComparison {
  BenchMachine machine;
  BenchRequest base;
  std::vector<Contest> contests;
  // Where profiles are wanted: one a method and path, with its pieces or kernels.
  std::vector<Contest> profiles;
};

// Progress goes to standard error. InvalidArgument for a Python without torch, and for another
// build that cannot be started.
absl::StatusOr<StepComparison> CompareSteps(StepPlan plan, const std::string& program);

// With the first reason: InvalidArgument where each step was refused, Aborted where each was
// refused or failed.
absl::Status CheckMeasured(const StepComparison& comparison);

// bench/step_table.cc: Markdown, and JSON with all that it rests on.
std::string StepTable(const StepComparison& comparison);
std::string StepJson(const StepComparison& comparison);

}  // namespace lra

#endif  // LRA_BENCH_STEP_COMPARISON_H_
