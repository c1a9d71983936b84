#include "tasks/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"
#include "datasets/data_test_util.h"
#include "lra/folder_test_util.h"
#include "tasks/prepare.h"
#include "tasks/task_facts.h"

namespace lra {
namespace {

using ::testing::ElementsAre;

// Ids: digit d is 1 + d, MIN 11, MAX 12, MED 13, SM 14, "]" 15.
TEST(ProfileTaskTest, EvidenceDepthOfListOps) {
  const TestFolder folder;
  const auto task = MakeTask("listops");
  ASSERT_TRUE(task.ok()) << task.status();
  // The commonest values of the training nodes: MIN 0, MAX 9.
  const EncodedExample min{{11, 1, 5, 15}, {}, 0}, max{{12, 10, 2, 15}, {}, 9};
  WriteTestData(folder.File("d"), (*task)->Spec(),
                {{"train", {min, max}},
                 {"validation", {min}},
                 {"test",
                  {max,                                        // right as guessed
                   {{12, 3, 6, 15}, {}, 5},                    // [MAX 2 5 ]
                   {{12, 3, 11, 9, 10, 15, 4, 15}, {}, 8},     // [MAX 2 [MIN 8 9 ] 3 ]
                   {{11, 8, 12, 4, 5, 15, 6, 15}, {}, 4}}}});  // [MIN 7 [MAX 3 4 ] 5 ]
  TaskProfileRequest request;
  request.task = "listops";
  request.data_dir = folder.File("d");
  request.options.quiet = true;
  const auto profile = ProfileTask(request);
  ASSERT_TRUE(profile.ok()) << profile.status();
  EXPECT_THAT(profile->labels, ElementsAre(9, 5, 8, 4));
  ASSERT_EQ(profile->strata.size(), 2u);
  EXPECT_EQ(profile->strata[1].name, "length");
  EXPECT_EQ(profile->strata[0].name, "evidence depth");
  EXPECT_THAT(profile->strata[0].of, ElementsAre(0, 1, 2, 2));
  EXPECT_EQ(profile->strata[0].names.size(), 12u);  // 0 to 10, and none
  ASSERT_EQ(profile->ladder.size(), 5u);
  EXPECT_EQ(profile->ladder[0].facts.bar, "depth 1");
  const std::vector<float>& depth1 = profile->ladder[0].logits[0];
  std::vector<int64_t> answers;
  for (int i = 0; i < 4; ++i) {
    const auto row = depth1.begin() + 10 * i;
    answers.push_back(std::max_element(row, row + 10) - row);
  }
  EXPECT_THAT(answers, ElementsAre(9, 5, 3, 5));
  // Depth is the stored tree's in every view. Without closing brackets nobody can tell where an
  // operator ends, so that the ladder is not to be had.
  request.view.sets = {"brackets=NONE"};
  const auto flat = ProfileTask(request);
  ASSERT_TRUE(flat.ok()) << flat.status();
  ASSERT_EQ(flat->strata.size(), 2u);
  EXPECT_EQ(flat->strata[0].definition, profile->strata[0].definition);
  EXPECT_THAT(flat->strata[0].of, ElementsAre(0, 1, 2, 2));
  EXPECT_EQ(flat->strata[1].name, "length");
  EXPECT_TRUE(flat->ladder.empty());
  request.view.sets = {"max_length_tokens=3"};
  const auto cut = ProfileTask(request);
  ASSERT_TRUE(cut.ok()) << cut.status();
  EXPECT_THAT(cut->strata[0].of, ElementsAre(0, 1, 2, 2));
}

TEST(ProfileTaskTest, ContourReachOfPathfinder) {
  const TestFolder folder;
  PrepareOptions prepare;
  prepare.task = "pathfinder32";
  prepare.out = folder.File("d");
  prepare.set = {"images=40"};
  prepare.seed = 3;
  prepare.quiet = true;
  ASSERT_TRUE(Prepare(prepare).ok());
  TaskProfileRequest request;
  request.task = "pathfinder32";
  request.data_dir = folder.File("d");
  request.split = "train";
  request.options.quiet = true;
  const auto profile = ProfileTask(request);
  ASSERT_TRUE(profile.ok()) << profile.status();
  ASSERT_EQ(profile->strata.size(), 1u);
  const Strata& strata = profile->strata[0];
  EXPECT_EQ(strata.name, "contour reach");
  EXPECT_THAT(strata.definition, testing::HasSubstr("contour of 14 dashes"));
  ASSERT_EQ(strata.of.size(), 32u);
  // The farthest of the 32 images by their tips as the generator gives them: y and x of the origin
  // and of the terminal of either contour.
  const auto task = MakeTask("pathfinder32");
  double farthest = 0;
  for (uint32_t i = 0; i < 32; ++i) {
    uint32_t attempt = 0;
    const std::vector<int16_t> tips = (*task)->Generate(3, 0, i, &attempt)->extra;
    const double first = std::sqrt(std::pow(tips[0] - tips[2], 2) + std::pow(tips[1] - tips[3], 2));
    const double second =
        std::sqrt(std::pow(tips[4] - tips[6], 2) + std::pow(tips[5] - tips[7], 2));
    farthest = std::max(farthest, (first + second) / 2);
  }
  EXPECT_THAT(strata.names.back(), testing::EndsWith(absl::StrFormat("to %.1f", farthest)));
}

}  // namespace
}  // namespace lra
