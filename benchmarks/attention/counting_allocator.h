// Counts the bytes of tensors on the CPU exactly, so that every run gives the same. Scratch memory
// that MKL or oneDNN request from the system and containers of the standard library are not
// counted.
#ifndef LRA_BENCHMARKS_ATTENTION_COUNTING_ALLOCATOR_H_
#define LRA_BENCHMARKS_ATTENTION_COUNTING_ALLOCATOR_H_

#include <cstdint>

namespace lra {

// Puts the counter in front of LibTorch's allocator. Call it once, before the first tensor is made.
void CountTensorBytes();
int64_t LiveTensorBytes();
int64_t PeakTensorBytes();
// Sets the peak to what is allocated now.
void ResetPeakTensorBytes();

}  // namespace lra

#endif  // LRA_BENCHMARKS_ATTENTION_COUNTING_ALLOCATOR_H_
