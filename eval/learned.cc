#include "eval/learned.h"

#include <vector>

namespace lra {

Estimate AboveBaseline(absl::Span<const ExampleValues> runs, const ExampleValues& baseline,
                       int64_t block_examples) {
  return PairedDifference(runs, std::vector<ExampleValues>(runs.size(), baseline), block_examples);
}

}  // namespace lra
