// Baselines that answer with class frequencies of the training examples.
#ifndef LRA_TASKS_TABLE_BASELINE_H_
#define LRA_TASKS_TABLE_BASELINE_H_

#include <memory>

#include "tasks/baseline_method.h"

namespace lra {

// Answers with the class frequencies of the training examples of the same group. Counts begin at
// one, so that no log-probability is infinite.
std::unique_ptr<BaselineMethod> MakeTableBaseline(BaselineFacts facts, Grouping grouping);

// "majority": one group. Every task has it. A scored split whose commonest class is another than
// train's by more than chance is answered with its own frequencies, so that no constant answer is
// above this bar.
std::unique_ptr<BaselineMethod> MakeMajorityBaseline();

}  // namespace lra

#endif  // LRA_TASKS_TABLE_BASELINE_H_
