// Counts the bytes of tensors on the CPU: exact, and the same in every run. Scratch that MKL or
// oneDNN ask the system for, and containers of the standard library, are not tensors.
#ifndef LRA_BENCHMARKS_ATTENTION_COUNTING_ALLOCATOR_H_
#define LRA_BENCHMARKS_ATTENTION_COUNTING_ALLOCATOR_H_

#include <cstdint>

namespace lra {

// Puts the counter before LibTorch's allocator; once, before the first tensor.
void CountTensorBytes();
int64_t LiveTensorBytes();
int64_t PeakTensorBytes();
// The peak starts anew from what is live.
void ResetPeakTensorBytes();

}  // namespace lra

#endif  // LRA_BENCHMARKS_ATTENTION_COUNTING_ALLOCATOR_H_
