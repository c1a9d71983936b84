// What one would write with LibTorch's operations for the same function, differentiated by
// autograd: the yardstick of the hand-made forms.
#ifndef LRA_BENCHMARKS_ATTENTION_COMPOSITIONS_H_
#define LRA_BENCHMARKS_ATTENTION_COMPOSITIONS_H_

#include <map>
#include <string>

#include "benchmarks/attention/cases.h"

namespace lra {

struct Composition {
  std::string name;  // "matmul, softmax, matmul"
  Case::Form form;
  double exponent = 1;  // of its memory and time over N
};

// By name of the attention, with its default options; lengths are whole blocks.
const std::map<std::string, Composition>& PatternCompositions();  // softmax over chosen pairs
const std::map<std::string, Composition>& MixingCompositions();   // all others but linear ones

// The dense oracle where there is nothing better.
Composition CompositionOf(const Method& method);

}  // namespace lra

#endif  // LRA_BENCHMARKS_ATTENTION_COMPOSITIONS_H_
