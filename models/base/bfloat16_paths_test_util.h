// For tests of kernels with products in bfloat16.
#ifndef LRA_MODELS_BASE_BFLOAT16_PATHS_TEST_UTIL_H_
#define LRA_MODELS_BASE_BFLOAT16_PATHS_TEST_UTIL_H_

#include <gtest/gtest.h>

#include "models/base/kernel_path.h"
#include "models/base/product_type.h"

namespace lra {

// Calls body() on every path that has such products; skips the test on machines that have none.
template <class Body>
void ForBfloat16Paths(Body body) {
  if (!HasBfloat16Products()) GTEST_SKIP() << "this machine has no bfloat16 products";
  for (const KernelPath path : AvailableKernelPaths()) {
    const ScopedKernelPath use(path);
    if (!HasBfloat16Products()) continue;
    SCOPED_TRACE(KernelPathName(path));
    body();
  }
}

}  // namespace lra

#endif  // LRA_MODELS_BASE_BFLOAT16_PATHS_TEST_UTIL_H_
