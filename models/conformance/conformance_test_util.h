#ifndef LRA_MODELS_CONFORMANCE_CONFORMANCE_TEST_UTIL_H_
#define LRA_MODELS_CONFORMANCE_CONFORMANCE_TEST_UTIL_H_

#include <gtest/gtest.h>

#include <vector>

#include "absl/status/statusor.h"
#include "models/conformance/conformance.h"
#include "models/conformance/report.h"

namespace lra {

// Every result passed, there are enough of them, and each promise can be put into words.
inline void ExpectAllPass(const absl::StatusOr<std::vector<ConformanceResult>>& results,
                          size_t at_least) {
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_GE(results->size(), at_least);
  for (const ConformanceResult& r : *results) {
    EXPECT_TRUE(r.passed) << r.attention << " " << r.id << ": " << r.measured << " > " << r.bound
                          << " (" << r.detail << ")";
    EXPECT_NE(PromiseWords(r.id), "") << r.id;
  }
}

}  // namespace lra

#endif  // LRA_MODELS_CONFORMANCE_CONFORMANCE_TEST_UTIL_H_
