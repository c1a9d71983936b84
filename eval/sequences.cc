#include "eval/sequences.h"

#include <utility>

#include "lra/check.h"

namespace lra {

void CountSequences(ExampleSums* sums) {
  const std::vector<int64_t>& targets = sums->counts[kTargets];
  const std::vector<int64_t>& correct = sums->counts[kCorrect];
  LRA_CHECK(correct.size() == targets.size()) << correct.size() << " of " << targets.size();
  std::vector<int64_t> sequences(targets.size()), exact(targets.size());
  for (size_t i = 0; i < targets.size(); ++i) {
    sequences[i] = targets[i] > 0 ? 1 : 0;
    exact[i] = targets[i] > 0 && correct[i] == targets[i] ? 1 : 0;
  }
  sums->counts[kSequences] = std::move(sequences);
  sums->counts[kExactSequences] = std::move(exact);
}

bool HasSequences(const Sums& sums) {
  return HasSum(sums, kSequences) && HasSum(sums, kExactSequences);
}

}  // namespace lra
