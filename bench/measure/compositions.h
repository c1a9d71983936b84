// What one would write with LibTorch's operations for the same function, differentiated by
// autograd. The attentions are timed against this.
#ifndef LRA_BENCH_MEASURE_COMPOSITIONS_H_
#define LRA_BENCH_MEASURE_COMPOSITIONS_H_

#include <map>
#include <string>

#include "bench/measure/cases.h"

namespace lra {

struct Composition {
  std::string name;  // "matmul, softmax, matmul"
  Case::Form form;
  double exponent = 1;  // growth of its memory and time with N
};

// Compositions by the name of the attention, with its default options; lengths are whole blocks.
// One that is written for the causal form alone has ", causal" behind the name.
const std::map<std::string, Composition>& PatternCompositions();  // softmax over chosen pairs
const std::map<std::string, Composition>& MixingCompositions();   // all others except linear ones

// The composition for a request, or its dense oracle if there is none.
Composition CompositionOf(const BenchRequest& request);

}  // namespace lra

#endif  // LRA_BENCH_MEASURE_COMPOSITIONS_H_
