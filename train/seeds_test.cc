#include "train/seeds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lra {
namespace {

TEST(Seeds, NumbersAndRanges) {
  EXPECT_THAT(*ParseSeeds("3"), testing::ElementsAre(3));
  EXPECT_THAT(*ParseSeeds("0-2,7"), testing::ElementsAre(0, 1, 2, 7));
  EXPECT_THAT(*ParseSeeds("4294967295"), testing::ElementsAre(4294967295u));
}

TEST(Seeds, RefusesTheRest) {
  for (const char* text :
       {"", "a", "1-", "-1", "3-1", "0-1,1", "2,1", "1-2-3", "0-99999", "4294967296", "1, x"}) {
    EXPECT_EQ(ParseSeeds(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

}  // namespace
}  // namespace lra
