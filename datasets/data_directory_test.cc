#include "datasets/data_directory.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace lra {
namespace {

TEST(DefaultDataDirectoryTest, OfTheEnvironmentOrHere) {
  unsetenv("LRA_DATA");
  EXPECT_EQ(DefaultDataDirectory("listops"), "data/listops");
  setenv("LRA_DATA", "", 1);
  EXPECT_EQ(DefaultDataDirectory("listops"), "data/listops");
  setenv("LRA_DATA", "/big/disk", 1);
  EXPECT_EQ(DefaultDataDirectory("text"), "/big/disk/text");
}

}  // namespace
}  // namespace lra
