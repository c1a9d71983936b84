#include "run_folder/run_claim.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <optional>

#include "lra/folder_test_util.h"
#include "run_folder/curve.h"
#include "run_folder/run_folder.h"

namespace lra {
namespace {

// Takes a claim and drops it, as happens when a run is refused before its first step.
void TakeAndLeave(const std::string& run) {
  const auto claim = RunClaim::Take(run);
  ASSERT_TRUE(claim.ok()) << claim.status();
  EXPECT_TRUE(FileExists(run + "/.lock"));
}

TEST(RunClaimTest, ARefusedRunLeavesNothing) {
  const TestFolder folder;
  TakeAndLeave(folder.File("runs/many/run/"));
  EXPECT_FALSE(FileExists(folder.File("runs")));
  EXPECT_TRUE(FileExists(folder.path()));
}

TEST(RunClaimTest, DataAreNotMixedWithARun) {
  const TestFolder folder;
  ASSERT_TRUE(WriteFileAtomically(folder.File("manifest.textproto"), "format_version: 1\n").ok());
  const absl::Status status = RunClaim::Take(folder.path()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("holds a data set"), std::string::npos) << status;
  EXPECT_FALSE(FileExists(folder.File(".lock")));
}

TEST(RunClaimTest, WhatWasThereBeforeStays) {
  const TestFolder folder;
  const std::string run = folder.File("run");
  ASSERT_TRUE(MakeDirectories(run).ok());
  TakeAndLeave(run);
  EXPECT_TRUE(FileExists(run));
  EXPECT_FALSE(FileExists(run + "/.lock"));
  ASSERT_TRUE(WriteFileAtomically(run + "/.lock", "").ok());
  ASSERT_TRUE(WriteFileAtomically(run + "/notes", "mine").ok());
  TakeAndLeave(run);
  EXPECT_TRUE(FileExists(run + "/.lock"));
  EXPECT_TRUE(FileExists(run + "/notes"));
}

TEST(RunClaimTest, ARunThatBeganStays) {
  for (const char* trace : {"curve.jsonl", "record.textproto", "trials", "pretrain"}) {
    const TestFolder folder;
    const std::string run = folder.File("run");
    {
      const auto claim = RunClaim::Take(run);
      ASSERT_TRUE(claim.ok()) << claim.status();
      ASSERT_TRUE(WriteFileAtomically(JoinPath(run, trace), "").ok());
    }
    EXPECT_TRUE(FileExists(run + "/.lock")) << trace;
  }
}

TEST(RunClaimTest, ASecondProcessIsRefusedAndTakesNothingAway) {
  const TestFolder folder;
  const std::string run = folder.File("run");
  const auto claim = RunClaim::Take(run);
  ASSERT_TRUE(claim.ok()) << claim.status();
  const absl::Status second = RunClaim::Take(run).status();
  EXPECT_EQ(second.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(second.message().find(run), absl::string_view::npos) << second;
  EXPECT_TRUE(FileExists(run + "/.lock"));
}

// A lock reaches no further than one machine where folders are shared by some network file systems.
TEST(RunClaimTest, ALeaseOfAnotherMachineSaysThatItTrains) {
  const TestFolder folder;
  const std::string run = folder.File("run");
  ASSERT_TRUE(MakeDirectories(run).ok());
  EXPECT_FALSE(IsTraining(run));
  ASSERT_TRUE(WriteFileAtomically(run + "/.lease-3", "its-boot-id node7 4711 abcd 3\n").ok());
  EXPECT_TRUE(IsTraining(run));
}

// The lock's file remains when a run ends, and any number of `lra status` may look at it at once.
TEST(RunClaimTest, ThoseWhoLookDoNotTrain) {
  const TestFolder folder;
  const std::string run = folder.File("run");
  ASSERT_TRUE(MakeDirectories(run).ok());
  ASSERT_TRUE(WriteFileAtomically(run + "/.lock", "").ok());
  const int looking = open((run + "/.lock").c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(looking, 0);
  ASSERT_EQ(flock(looking, LOCK_SH | LOCK_NB), 0);
  EXPECT_FALSE(IsTraining(run));
  close(looking);
  const auto claim = RunClaim::Take(run);
  ASSERT_TRUE(claim.ok()) << claim.status();
  EXPECT_TRUE(IsTraining(run));
}

TEST(RunClaimTest, WhoWasTakenOverIsTold) {
  const TestFolder folder;
  const auto claim = RunClaim::Take(folder.File("run"));
  ASSERT_TRUE(claim.ok()) << claim.status();
  EXPECT_TRUE(claim->Confirm().ok());
  ASSERT_TRUE(WriteFileAtomically(folder.File("run/.lease-2"), "b node7 4711 abcd 3\n").ok());
  const absl::Status taken = claim->Confirm();
  EXPECT_TRUE(IsInUse(taken)) << taken;
  EXPECT_NE(taken.message().find("process 4711 of host node7"), absl::string_view::npos) << taken;
}

}  // namespace
}  // namespace lra
