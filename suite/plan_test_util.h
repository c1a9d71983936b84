// For tests of plans and of what their runs became.
#ifndef LRA_SUITE_PLAN_TEST_UTIL_H_
#define LRA_SUITE_PLAN_TEST_UTIL_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "lra/files.h"
#include "lra/folder_test_util.h"
#include "suite/state.h"

namespace lra {

inline SuiteCell CellOf(const std::string& attention, uint32_t seed) {
  SuiteCell cell;
  cell.seed = seed;
  cell.config.set_task("listops");
  cell.config.mutable_attention()->set_name(attention);
  cell.config.mutable_train()->set_steps(100);
  cell.config.set_seed(seed);
  cell.name = absl::StrCat(attention, "-s", seed);
  return cell;
}

inline SuiteEstimate Estimate(double wall_seconds, int64_t memory_bytes) {
  SuiteEstimate estimate;
  estimate.mutable_estimate()->set_wall_seconds(wall_seconds);
  estimate.mutable_estimate()->set_cpu_seconds(wall_seconds / 2);
  estimate.mutable_estimate()->set_peak_memory_bytes(memory_bytes);
  estimate.mutable_estimate()->set_disk_bytes(1000);
  return estimate;
}

inline CellStatus At(CellState state, int64_t step) {
  CellStatus status;
  status.state = state;
  status.folder.checkpoint_step = step;
  return status;
}

// Stands for `lra train --dry-run --json`, whose flags it ignores.
inline std::string Program(const TestFolder& folder, const std::string& script) {
  const std::string path = folder.path() + "/program";
  EXPECT_TRUE(WriteFileAtomically(path, absl::StrCat("#!/bin/sh\n", script, "\n")).ok());
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return path;
}

}  // namespace lra

#endif  // LRA_SUITE_PLAN_TEST_UTIL_H_
