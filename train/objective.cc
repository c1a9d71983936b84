#include "train/objective.h"

namespace lra {

std::string Objective::Reference(const CheckpointState&) const { return ""; }

Sums Objective::TrainingSums(const RunningSums& running) const {
  Sums sums;
  (*sums.mutable_counts())[kTargets] = running.examples();
  (*sums.mutable_counts())[kCorrect] = running.correct();
  (*sums.mutable_totals())[kNats] = running.loss_sum();
  return sums;
}

}  // namespace lra
