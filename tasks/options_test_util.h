// Small ListOps data for tests.
#ifndef LRA_TASKS_OPTIONS_TEST_UTIL_H_
#define LRA_TASKS_OPTIONS_TEST_UTIL_H_

#include <string>

#include "tasks/prepare.h"

namespace lra {

// Small data: 300 / 20 / 20 trees of 6 to 39 tokens.
inline PrepareOptions SmallListOps(const std::string& out) {
  PrepareOptions options;
  options.task = "listops";
  options.out = out;
  options.set = {"max_depth=4",        "min_length_tokens=5",    "max_length_tokens=40",
                 "train_examples=300", "validation_examples=20", "test_examples=20"};
  options.quiet = true;
  return options;
}

}  // namespace lra

#endif  // LRA_TASKS_OPTIONS_TEST_UTIL_H_
