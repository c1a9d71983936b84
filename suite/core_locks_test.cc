#include "suite/core_locks.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "lra/files.h"
#include "lra/folder_test_util.h"

namespace lra {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Each object stands for a suite. Locks do not ask whether the machine has such cores.
std::shared_ptr<CoreLocks> LocksOf(const std::string& locks, std::vector<int> cores) {
  auto opened = CoreLocks::Open(locks, std::move(cores));
  EXPECT_TRUE(opened.ok()) << opened.status();
  return opened.ok() ? *std::move(opened) : nullptr;
}

std::string RefusalOf(const std::string& locks) {
  const absl::Status status = CoreLocks::Open(locks, {0}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

TEST(CoreLocks, SuitesSideBySideHaveDifferentCores) {
  const TestFolder folder;
  const auto one = LocksOf(folder.File("locks"), {5, 3}),
             other = LocksOf(folder.File("locks"), {5, 3});
  {
    const auto first = one->Take(1);
    ASSERT_TRUE(first.ok()) << first.status();
    EXPECT_THAT(first->cores(), ElementsAre(5));
    const auto second = other->Take(1);
    ASSERT_TRUE(second.ok()) << second.status();
    EXPECT_THAT(second->cores(), ElementsAre(3));
    for (const auto& suite : {one, other}) {
      const absl::Status none = suite->Take(1).status();
      EXPECT_EQ(none.code(), absl::StatusCode::kResourceExhausted);
      EXPECT_THAT(std::string(none.message()), HasSubstr("1 of 2 cores, and 0 are free"));
    }
  }
  const auto both = other->Take(2);
  ASSERT_TRUE(both.ok()) << both.status();
  EXPECT_THAT(both->cores(), ElementsAre(5, 3));
}

// The masks of two processes may differ.
TEST(CoreLocks, OnlyItsOwnCoresCount) {
  const TestFolder folder;
  const auto wide = LocksOf(folder.File("locks"), {0, 1, 2}),
             narrow = LocksOf(folder.File("locks"), {1});
  const auto taken = narrow->Take(1);
  ASSERT_TRUE(taken.ok()) << taken.status();
  EXPECT_THAT(taken->cores(), ElementsAre(1));
  EXPECT_FALSE(narrow->Take(1).ok());
  const auto others = wide->Take(2);
  ASSERT_TRUE(others.ok()) << others.status();
  EXPECT_THAT(others->cores(), ElementsAre(0, 2));
}

TEST(CoreLocks, AllThatAWorkerTakesOrNone) {
  const TestFolder folder;
  const auto one = LocksOf(folder.File("locks"), {0, 1, 2}),
             other = LocksOf(folder.File("locks"), {0, 1, 2});
  const auto two = one->Take(2);
  ASSERT_TRUE(two.ok()) << two.status();
  EXPECT_THAT(std::string(other->Take(2).status().message()),
              HasSubstr("2 of 3 cores, and 1 are free"));
  const auto last = other->Take(1);
  ASSERT_TRUE(last.ok()) << last.status();
  EXPECT_THAT(last->cores(), ElementsAre(2));
}

TEST(CoreLocks, WhoGetsNoneSaysSoOnce) {
  const TestFolder folder;
  const auto suite = LocksOf(folder.File("locks"), {0});
  testing::internal::CaptureStderr();
  const auto held = suite->TakeOrNote(1);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  ASSERT_TRUE(held.has_value());
  EXPECT_THAT(held->cores(), ElementsAre(0));
  testing::internal::CaptureStderr();
  EXPECT_FALSE(suite->TakeOrNote(1).has_value());
  EXPECT_FALSE(suite->TakeOrNote(1).has_value());
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "note: a worker runs unpinned, as others may: it takes 1 of 1 cores, and 0 are free\n");
}

TEST(CoreLocks, AKilledProcessLeavesItsCores) {
  const TestFolder folder;
  const auto suite = LocksOf(folder.File("locks"), {0});
  int holding[2];
  ASSERT_EQ(pipe(holding), 0);
  const pid_t holder = fork();
  if (holder == 0) {
    const auto held = suite->Take(1);
    if (held.ok() && write(holding[1], "x", 1) == 1) pause();
    _exit(1);
  }
  close(holding[1]);
  char said = 0;
  ASSERT_EQ(read(holding[0], &said, 1), 1);
  close(holding[0]);
  EXPECT_EQ(suite->Take(1).status().code(), absl::StatusCode::kResourceExhausted);
  ASSERT_EQ(kill(holder, SIGKILL), 0);
  int end = 0;
  ASSERT_EQ(waitpid(holder, &end, 0), holder);
  EXPECT_TRUE(WIFSIGNALED(end));
  EXPECT_TRUE(suite->Take(1).ok());
}

// A worker that outlives its suite would keep the cores otherwise.
TEST(CoreLocks, WorkersInheritNone) {
  const TestFolder folder;
  const auto suite = LocksOf(folder.File("locks"), {0, 1});
  const auto held = suite->Take(2);
  ASSERT_TRUE(held.ok()) << held.status();
  int found = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string file = std::filesystem::read_symlink(entry.path(), gone).string();
    if (!absl::StrContains(file, folder.File("locks"))) continue;
    ++found;
    EXPECT_EQ(fcntl(std::stoi(entry.path().filename().string()), F_GETFD), FD_CLOEXEC) << file;
  }
  EXPECT_EQ(found, 3);  // the folder and two cores
}

TEST(CoreLocks, TheFolderIsForItsUserAlone) {
  const TestFolder folder;
  LocksOf(folder.File("locks"), {0});
  struct stat made {};
  ASSERT_EQ(stat(folder.File("locks").c_str(), &made), 0);
  EXPECT_EQ(made.st_mode & 07777, 0700U);
  std::filesystem::create_directory_symlink(folder.File("locks"), folder.File("link"));
  EXPECT_THAT(RefusalOf(folder.File("link")), HasSubstr("it must be a folder, and no link"));
  ASSERT_EQ(chmod(folder.File("locks").c_str(), 0750), 0);
  EXPECT_THAT(RefusalOf(folder.File("locks")), HasSubstr("with mode 0750, must be of user"));
  ASSERT_TRUE(WriteFileAtomically(folder.File("file"), "").ok());
  EXPECT_THAT(RefusalOf(folder.File("file")), HasSubstr("file\", cannot be opened"));
  EXPECT_THAT(RefusalOf(folder.File("none/locks")), HasSubstr("cannot be made: No such file"));
  if (geteuid() != 0) return;  // nobody else gives folders away
  ASSERT_TRUE(MakeDirectories(folder.File("theirs")).ok());
  ASSERT_EQ(chmod(folder.File("theirs").c_str(), 0700), 0);
  ASSERT_EQ(chown(folder.File("theirs").c_str(), 1, 1), 0);
  EXPECT_THAT(RefusalOf(folder.File("theirs")), HasSubstr("is of user 1 with mode 0700"));
}

// What is planted in place of a lock file is not followed.
TEST(CoreLocks, ALinkIsNoLock) {
  const TestFolder folder;
  const auto suite = LocksOf(folder.File("locks"), {0});
  std::filesystem::create_symlink(folder.File("elsewhere"), folder.File("locks/core-0"));
  EXPECT_EQ(suite->Take(1).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(FileExists(folder.File("elsewhere")));
}

TEST(CoreLocks, WithoutCoresThereIsNothingToPinTo) {
  const TestFolder folder;
  EXPECT_THAT(std::string(CoreLocks::Open(folder.File("locks"), {}).status().message()),
              HasSubstr("does not say which cores"));
}

// A folder such as /sys/devices/system/cpu.
void WriteSiblings(const TestFolder& cpus, const std::vector<std::string>& lists) {
  for (size_t core = 0; core < lists.size(); ++core) {
    const std::string folder = cpus.File(absl::StrCat("cpu", core, "/topology"));
    ASSERT_TRUE(MakeDirectories(folder).ok());
    ASSERT_TRUE(WriteFileAtomically(JoinPath(folder, "thread_siblings_list"),
                                    absl::StrCat(lists[core], "\n"))
                    .ok());
  }
}

TEST(SiblingsLast, HyperthreadsOfACoreComeApart) {
  const TestFolder near, far;
  WriteSiblings(near, {"0-1", "0-1", "2-3", "2-3"});
  EXPECT_THAT(SiblingsLast({0, 1, 2, 3}, near.path()), ElementsAre(0, 2, 1, 3));
  // The sibling of 1 is none of this process's.
  EXPECT_THAT(SiblingsLast({1, 2, 3}, near.path()), ElementsAre(1, 2, 3));
  WriteSiblings(far, {"0,2", "1,3", "0,2", "1,3"});
  EXPECT_THAT(SiblingsLast({0, 1, 2, 3}, far.path()), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(SiblingsLast({0, 2, 3}, far.path()), ElementsAre(0, 3, 2));
  EXPECT_THAT(SiblingsLast({4, 6}, far.path()), ElementsAre(4, 6));  // nothing is said of them
}

}  // namespace
}  // namespace lra
