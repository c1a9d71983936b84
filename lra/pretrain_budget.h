// How long a run is pretrained.
#ifndef LRA_PRETRAIN_BUDGET_H_
#define LRA_PRETRAIN_BUDGET_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "lra/config.pb.h"

namespace lra {

// The optimiser steps after which the budgets of pretraining end, rising: one for each of
// pretrain.continued_from_examples, and at last that of pretrain.examples (a budget over
// train.batch_examples, rounded up; in older records pretrain.steps as it stands). Empty without
// pretraining.
std::vector<int64_t> PretrainBudgetSteps(const ExperimentConfig& config);

// The steps of all of pretraining; 0 without it.
int64_t PretrainSteps(const ExperimentConfig& config);

// InvalidArgument, saying what to write instead, for a budget in steps (the older spelling), and
// for budgets that do not rise.
absl::Status CheckPretrainBudget(const ExperimentConfig& config);

// `now` with the budget and the goal of `then`, where `then` is a state that `now` can go on from:
// an equal configuration whose budgets are the first of now's. The goal (pretrain.until) moves no
// weight. Otherwise `now` as it is.
PretrainConfig AsBefore(PretrainConfig now, const PretrainConfig& then);

}  // namespace lra

#endif  // LRA_PRETRAIN_BUDGET_H_
