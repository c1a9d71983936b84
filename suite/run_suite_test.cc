#include "suite/run_suite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace lra {
namespace {

using ::testing::ElementsAre;

TEST(FlagsOfWorker, NameItsDevice) {
  SuiteRunOptions options;
  EXPECT_EQ(DeviceOf(options), "cpu");
  EXPECT_THAT(FlagsOfWorker(options, 1), ElementsAre());
  options.train_flags = {"--graphs", "on", "--device", "cuda"};
  EXPECT_EQ(DeviceOf(options), "cuda");
  EXPECT_EQ(DeviceKind(options), "cuda");
  EXPECT_EQ(ValueOfFlag(options, "--graphs"), "on");
  EXPECT_EQ(ValueOfFlag(options, "--kernels"), "");
  EXPECT_THAT(FlagsOfWorker(options, 1), ElementsAre("--graphs", "on", "--device", "cuda"));
  options.train_flags.back() = "cuda:1";
  EXPECT_EQ(DeviceKind(options), "cuda");
  options.train_flags.back() = "cuda";
  options.device_of_worker = [](const std::string& device, int64_t place) {
    return absl::StrCat(device, ":", place % 2);
  };
  EXPECT_THAT(FlagsOfWorker(options, 3), ElementsAre("--graphs", "on", "--device", "cuda:1"));
}

// The cards of workers 0 .. count - 1 of part k (--shard k/n), on a machine of four.
std::string CardsOfPart(int k, int workers, int count) {
  SuiteRunOptions options;
  options.train_flags = {"--device", "cuda"};
  options.part = k;
  options.workers = workers;
  options.device_of_worker = [](const std::string&, int64_t place) {
    return absl::StrCat(place % 4);
  };
  std::string cards;
  for (int worker = 0; worker < count; ++worker) cards += FlagsOfWorker(options, worker).back();
  return cards;
}

TEST(FlagsOfWorker, PartsOnOneMachineBeginWithOtherCards) {
  EXPECT_EQ(CardsOfPart(0, 1, 1) + CardsOfPart(1, 1, 1) + CardsOfPart(2, 1, 1) +
                CardsOfPart(3, 1, 1) + CardsOfPart(4, 1, 1),
            "01230");
  EXPECT_EQ(CardsOfPart(0, 2, 2), "01");
  EXPECT_EQ(CardsOfPart(1, 2, 2), "23");
  EXPECT_EQ(CardsOfPart(0, 6, 6), "012301");
  EXPECT_EQ(CardsOfPart(1, 6, 6), "230123") << "each card has three of the twelve";
  // Nobody said how many workers a part has.
  EXPECT_EQ(CardsOfPart(0, 0, 3), "012");
  EXPECT_EQ(CardsOfPart(1, 0, 3), "123");
  // Products of large numbers do not overflow.
  EXPECT_EQ(CardsOfPart(2000000001, 6, 1), "2");
}

}  // namespace
}  // namespace lra
