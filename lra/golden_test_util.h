// For tests only: outputs that are kept as files and read by people when they change.
#ifndef LRA_GOLDEN_TEST_UTIL_H_
#define LRA_GOLDEN_TEST_UTIL_H_

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "lra/files.h"

namespace lra {

// The file must hold the text. With LRA_WRITE_GOLDEN=1 in the environment it is written instead.
inline void ExpectGolden(const std::string& path, const std::string& text) {
  if (std::getenv("LRA_WRITE_GOLDEN") != nullptr) {
    ASSERT_TRUE(WriteFileAtomically(path, text).ok()) << path;
    return;
  }
  const auto golden = ReadFile(path);
  ASSERT_TRUE(golden.ok()) << golden.status();
  EXPECT_EQ(*golden, text) << path << ": if the new text is right, LRA_WRITE_GOLDEN=1 writes it";
}

}  // namespace lra

#endif  // LRA_GOLDEN_TEST_UTIL_H_
