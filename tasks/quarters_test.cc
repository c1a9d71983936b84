#include "tasks/quarters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lra {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(QuartersTest, EqualSizesAndNamedRanges) {
  const Strata strata = QuartersOf("reach", "how far", {8, 1, 7, 2, 6, 3, 5, 4});
  EXPECT_EQ(strata.name, "reach");
  EXPECT_EQ(strata.definition, "how far");
  EXPECT_THAT(strata.names, ElementsAre("1.0 to 2.0", "2.0 to 4.0", "4.0 to 6.0", "6.0 to 8.0"));
  EXPECT_THAT(strata.of, ElementsAre(3, 0, 3, 0, 2, 1, 2, 1));
}

TEST(QuartersTest, TiesShareAStratum) {
  const Strata strata = QuartersOf("reach", "how far", {1, 1, 1, 1, 1, 1, 1, 9});
  EXPECT_THAT(strata.names, ElementsAre("1.0 to 1.0", "1.0 to 9.0"));
  EXPECT_THAT(strata.of, ElementsAre(0, 0, 0, 0, 0, 0, 0, 1));
}

TEST(QuartersTest, FewerValuesThanQuarters) {
  EXPECT_THAT(QuartersOf("reach", "how far", {5}).of, ElementsAre(0));
  EXPECT_THAT(QuartersOf("reach", "how far", {}).names, IsEmpty());
  EXPECT_THAT(QuartersOf("reach", "how far", {2, 1, 3}).of, ElementsAre(1, 0, 2));
}

}  // namespace
}  // namespace lra
