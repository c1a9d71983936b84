// Compares the files of configs/tasks/ with the options that the tests of this folder use.
#include <gtest/gtest.h>

#include "lra/config.h"
#include "tasks/pathfinder/options.h"
#include "tasks/pathfinder/options_test_util.h"

namespace lra::pathfinder {
namespace {

void ExpectOfficial(absl::string_view name, int side) {
  const auto file = LoadTaskFile(name);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->canonical_seed(), 0u) << name;
  PathfinderOptions options;
  ASSERT_TRUE(file->options().UnpackTo(&options)) << name;
  EXPECT_EQ(options.DebugString(), OfficialOptions(side).DebugString()) << name;
  const auto resolved = ResolveOptions(options);
  ASSERT_TRUE(resolved.ok()) << resolved.status();
  EXPECT_EQ(resolved->contour_paddles(), 14) << name;
}

TEST(PathfinderConfigsTest, HoldTheOfficialOptions) {
  ExpectOfficial("pathfinder32", 32);
  ExpectOfficial("pathfinder64", 64);
  ExpectOfficial("pathx", 128);
  ExpectOfficial("pathfinder256", 256);
}

}  // namespace
}  // namespace lra::pathfinder
