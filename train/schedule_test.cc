#include "train/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace lra {
namespace {

Schedule Make(ScheduleConfig::Kind kind, double rate, int warmup, int64_t total) {
  ScheduleConfig config;
  config.set_kind(kind);
  config.set_learning_rate(static_cast<float>(rate));
  config.set_warmup_steps(warmup);
  OptimizerConfig optimizer;
  optimizer.set_beta1(0.9f);
  return Schedule(config, optimizer, total);
}

void ExpectRates(const Schedule& schedule, const std::vector<std::pair<int64_t, double>>& golden) {
  for (const auto& [step, rate] : golden) {
    EXPECT_NEAR(schedule.At(step).learning_rate, rate, rate * 2e-3 + 1e-12) << "step " << step;
  }
}

// The golden values are those of the LRA code's own schedule with its settings for ListOps, Text
// and Retrieval.
TEST(Schedule, InverseSqrtIsScheduleA) {
  const Schedule listops = Make(ScheduleConfig::INVERSE_SQRT, 0.05, 1000, 5000);
  EXPECT_EQ(listops.At(0).learning_rate, 0);
  ExpectRates(
      listops,
      {{50, 7.906e-5}, {500, 7.906e-4}, {1000, 1.5811e-3}, {2500, 1.0e-3}, {5000, 7.071e-4}});
  ExpectRates(Make(ScheduleConfig::INVERSE_SQRT, 0.05, 8000, 20000),
              {{100, 6.99e-6}, {4000, 2.795e-4}, {8000, 5.590e-4}, {20000, 3.536e-4}});
  ExpectRates(Make(ScheduleConfig::INVERSE_SQRT, 0.05, 8000, 5000),
              {{1000, 6.99e-5}, {2500, 1.747e-4}, {5000, 3.494e-4}});
}

TEST(Schedule, CosineCycleIsScheduleB) {
  ExpectRates(Make(ScheduleConfig::COSINE_CYCLE, 5e-4, 175, 35000),
              {{87, 2.486e-4}, {175, 5e-4}, {17500, 2.539e-4}, {34999, 3.12e-8}});
  ExpectRates(Make(ScheduleConfig::COSINE_CYCLE, 1e-3, 312, 62400),
              {{156, 5e-4}, {312, 1e-3}, {31200, 5.0785e-4}, {62399, 6.2e-8}});
}

TEST(Schedule, CosineReachesZeroAndHalf) {
  ExpectRates(Make(ScheduleConfig::COSINE, 1e-3, 10, 110),
              {{0, 0}, {5, 5e-4}, {10, 1e-3}, {60, 5e-4}, {110, 0}});
}

TEST(Schedule, LinearAndConstant) {
  ExpectRates(Make(ScheduleConfig::LINEAR, 1e-3, 10, 110),
              {{5, 5e-4}, {10, 1e-3}, {60, 5e-4}, {110, 0}});
  ExpectRates(Make(ScheduleConfig::CONSTANT, 1e-3, 10, 110), {{5, 5e-4}, {10, 1e-3}, {109, 1e-3}});
  EXPECT_NEAR(Make(ScheduleConfig::CONSTANT, 1e-3, 0, 10).At(0).learning_rate, 1e-3, 1e-9);
}

// The values of PyTorch 2's OneCycleLR(max_lr=1e-3, total_steps=100, pct_start=0.2,
// anneal_strategy="linear"), whose peak is at step 19.
TEST(Schedule, OneCycle) {
  const Schedule schedule = Make(ScheduleConfig::ONE_CYCLE, 1e-3, 20, 100);
  ExpectRates(schedule, {{0, 4e-5}, {19, 1e-3}, {99, 4e-9}});
  EXPECT_NEAR(schedule.At(0).beta1, 0.95, 1e-12);
  EXPECT_NEAR(schedule.At(19).beta1, 0.85, 1e-12);
  EXPECT_NEAR(schedule.At(99).beta1, 0.95, 1e-12);
  EXPECT_NEAR(schedule.At(59).learning_rate, (1e-3 + 4e-9) / 2, 1e-9);
}

TEST(Schedule, PlateauMultipliesByItsFactorAtEveryReduction) {
  ScheduleConfig config;
  config.set_kind(ScheduleConfig::PLATEAU);
  config.set_learning_rate(0.5f);
  config.set_warmup_steps(4);
  config.set_plateau_factor(0.25f);
  const Schedule schedule(config, OptimizerConfig(), 100);
  EXPECT_EQ(schedule.At(2).learning_rate, 0.25);
  EXPECT_EQ(schedule.At(50).learning_rate, 0.5);
  EXPECT_EQ(schedule.At(50, 1).learning_rate, 0.125);
  EXPECT_EQ(schedule.At(99, 2).learning_rate, 0.03125);
}

TEST(Schedule, StepDropsOnce) {
  ScheduleConfig config;
  config.set_kind(ScheduleConfig::STEP);
  config.set_learning_rate(0.5f);
  config.set_warmup_steps(4);
  config.set_drop_step(30);
  config.set_drop_factor(0.25f);
  const Schedule schedule(config, OptimizerConfig(), 100);
  EXPECT_EQ(schedule.At(2).learning_rate, 0.25);
  EXPECT_EQ(schedule.At(29).learning_rate, 0.5);
  EXPECT_EQ(schedule.At(30).learning_rate, 0.125);
  EXPECT_EQ(schedule.At(99).learning_rate, 0.125);
}

double LargestRate(const Schedule& schedule, int64_t steps) {
  double largest = 0;
  for (int64_t s = 0; s < steps; ++s) largest = std::max(largest, schedule.At(s).learning_rate);
  return largest;
}

// Runs that end within the warm-up and drops within it are among them.
TEST(Schedule, PeakStepIsWhereNoStepHasALargerRate) {
  for (int kind = ScheduleConfig::CONSTANT; kind <= ScheduleConfig::STEP; ++kind) {
    for (const int warmup : {0, 1, 2, 8, 20, 60}) {
      for (const int64_t steps : {1, 2, 20, 30}) {
        for (const int drop_step : {1, 5, 9, 25, 100}) {
          ScheduleConfig config;
          config.set_kind(static_cast<ScheduleConfig::Kind>(kind));
          config.set_learning_rate(0.5f);
          config.set_warmup_steps(warmup);
          config.set_drop_step(drop_step);
          config.set_drop_factor(0.25f);
          const Schedule schedule(config, OptimizerConfig(), steps);
          ASSERT_LT(schedule.PeakStep(), steps);
          EXPECT_EQ(schedule.At(schedule.PeakStep()).learning_rate, LargestRate(schedule, steps))
              << config.ShortDebugString() << " of " << steps << " steps";
        }
      }
    }
  }
}

TEST(Schedule, WarmupFractionIsRounded) {
  ScheduleConfig config;
  config.set_kind(ScheduleConfig::COSINE);
  config.set_learning_rate(1);
  config.set_warmup_fraction(0.1f);
  EXPECT_EQ(Schedule(config, OptimizerConfig(), 150).warmup_steps(), 15);
}

}  // namespace
}  // namespace lra
