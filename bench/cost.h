// What a measured pass has to do at least: multiplications and additions, bytes moved, bytes held.
// Beside the machine's measured peaks this says how much of what is possible was reached.
#ifndef LRA_BENCH_COST_H_
#define LRA_BENCH_COST_H_

#include <cstdint>
#include <string>

#include "bench/bench.pb.h"

namespace lra {

struct PassCost {
  // Those of the method's own products, 2 for a multiplication with addition; 0 where they are not
  // known here: hashing, sorting, Fourier transforms, patterns drawn at random.
  double operations = 0;
  // Every input read once and every output written once.
  double moved_bytes = 0;
};

// What a pass of the attention alone costs (FORWARD or TRAINING); `tensors` counts its distinct
// inputs among q, k and v. A backward is two products for each of the forward's; what a kernel
// computes twice to save memory counts once.
PassCost OperatorCost(const BenchRequest& request, int tensors);

// What the pass of the attention alone must hold above its inputs: the output, and in training the
// gradients of the inputs.
int64_t OperatorMinimumBytes(const BenchRequest& request, int tensors);

// The state that the definition needs after `tokens` tokens in float32: keys and values of exact
// softmax, or a matrix and a vector a head of linear attentions; 0 where not known here.
int64_t MinimumStateBytes(const BenchRequest& request);

// Seconds of a pass at the machine's measured peaks: the longer of computing and moving. 0 where
// the peaks are not known.
struct Roofline {
  double seconds = 0;
  bool is_bound_by_moving = false;
};
Roofline RooflineOf(const PassCost& cost, NumericsConfig::Precision precision,
                    const BenchMachine& machine);

// "84.2 GFLOP/s, 61 %" or "11.9 GB/s, 72 %": what a pass of so many seconds reached of the bound
// that holds for it; "–" where nothing is known.
std::string ShareText(const PassCost& cost, double seconds, NumericsConfig::Precision precision,
                      const BenchMachine& machine);

}  // namespace lra

#endif  // LRA_BENCH_COST_H_
