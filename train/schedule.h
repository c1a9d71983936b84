// Learning-rate schedules. The formulas stand beside lra.ScheduleConfig (lra/config.proto); golden
// values of schedules A and B (LRA code, lra_benchmarks/utils/train_utils.py) are in
// schedule_test.cc.
#ifndef LRA_TRAIN_SCHEDULE_H_
#define LRA_TRAIN_SCHEDULE_H_

#include <cstdint>

#include "lra/config.pb.h"

namespace lra {

// The values at one optimiser step.
struct ScheduleValue {
  double learning_rate = 0;
  double beta1 = 0;
  bool moves_beta1 = false;  // whether another step of the schedule has another beta1
  // schedule.learning_rate, of which learning_rate is a multiple; 0 = unknown.
  double base_learning_rate = 0;
};

class Schedule {
 public:
  // total_steps T >= 1. Warm-up W is warmup_steps, or warmup_fraction * T rounded.
  Schedule(const ScheduleConfig& config, const OptimizerConfig& optimizer, int64_t total_steps);

  // `step` = 0, 1, ... is the number of optimiser steps already taken. `plateau_reductions` says
  // how often PLATEAU has lowered the rate so far (CheckpointState).
  ScheduleValue At(int64_t step, int64_t plateau_reductions = 0) const;
  int64_t warmup_steps() const { return warmup_; }
  // A step 0 .. T-1 with the largest rate before PLATEAU lowers any.
  int64_t PeakStep() const;

 private:
  ScheduleValue OneCycle(double s) const;
  ScheduleValue Value(int64_t step, int64_t plateau_reductions) const;
  ScheduleConfig::Kind kind_;
  double rate_, beta1_, plateau_factor_, drop_factor_;
  int64_t drop_step_;
  int64_t warmup_, total_;
};

}  // namespace lra

#endif  // LRA_TRAIN_SCHEDULE_H_
