#include "tasks/quarters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "datasets/data_test_util.h"
#include "lra/folder_test_util.h"

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

std::vector<Strata> LengthsOf(const TaskSpec& spec, const std::vector<EncodedExample>& examples) {
  const TestFolder folder;
  WriteTestData(folder.File("d"), spec, {{"test", examples}});
  DataView view;
  auto data = Dataset::Open(folder.File("d"), {});
  EXPECT_TRUE(data.ok()) << data.status();
  auto split = SplitView::Create(*data, "test", view);
  EXPECT_TRUE(split.ok()) << split.status();
  return LengthStrata(*split);
}

EncodedExample OfLength(size_t tokens, size_t second = 0) {
  return {std::vector<uint16_t>(tokens, 1), std::vector<uint16_t>(second, 1), 0};
}

TEST(LengthStrataTest, Doublings) {
  TaskSpec spec = SmallSpec();
  spec.set_max_length_tokens(300);
  const std::vector<Strata> strata =
      LengthsOf(spec, {OfLength(64), OfLength(65), OfLength(128), OfLength(1), OfLength(129)});
  ASSERT_EQ(strata.size(), 1u);
  EXPECT_EQ(strata[0].name, "length");
  EXPECT_THAT(strata[0].names, ElementsAre("1 to 64", "65 to 128", "129 to 256"));
  EXPECT_THAT(strata[0].of, ElementsAre(0, 1, 1, 0, 2));
}

TEST(LengthStrataTest, NoneOfEqualLengths) {
  EXPECT_THAT(LengthsOf(SmallSpec(), {OfLength(8), OfLength(8)}), IsEmpty());
}

}  // namespace
}  // namespace lra
