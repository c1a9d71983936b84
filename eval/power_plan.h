// `lra power`: how many seeds and examples a comparison needs, and what a planned one would see.
#ifndef LRA_EVAL_POWER_PLAN_H_
#define LRA_EVAL_POWER_PLAN_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "eval/metric.h"
#include "eval/power.h"

namespace lra {

// Points are percentage points: hundredths of the metric's value.
struct PowerRequest {
  // The metric of `like`; null: a share in percent, whose differences are points.
  const Metric* metric = nullptr;
  // Examples of the split; needed unless `like` is given.
  std::optional<int64_t> examples;
  // Seeds of each row.
  std::optional<int64_t> seeds;
  // The true difference to be seen, in the unit in which the metric's differences are shown.
  std::optional<double> difference;
  // What is assumed where nothing is on record: the standard deviation over seeds of the
  // difference, and the share of examples, in percent, on which two runs disagree.
  double seed_sd_points = 1;
  double disagreement_percent = 10;
  double power_percent = 80;
  double confidence = 0.95;
  // How many tests p will be corrected over (Holm): the comparison is planned to be told apart
  // whatever the others say.
  int64_t tests = 1;
  // A comparison on record in place of these assumptions.
  std::optional<Design> like;
};

struct PowerPlan {
  PowerRequest request;
  Design design;  // of the request; seeds are 0 where none were asked for
  // With seeds and a difference.
  std::optional<double> power;
  // With seeds; nullopt if no difference is seen with the power asked for.
  std::optional<double> smallest_difference;
  // With a difference; nullopt where no number suffices.
  std::optional<int64_t> seeds_needed, examples_needed;
  // What is seen with the power asked for however many seeds there are: examples set this floor. 0
  // where these do not scatter; nullopt if no difference is seen.
  std::optional<double> floor;
};

// InvalidArgument names the flag, its value and what would be right; FailedPrecondition for a
// comparison on record that does not scatter.
absl::StatusOr<PowerPlan> PlanPower(const PowerRequest& request);

std::string WritePowerPlan(const PowerPlan& plan);
std::string WritePowerPlanJson(const PowerPlan& plan);

}  // namespace lra

#endif  // LRA_EVAL_POWER_PLAN_H_
