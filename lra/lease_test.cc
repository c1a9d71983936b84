#include "lra/lease.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lra/files.h"
#include "lra/folder_test_util.h"

namespace lra {
namespace {

using ::testing::HasSubstr;

class LeaseTest : public testing::Test {
 protected:
  // What a process of another machine left.
  void LeaveOther(int number) {
    ASSERT_EQ(WriteFileAtomically(Name(number), "other-system node7 4711 abcd 3\n"),
              absl::OkStatus());
  }
  std::string Name(int number) const { return absl::StrCat(path_, "-", number); }

  const TestFolder folder_;
  const std::string path_ = folder_.File("lease");
  LeaseOptions quick_ = {.beat = std::chrono::milliseconds(20)};
  // Waits long for the next beat of a holder that has no core just now.
  const LeaseOptions patient_ = {.beat = std::chrono::milliseconds(20), .missed_beats = 6000};
};

TEST_F(LeaseTest, HasOneHolderAndLeavesNothing) {
  {
    const auto first = Lease::Take(path_, quick_);
    ASSERT_TRUE(first.ok()) << first.status();
    EXPECT_TRUE(Lease::SeemsHeld(path_, true));
    EXPECT_FALSE(Lease::SeemsHeld(path_, false));
    const absl::Status second = Lease::Take(path_, patient_).status();
    EXPECT_EQ(second.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(second.message()), HasSubstr(absl::StrCat("process ", getpid())));
    EXPECT_EQ((*first)->Confirm(), absl::OkStatus());
  }
  EXPECT_FALSE(FileExists(Name(1)));
  EXPECT_TRUE(Lease::Take(path_, quick_).ok());
}

TEST_F(LeaseTest, IsTakenOverWhenItsHolderIsSilent) {
  LeaveOther(4);
  std::string waited_for;
  quick_.on_wait = [&](const std::string& holder) { waited_for = holder; };
  const auto begin = std::chrono::steady_clock::now();
  const auto lease = Lease::Take(path_, quick_);
  ASSERT_TRUE(lease.ok()) << lease.status();
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 3 * quick_.beat);
  EXPECT_EQ(waited_for, "process 4711 of host node7");
  EXPECT_FALSE(FileExists(Name(4)));
  EXPECT_TRUE(FileExists(Name(5)));
  EXPECT_EQ((*lease)->Confirm(), absl::OkStatus());
}

// A lock of the kernel says more than silence, and says it at once.
TEST_F(LeaseTest, OfADeadProcessOfThisSystemNeedsNoWait) {
  const auto dead = Lease::Take(path_, quick_);
  ASSERT_TRUE(dead.ok());
  LeaseOptions locked = {.beat = std::chrono::hours(1), .is_locked_here = true};
  const auto lease = Lease::Take(path_, locked);
  ASSERT_TRUE(lease.ok()) << lease.status();
  // The other one was not dead after all.
  EXPECT_EQ((*dead)->Confirm().code(), absl::StatusCode::kAborted);
  EXPECT_EQ((*lease)->Confirm(), absl::OkStatus());
}

TEST_F(LeaseTest, ASlowHolderFindsThatItHasLost) {
  LeaseOptions slow = {.beat = std::chrono::hours(1)};
  auto first = Lease::Take(path_, slow);
  ASSERT_TRUE(first.ok());
  const auto second = Lease::Take(path_, quick_);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_THAT(std::string((*first)->Confirm().message()), HasSubstr("taken over by process"));
  first->reset();
  EXPECT_TRUE(FileExists(Name(2)));  // the loser removes nothing of the winner's
  EXPECT_EQ((*second)->Confirm(), absl::OkStatus());
}

TEST_F(LeaseTest, OneOfManyTakesOver) {
  LeaveOther(1);
  std::vector<absl::StatusOr<std::unique_ptr<Lease>>> all(8);
  std::vector<std::thread> threads;
  for (auto& one : all) threads.emplace_back([&] { one = Lease::Take(path_, quick_); });
  for (std::thread& thread : threads) thread.join();
  int holders = 0;
  for (const auto& one : all) holders += one.ok() && (*one)->Confirm().ok() ? 1 : 0;
  EXPECT_EQ(holders, 1);
}

}  // namespace
}  // namespace lra
