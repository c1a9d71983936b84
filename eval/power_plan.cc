#include "eval/power_plan.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "eval/metric.h"
#include "eval/multiple.h"
#include "lra/json_text.h"
#include "lra/progress.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

constexpr char kPoints[] = "points";

std::string UnitOf(const PowerRequest& request) {
  return request.metric == nullptr ? kPoints : request.metric->difference_unit();
}

// What a metric's value is times in that unit.
double ScaleOf(const PowerRequest& request) {
  return request.metric == nullptr ? 100 : request.metric->traits().scale;
}

double LargestOf(const PowerRequest& request) {
  return request.metric == nullptr ? 1 : request.metric->LargestDifference();
}

absl::Status OutOfRange(const char* flag, double value, const char* right) {
  return absl::InvalidArgumentError(absl::StrFormat("%s %g: must be %s", flag, value, right));
}

absl::Status CheckScatters(const DifferenceComponents& c) {
  if (c.seeds + c.examples + c.rest > 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "the difference of the two rows on record is the same for all seeds and examples, which says "
      "nothing of how far others scatter; plan with assumptions: --examples, --seed-sd and "
      "--disagreement, without rows");
}

absl::Status CheckRequest(const PowerRequest& r) {
  if (!r.examples && !r.like) {
    return absl::InvalidArgumentError(
        "--examples is missing: the number of examples of the split, e.g. 2000; or name two rows "
        "whose records say it");
  }
  if (!r.seeds && !r.difference) {
    return absl::InvalidArgumentError(
        "give --seeds, to be told which difference is seen, or --difference, to be told how many "
        "seeds it needs, or both");
  }
  if (r.examples && *r.examples < 2) return OutOfRange("--examples", *r.examples, "at least 2");
  if (r.seeds && *r.seeds < 2) {
    return OutOfRange("--seeds", *r.seeds, "at least 2: one run shows nothing about other seeds");
  }
  if (r.difference && !(*r.difference > 0 && std::isfinite(*r.difference)))
    return OutOfRange("--difference", *r.difference, "a number above 0");
  if (r.difference && UnitOf(r) == kPoints && *r.difference > 100)
    return OutOfRange("--difference", *r.difference, "above 0 and at most 100 points");
  if (!(r.seed_sd_points >= 0 && r.seed_sd_points <= 50))
    return OutOfRange("--seed-sd", r.seed_sd_points, "0 to 50 points");
  if (!(r.disagreement_percent > 0 && r.disagreement_percent <= 100))
    return OutOfRange("--disagreement", r.disagreement_percent, "above 0 and at most 100 percent");
  if (!(r.power_percent > 0 && r.power_percent < 100))
    return OutOfRange("--power", r.power_percent, "above 0 and below 100 percent");
  if (!(r.confidence > 0 && r.confidence < 1))
    return OutOfRange("--confidence", r.confidence, "above 0 and below 1");
  if (r.tests < 1) return OutOfRange("--tests", r.tests, "at least 1");
  return r.like ? CheckScatters(r.like->components) : absl::OkStatus();
}

Design DesignOf(const PowerRequest& request) {
  Design design;
  if (request.like) {
    design = *request.like;
  } else {
    design.components =
        AssumedComponents(request.seed_sd_points / 100, request.disagreement_percent / 100);
  }
  if (request.examples) design.examples = *request.examples;
  design.seeds = static_cast<double>(request.seeds.value_or(0));
  return design;
}

// Two digits of a value's difference; all digits of one that was given.
std::string Amount(const PowerRequest& request, double difference) {
  return AmountText(absl::StrFormat("%.2g", ScaleOf(request) * difference), UnitOf(request));
}
std::string GivenAmount(const PowerRequest& request) {
  return AmountText(absl::StrFormat("%g", *request.difference), UnitOf(request));
}

// What seeds without end would see.
std::string FloorText(const PowerPlan& plan) {
  if (!plan.floor) return "none";
  if (*plan.floor == 0) return "any difference, there is no floor";
  return Amount(plan.request, *plan.floor);
}

std::string Or(const std::optional<int64_t>& number, const char* none) {
  return number ? FormatCount(*number) : none;
}

}  // namespace

absl::StatusOr<PowerPlan> PlanPower(const PowerRequest& request) {
  LRA_RETURN_IF_ERROR(CheckRequest(request));
  PowerPlan plan{request, DesignOf(request)};
  const double power = request.power_percent / 100;
  const double confidence = OneOfTests(request.confidence, request.tests);
  Design without_end = plan.design;
  without_end.seeds = std::numeric_limits<double>::infinity();
  // Nothing is left to scatter where examples do not.
  plan.floor = plan.design.components.examples > 0
                   ? SmallestDifference(without_end, power, confidence, LargestOf(request))
                   : 0;
  if (request.seeds) {
    plan.smallest_difference =
        SmallestDifference(plan.design, power, confidence, LargestOf(request));
  }
  if (!request.difference) return plan;
  const double difference = *request.difference / ScaleOf(request);
  plan.seeds_needed = SeedsNeeded(plan.design, difference, power, confidence);
  if (request.seeds) {
    plan.power = Power(plan.design, difference, confidence);
    plan.examples_needed = ExamplesNeeded(plan.design, difference, power, confidence);
  }
  return plan;
}

std::string WritePowerPlan(const PowerPlan& plan) {
  const PowerRequest& r = plan.request;
  const DifferenceComponents& c = plan.design.components;
  std::string text = absl::StrFormat(
      "%s examples; standard deviations of the difference: %s of seeds, %.2g of one "
      "example, %.2g of the rest (%s).\n",
      FormatCount(plan.design.examples), Amount(r, std::sqrt(c.seeds)),
      ScaleOf(r) * std::sqrt(c.examples), ScaleOf(r) * std::sqrt(c.rest),
      r.like ? "from the record" : "assumed");
  if (r.tests > 1)
    absl::StrAppend(&text, "Corrected as one of ", FormatCount(r.tests), " tests (Holm).\n");
  if (plan.power) {
    absl::StrAppendFormat(&text, "%d seeds a row tell %s from 0 with %.1f %%.\n", *r.seeds,
                          GivenAmount(r), 100 * *plan.power);
  }
  if (r.seeds) {
    absl::StrAppendFormat(&text, "Smallest difference seen with %g %% by %d seeds: %s.\n",
                          r.power_percent, *r.seeds,
                          plan.smallest_difference ? Amount(r, *plan.smallest_difference) : "none");
  }
  if (r.difference) {
    absl::StrAppendFormat(&text, "Seeds a row that see %s with %g %%: %s.\n", GivenAmount(r),
                          r.power_percent,
                          Or(plan.seeds_needed, "no number; the examples are too few"));
  }
  if (r.difference && r.seeds) {
    absl::StrAppendFormat(&text, "Examples that see it with %d seeds: %s.\n", *r.seeds,
                          Or(plan.examples_needed, "no number; the seeds are too few"));
  }
  absl::StrAppend(&text, "Without end of seeds: ", FloorText(plan), ".\n");
  return text;
}

std::string WritePowerPlanJson(const PowerPlan& plan) {
  const auto number = [](const auto& value) {
    return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
  };
  const auto scaled = [&plan, &number](std::optional<double> value) {
    if (value) *value *= ScaleOf(plan.request);
    return number(value);
  };
  const DifferenceComponents& c = plan.design.components;
  const nlohmann::ordered_json json = {{"examples", plan.design.examples},
                                       {"seeds", number(plan.request.seeds)},
                                       {"difference", number(plan.request.difference)},
                                       {"unit", UnitOf(plan.request)},
                                       {"power_percent", plan.request.power_percent},
                                       {"confidence", plan.request.confidence},
                                       {"tests", plan.request.tests},
                                       {"variance_seeds", c.seeds},
                                       {"variance_examples", c.examples},
                                       {"variance_rest", c.rest},
                                       {"degrees_per_seed", plan.design.degrees_per_seed},
                                       {"power", number(plan.power)},
                                       {"smallest_difference", scaled(plan.smallest_difference)},
                                       {"seeds_needed", number(plan.seeds_needed)},
                                       {"examples_needed", number(plan.examples_needed)},
                                       {"floor", scaled(plan.floor)}};
  return JsonText(json) + "\n";
}

}  // namespace lra
