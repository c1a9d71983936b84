// Counts the bytes of tensors on the CPU exactly, so that every run gives the same. Scratch memory
// that MKL or oneDNN request from the system and containers of the standard library are not
// counted.
#ifndef LRA_BENCH_MEASURE_COUNTING_ALLOCATOR_H_
#define LRA_BENCH_MEASURE_COUNTING_ALLOCATOR_H_

#include <cstdint>

namespace lra {

// Puts the counter in front of LibTorch's allocator. Call it once, before the first tensor is made.
// Where tensors would hold more than `budget_bytes` (0 = no limit), allocating throws
// std::bad_alloc.
void CountTensorBytes(int64_t budget_bytes);
int64_t LiveTensorBytes();
int64_t PeakTensorBytes();
// Sets the peak to what is allocated now.
void ResetPeakTensorBytes();
// How many tensors were allocated so far, and their bytes.
int64_t TensorAllocations();
int64_t AllocatedTensorBytes();

}  // namespace lra

#endif  // LRA_BENCH_MEASURE_COUNTING_ALLOCATOR_H_
