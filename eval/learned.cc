#include "eval/learned.h"

#include <vector>

namespace lra {

Estimate AboveBaseline(absl::Span<const ExampleValues> runs, const ExampleValues& baseline) {
  return PairedDifference(runs, std::vector<ExampleValues>(runs.size(), baseline));
}

}  // namespace lra
