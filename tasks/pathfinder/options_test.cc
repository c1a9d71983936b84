#include "tasks/pathfinder/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tasks/pathfinder/options_test_util.h"

namespace lra::pathfinder {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<int> Counts(int side, PathfinderOptions::Difficulty difficulty) {
  const auto options = ResolveOptions(OfficialOptions(side, difficulty));
  EXPECT_TRUE(options.ok()) << options.status();
  return {options->contour_paddles(), options->distractor_paddles(), options->distractors()};
}

// The folders are curv_baseline, curv_contour_length_9 and curv_contour_length_14.
TEST(OptionsTest, CountsFollowDifficultyAndSide) {
  EXPECT_THAT(Counts(32, PathfinderOptions::EASY), ElementsAre(6, 2, 10));
  EXPECT_THAT(Counts(32, PathfinderOptions::INTERMEDIATE), ElementsAre(9, 3, 6));
  EXPECT_THAT(Counts(32, PathfinderOptions::HARD), ElementsAre(14, 4, 5));
  EXPECT_THAT(Counts(64, PathfinderOptions::EASY), ElementsAre(6, 2, 11));
  EXPECT_THAT(Counts(64, PathfinderOptions::INTERMEDIATE), ElementsAre(9, 3, 7));
  EXPECT_THAT(Counts(64, PathfinderOptions::HARD), ElementsAre(14, 4, 5));
  EXPECT_THAT(Counts(128, PathfinderOptions::EASY), ElementsAre(6, 2, 17));
  EXPECT_THAT(Counts(128, PathfinderOptions::INTERMEDIATE), ElementsAre(9, 3, 11));
  EXPECT_THAT(Counts(128, PathfinderOptions::HARD), ElementsAre(14, 4, 8));
  EXPECT_THAT(Counts(256, PathfinderOptions::EASY), ElementsAre(6, 2, 15));
  EXPECT_THAT(Counts(256, PathfinderOptions::INTERMEDIATE), ElementsAre(9, 3, 10));
  EXPECT_THAT(Counts(256, PathfinderOptions::HARD), ElementsAre(14, 4, 7));
}

TEST(OptionsTest, WhatIsSetStays) {
  PathfinderOptions options = OfficialOptions(32);
  options.clear_difficulty();
  options.set_contour_paddles(8);
  options.set_distractors(3);
  auto resolved = ResolveOptions(options);
  ASSERT_TRUE(resolved.ok()) << resolved.status();
  EXPECT_EQ(resolved->contour_paddles(), 8);
  EXPECT_EQ(resolved->distractor_paddles(), 2);
  EXPECT_EQ(resolved->distractors(), 3);

  options.set_side_pixels(40);
  EXPECT_TRUE(ResolveOptions(options).ok());
}

template <class Change>
std::string ErrorAfter(Change change) {
  PathfinderOptions options = OfficialOptions(32);
  change(&options);
  const auto resolved = ResolveOptions(options);
  EXPECT_EQ(resolved.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(resolved.status().message());
}

TEST(OptionsTest, ErrorsSayWhatWouldBeRight) {
  EXPECT_THAT(ErrorAfter([](PathfinderOptions* o) { o->clear_difficulty(); }),
              HasSubstr("set difficulty or contour_paddles"));
  EXPECT_THAT(ErrorAfter([](PathfinderOptions* o) { o->set_side_pixels(48); }),
              AllOf(HasSubstr("set distractors"), HasSubstr("not 48")));
  EXPECT_THAT(ErrorAfter([](PathfinderOptions* o) {
                o->clear_collision_limit();
                o->clear_paddle_tries();
              }),
              AllOf(HasSubstr("collision_limit"), HasSubstr("paddle_tries")));
  EXPECT_THAT(ErrorAfter([](PathfinderOptions* o) { o->clear_side_pixels(); }),
              HasSubstr("side_pixels"));
  EXPECT_THAT(ErrorAfter([](PathfinderOptions* o) { o->clear_paddle_contrasts(); }),
              HasSubstr("paddle_contrasts has 0 values"));
  EXPECT_THAT(ErrorAfter([](PathfinderOptions* o) { o->add_paddle_margins_pixels(0); }),
              HasSubstr("paddle_margins_pixels holds 0; a value is from 1 to 8"));
  EXPECT_THAT(ErrorAfter([](PathfinderOptions* o) { o->add_contour_contrasts(NAN); }),
              HasSubstr("contour_contrasts holds nan"));
  EXPECT_THAT(ErrorAfter([](PathfinderOptions* o) { o->set_paddle_thickness_pixels(0.75); }),
              HasSubstr("is 1.5; it must be a whole number"));
  EXPECT_THAT(ErrorAfter([](PathfinderOptions* o) { o->set_seed_distance_pixels(8); }),
              HasSubstr("below a quarter"));
  EXPECT_THAT(ErrorAfter([](PathfinderOptions* o) { o->set_padding_pixels(8); }),
              HasSubstr("padding_pixels 8"));
  EXPECT_THAT(ErrorAfter([](PathfinderOptions* o) { o->set_continuity(17); }),
              HasSubstr("continuity"));
}

TEST(OptionsTest, LinesMustNotHideDiscs) {
  for (const int side : {32, 64, 128, 256})
    EXPECT_TRUE(CheckDiscsShow(OfficialOptions(side)).ok())
        << CheckDiscsShow(OfficialOptions(side));
  PathfinderOptions bright = OfficialOptions(32);
  bright.set_contour_contrasts(0, 20);
  EXPECT_TRUE(ResolveOptions(bright).ok());  // such data can be read
  EXPECT_EQ(CheckDiscsShow(bright).message(),
            "pathfinder options: contour_contrasts and paddle_contrasts make lines of contrast 20 "
            "beside discs of 1, which would hide some discs; with paddle_thickness_pixels 0.5 and "
            "marker_radius_pixels 1.5, 2 is possible");
  PathfinderOptions thick = OfficialOptions(32);
  thick.set_paddle_thickness_pixels(1);
  EXPECT_THAT(std::string(CheckDiscsShow(thick).message()), HasSubstr(", 1 is possible"));
  thick.set_contour_contrasts(0, 1);
  EXPECT_TRUE(CheckDiscsShow(thick).ok());
  thick.add_paddle_contrasts(1.5);
  EXPECT_FALSE(CheckDiscsShow(thick).ok());
}

}  // namespace
}  // namespace lra::pathfinder
