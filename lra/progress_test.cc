#include "lra/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lra {

class ProgressTestPeer {
 public:
  // Makes the progress look as if it had begun, and drawn its last line, that much earlier.
  static void Age(Progress* progress, std::chrono::seconds time) {
    progress->begin_ -= time;
    progress->drawn_ -= time;
  }
};

namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

TEST(ProgressTest, FormatsSeconds) {
  EXPECT_EQ(FormatSeconds(0), "0.0 s");
  EXPECT_EQ(FormatSeconds(4.2), "4.2 s");
  EXPECT_EQ(FormatSeconds(59.94), "59.9 s");
  EXPECT_EQ(FormatSeconds(59.96), "1 min 00 s");
  EXPECT_EQ(FormatSeconds(200), "3 min 20 s");
  EXPECT_EQ(FormatSeconds(3599.6), "1 h 00 min");
  EXPECT_EQ(FormatSeconds(3720), "1 h 02 min");
  EXPECT_EQ(FormatSeconds(3600 * 50), "2 d 02 h");
  EXPECT_EQ(FormatSeconds(-1), "?");
}

TEST(ProgressTest, FormatsBytes) {
  EXPECT_EQ(FormatBytes(0), "0 B");
  EXPECT_EQ(FormatBytes(999), "999 B");
  EXPECT_EQ(FormatBytes(1000), "1.0 kB");
  EXPECT_EQ(FormatBytes(340000), "340 kB");
  EXPECT_EQ(FormatBytes(999999), "1.0 MB");
  EXPECT_EQ(FormatBytes(1234567890), "1.2 GB");
  EXPECT_EQ(FormatBytes(5000000000000), "5.0 TB");
}

TEST(ProgressTest, FormatsCounts) {
  EXPECT_EQ(FormatCount(0), "0");
  EXPECT_EQ(FormatCount(999), "999");
  EXPECT_EQ(FormatCount(1000), "1,000");
  EXPECT_EQ(FormatCount(1234567), "1,234,567");
  EXPECT_EQ(FormatCount(-1234567), "-1,234,567");
  EXPECT_EQ(FormatCount(-123), "-123");
}

// Standard error is captured to a file, so these tests see what a log file gets.
TEST(ProgressTest, ALogGetsPlainLinesWithoutControlCharacters) {
  testing::internal::CaptureStderr();
  {
    Progress progress({.label = "train linear", .unit = "steps", .total = 1500});
    for (int step = 1; step <= 1500; ++step) progress.Update(step, "loss 2.01");
    progress.Finish();
  }
  EXPECT_THAT(
      testing::internal::GetCapturedStderr(),
      MatchesRegex(
          "train linear  1,500/1,500 steps  in [0-9]\\.[0-9] s  loss 2\\.01  [0-9.e+]+/s\n"));
}

// Loss, accuracy and remaining time must fit into 80 columns, and rates may be cut off.
TEST(ProgressTest, WhatIsMeasuredAndTheRemainingTimeComeBeforeRates) {
  testing::internal::CaptureStderr();
  {
    Progress progress(
        {.label = "train cosformer", .unit = "steps", .total = 5000, .second_unit = "tokens"});
    ProgressTestPeer::Age(&progress, std::chrono::seconds(930));
    progress.Update(1000, "loss 2.013  accuracy 24.0 %", 1000000);
  }
  const std::string line = testing::internal::GetCapturedStderr();
  EXPECT_THAT(line, testing::StartsWith("train cosformer  1,000/5,000 steps  ETA 1 h 02 min  loss "
                                        "2.013  accuracy 24.0 %  "));
  EXPECT_LE(line.find("24.0 %") + 6, 79u);
}

// A log file gets a line every 10 s: the last update must not draw a line that Finish() draws
// again.
TEST(ProgressTest, TheLastLineIsDrawnOnceEvenLongAfterTheOneBefore) {
  testing::internal::CaptureStderr();
  {
    Progress progress({.label = "x", .unit = "steps", .total = 2});
    ProgressTestPeer::Age(&progress, std::chrono::seconds(20));
    progress.Update(1);
    ProgressTestPeer::Age(&progress, std::chrono::seconds(20));
    progress.Update(2);
    progress.Finish();
  }
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              MatchesRegex("x  1/2 steps  ETA 2[0-9]\\.[0-9] s  [0-9.]+/s\n"
                           "x  2/2 steps  in 4[0-9]\\.[0-9] s  [0-9.]+/s\n"));
}

TEST(ProgressTest, ASecondUnitHasARateOfItsOwn) {
  testing::internal::CaptureStderr();
  {
    Progress progress({.label = "x", .unit = "steps", .total = 2, .second_unit = "tokens"});
    ProgressTestPeer::Age(&progress, std::chrono::hours(10));
    progress.Update(2, "", 3600000);
    progress.Finish();
  }
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              MatchesRegex("x  2/2 steps  in 10 h 00 min  5.5[0-9]e-05/s  (100|99) tokens/s\n"));
}

TEST(ProgressTest, WorkThatWasGivenUpClaimsNothing) {
  testing::internal::CaptureStderr();
  {
    Progress progress({.label = "x", .unit = "examples"});
    progress.Update(3);
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(ProgressTest, QuietSaysNothing) {
  testing::internal::CaptureStderr();
  {
    Progress progress({.label = "x", .unit = "steps", .total = 2, .quiet = true});
    progress.Update(1);
    progress.Finish();
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(ProgressTest, FinishesOnce) {
  testing::internal::CaptureStderr();
  {
    Progress progress({.label = "x", .unit = "examples"});
    progress.Update(12345);
    progress.Finish();
    progress.Finish();
  }
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              MatchesRegex("x  12,345 examples  in [0-9]\\.[0-9] s  [0-9.e+]+/s\n"));
}

// Steps of an earlier process do not count in this one's rate.
TEST(ProgressTest, AResumedRunThatDidNothingHasNoRate) {
  testing::internal::CaptureStderr();
  {
    Progress progress({.label = "x", .unit = "steps", .total = 100, .start = 90});
    progress.Update(90);
    progress.Finish();
  }
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              AllOf(HasSubstr("90/100 steps"), Not(HasSubstr("/s"))));
}

}  // namespace
}  // namespace lra
