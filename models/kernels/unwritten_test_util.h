// For tests that kernels write all that they return, and read nothing that they have not written.
#ifndef LRA_MODELS_KERNELS_UNWRITTEN_TEST_UTIL_H_
#define LRA_MODELS_KERNELS_UNWRITTEN_TEST_UTIL_H_

#include <ATen/Context.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

namespace lra {

// While it lives, floats that LibTorch allocates are NaN until they are written. It holds for the
// whole process and is not for concurrent use.
class UnwrittenIsNaN {
 public:
  UnwrittenIsNaN()
      : was_deterministic_(at::globalContext().deterministicAlgorithms()),
        warned_only_(at::globalContext().deterministicAlgorithmsWarnOnly()),
        was_filled_(at::globalContext().deterministicFillUninitializedMemory()) {
    at::globalContext().setDeterministicAlgorithms(/*b=*/true, /*warn_only=*/false);
    at::globalContext().setDeterministicFillUninitializedMemory(true);
    EXPECT_TRUE(at::empty({8}).isnan().all().item<bool>()) << "this LibTorch fills no memory";
  }
  ~UnwrittenIsNaN() {
    at::globalContext().setDeterministicAlgorithms(was_deterministic_, warned_only_);
    at::globalContext().setDeterministicFillUninitializedMemory(was_filled_);
  }
  UnwrittenIsNaN(const UnwrittenIsNaN&) = delete;
  UnwrittenIsNaN& operator=(const UnwrittenIsNaN&) = delete;

 private:
  const bool was_deterministic_, warned_only_, was_filled_;
};

}  // namespace lra

#endif  // LRA_MODELS_KERNELS_UNWRITTEN_TEST_UTIL_H_
