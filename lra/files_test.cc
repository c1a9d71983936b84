#include "lra/files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "lra/folder_test_util.h"

namespace lra {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> Names(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// Limits the size of files that this process writes, which looks to a writer like a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_;
  void (*handler_)(int);
};

TEST(FilesTest, WhatIsWrittenIsRead) {
  const TestFolder folder;
  const std::string data("a\0b\n", 4);
  ASSERT_TRUE(WriteFileAtomically(folder.File("x"), data).ok());
  EXPECT_EQ(*ReadFile(folder.File("x")), data);
  EXPECT_EQ(*FileSizeBytes(folder.File("x")), 4);
  ASSERT_TRUE(WriteFileAtomically(folder.File("x"), "").ok());
  EXPECT_EQ(*ReadFile(folder.File("x")), "");
  EXPECT_THAT(Names(folder.path()), ElementsAre("x"));
}

TEST(FilesTest, AMissingFileIsNotFoundAndNamed) {
  const TestFolder folder;
  const absl::Status status = ReadFile(folder.File("none")).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr(folder.File("none")));
  EXPECT_THAT(std::string(status.message()), HasSubstr("No such file"));
  EXPECT_FALSE(FileExists(folder.File("none")));
  EXPECT_EQ(HashFile(folder.File("none")).status().code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(ReadFile(folder.path()).ok());  // a folder is not a file
}

TEST(FilesTest, AFailedWriteLeavesTheOldFileAndNothingElse) {
  const TestFolder folder;
  const std::string path = folder.File("x");
  ASSERT_TRUE(WriteFileAtomically(path, "old").ok());
  absl::Status status;
  {
    const FileSizeLimit limit(100);
    status = WriteFileAtomically(path, std::string(1000, 'n'));
  }
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr(path));
  EXPECT_THAT(std::string(status.message()), HasSubstr("File too large"));
  EXPECT_EQ(*ReadFile(path), "old");
  EXPECT_THAT(Names(folder.path()), ElementsAre("x"));
}

TEST(FilesTest, AnIgnoredWriteErrorStillFailsClose) {
  const TestFolder folder;
  const FileSizeLimit limit(100);
  auto writer = FileWriter::Open(folder.File("x"));
  ASSERT_TRUE(writer.ok());
  EXPECT_FALSE(writer->Write(std::string(2 << 20, 'n')).ok());
  EXPECT_FALSE(writer->Close().ok());
  EXPECT_THAT(Names(folder.path()), IsEmpty());
}

TEST(FilesTest, DevicesAndFoldersAreNotReplaced) {
  const TestFolder folder;
  EXPECT_EQ(WriteFileAtomically("/dev/null", "x").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(WriteFileAtomically(folder.path(), "x").code(), absl::StatusCode::kInvalidArgument);
}

TEST(FilesTest, AWriterIntoAMissingFolderSaysSo) {
  const TestFolder folder;
  const absl::Status status = WriteFileAtomically(folder.File("no/x"), "x");
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("no/x"));
}

TEST(FileWriterTest, HashesAsItWrites) {
  const TestFolder folder;
  auto writer = FileWriter::Open(folder.File("x"));
  ASSERT_TRUE(writer.ok()) << writer.status();
  std::string all;
  for (int i = 0; i < 300; ++i) {
    const std::string piece(10007, static_cast<char>(i));
    all += piece;
    ASSERT_TRUE(writer->Write(piece).ok());
  }
  EXPECT_FALSE(FileExists(folder.File("x")));  // it appears only at Close
  ASSERT_TRUE(writer->Close().ok());
  EXPECT_EQ(writer->size_bytes(), 300 * 10007);
  EXPECT_EQ(writer->digest(), Sha256Of(all));
  EXPECT_EQ(*ReadFile(folder.File("x")), all);
  EXPECT_EQ(*HashFile(folder.File("x")), Sha256Of(all));
}

TEST(FileWriterTest, WriteAtOverwritesAndHashesAnew) {
  const TestFolder folder;
  auto writer = FileWriter::Open(folder.File("x"));
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE(writer->Write("count=????;").ok());
  ASSERT_TRUE(writer->Write("body").ok());
  ASSERT_TRUE(writer->WriteAt(6, "0012").ok());
  ASSERT_TRUE(writer->Write(" more").ok());
  ASSERT_TRUE(writer->Close().ok());
  EXPECT_EQ(*ReadFile(folder.File("x")), "count=0012;body more");
  EXPECT_EQ(writer->digest(), Sha256Of("count=0012;body more"));
}

TEST(FileWriterTest, WithoutCloseNothingStays) {
  const TestFolder folder;
  {
    auto writer = FileWriter::Open(folder.File("x"));
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE(writer->Write("half").ok());
    const std::vector<std::string> names = Names(folder.path());
    ASSERT_EQ(names.size(), 1u);
    EXPECT_TRUE(absl::StartsWith(names[0], absl::StrCat("x.tmp-", getpid(), "-"))) << names[0];
  }
  EXPECT_THAT(Names(folder.path()), IsEmpty());
}

TEST(FileWriterTest, MovingKeepsTheFile) {
  const TestFolder folder;
  std::optional<FileWriter> moved;
  {
    auto writer = FileWriter::Open(folder.File("x"));
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE(writer->Write("ab").ok());
    moved.emplace(*std::move(writer));
  }
  ASSERT_TRUE(moved->Write("c").ok());
  ASSERT_TRUE(moved->Close().ok());
  EXPECT_EQ(*ReadFile(folder.File("x")), "abc");
  EXPECT_EQ(moved->digest(), Sha256Of("abc"));
}

TEST(StagingDirectoryTest, AppearsWholeOrNotAtAll) {
  const TestFolder folder;
  {
    auto dropped = StagingDirectory::Create(folder.File("deep/set"));
    ASSERT_TRUE(dropped.ok()) << dropped.status();
    ASSERT_TRUE(WriteFileAtomically(JoinPath(dropped->path(), "a"), "1").ok());
  }
  EXPECT_THAT(Names(folder.File("deep")), IsEmpty());
  auto staging = StagingDirectory::Create(folder.File("deep/set/./"));
  ASSERT_TRUE(staging.ok()) << staging.status();
  ASSERT_TRUE(WriteFileAtomically(JoinPath(staging->path(), "a"), "1").ok());
  EXPECT_FALSE(FileExists(folder.File("deep/set")));
  ASSERT_TRUE(staging->Commit().ok());
  EXPECT_THAT(Names(folder.File("deep")), ElementsAre("set"));
  EXPECT_EQ(*ReadFile(folder.File("deep/set/a")), "1");
}

TEST(StagingDirectoryTest, AnEmptyTargetIsReplacedAFullOneIsNot) {
  const TestFolder folder;
  ASSERT_TRUE(MakeDirectories(folder.File("set")).ok());
  auto staging = StagingDirectory::Create(folder.File("set"));
  ASSERT_TRUE(staging.ok()) << staging.status();
  ASSERT_TRUE(staging->Commit().ok());

  auto late = StagingDirectory::Create(folder.File("set"));
  ASSERT_TRUE(late.ok());
  ASSERT_TRUE(WriteFileAtomically(folder.File("set/a"), "1").ok());
  EXPECT_EQ(late->Commit().code(), absl::StatusCode::kAlreadyExists);
  const absl::Status status = StagingDirectory::Create(folder.File("set")).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(status.message()), HasSubstr(folder.File("set")));
  EXPECT_EQ(*ReadFile(folder.File("set/a")), "1");
  EXPECT_EQ(StagingDirectory::Create(folder.File("set/a")).status().code(),
            absl::StatusCode::kAlreadyExists);
}

TEST(StagingDirectoryTest, ALinkStaysAndWhatItLeadsToIsFilled) {
  const TestFolder folder;
  ASSERT_TRUE(MakeDirectories(folder.File("disk/empty")).ok());
  for (const char* name : {"empty", "missing"}) {
    const std::string link = folder.File(absl::StrCat(name, "-link"));
    const std::string in_disk = absl::StrCat("disk/", name);
    std::filesystem::create_directory_symlink(in_disk, link);
    for (const bool replace : {false, true}) {
      auto staging = StagingDirectory::Create(link, replace);
      ASSERT_TRUE(staging.ok()) << staging.status();
      ASSERT_TRUE(WriteFileAtomically(JoinPath(staging->path(), replace ? "b" : "a"), "1").ok());
      ASSERT_EQ(staging->Commit(), absl::OkStatus());
      EXPECT_TRUE(std::filesystem::is_symlink(link));
      EXPECT_THAT(Names(folder.File(in_disk)), ElementsAre(replace ? "b" : "a"));
    }
  }
  EXPECT_THAT(Names(folder.File("disk")), ElementsAre("empty", "missing"));
  EXPECT_THAT(Names(folder.path()), ElementsAre("disk", "empty-link", "missing-link"));
}

// Makes a folder with one file, last changed `age_seconds` ago.
void MakeOldFolder(const std::string& path, int age_seconds) {
  ASSERT_TRUE(MakeDirectories(path).ok());
  ASSERT_TRUE(WriteFileAtomically(JoinPath(path, "half"), "x").ok());
  const time_t then = time(nullptr) - age_seconds;
  const timespec times[] = {{then, 0}, {then, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
}

TEST(StagingDirectoryTest, WhatAKilledProcessLeftIsRemoved) {
  const TestFolder folder;
  MakeOldFolder(folder.File("set.tmp-1-0"), 120);
  MakeOldFolder(folder.File("set.tmp-999999-17"), 1000000);
  auto staging = StagingDirectory::Create(folder.File("set/"));
  ASSERT_TRUE(staging.ok()) << staging.status();
  EXPECT_THAT(Names(folder.path()), ElementsAre(staging->path().substr(folder.path().size() + 1)));
}

TEST(StagingDirectoryTest, WhatMayBeInUseOrIsSomethingElseStays) {
  const TestFolder folder;
  MakeOldFolder(folder.File("set.tmp-1-0"), 30);     // made a moment ago
  MakeOldFolder(folder.File("set.tmp-2-0"), -3600);  // written by a machine whose clock is ahead
  MakeOldFolder(folder.File("set.tmp"), 120);        // other names
  MakeOldFolder(folder.File("settle.tmp-1-0"), 120);
  MakeOldFolder(folder.File("my-set.tmp-1-0"), 120);
  for (const char* own : {"backup", "1", "1-", "-1", "1-0-old", "1-0.bak", "2024-05-01"})
    MakeOldFolder(folder.File(absl::StrCat("set.tmp-", own)), 120);  // a user's own
  ASSERT_TRUE(WriteFileAtomically(folder.File("set.tmp-3-0"), "a file").ok());
  MakeOldFolder(folder.File("precious"), 120);
  std::filesystem::create_directory_symlink("precious", folder.File("set.tmp-4-0"));
  // plays another process that holds the folder
  auto held = StagingDirectory::Create(folder.File("set"));
  ASSERT_TRUE(held.ok());
  MakeOldFolder(held->path(), 120);
  const std::vector<std::string> before = Names(folder.path());
  ASSERT_EQ(before.size(), 16u);
  { ASSERT_TRUE(StagingDirectory::Create(folder.File("set")).ok()); }
  EXPECT_EQ(Names(folder.path()), before);
  EXPECT_EQ(*ReadFile(folder.File("precious/half")), "x");
  ASSERT_TRUE(held->Commit().ok());
  EXPECT_EQ(*ReadFile(folder.File("set/half")), "x");
  EXPECT_THAT(Names(folder.File("set")), ElementsAre("half"));  // no lock in it
}

// The holder is killed with SIGKILL, as the kernel does when memory runs out.
TEST(StagingDirectoryTest, AFolderIsFreeWhenItsHolderIsKilled) {
  const TestFolder folder;
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    auto staging = StagingDirectory::Create(folder.File("set"));
    const std::string path = staging->path();
    if (write(ready[1], path.data(), path.size()) < 0) _exit(1);
    while (true) pause();
  }
  char buffer[1000];
  const ssize_t size = read(ready[0], buffer, sizeof(buffer));
  ASSERT_GT(size, 0);
  const std::string path(buffer, static_cast<size_t>(size));
  MakeOldFolder(path, 120);
  { ASSERT_TRUE(StagingDirectory::Create(folder.File("set")).ok()); }
  EXPECT_TRUE(FileExists(path));  // its holder lives
  ASSERT_EQ(kill(child, SIGKILL), 0);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  close(ready[0]);
  close(ready[1]);
  EXPECT_TRUE(FileExists(path));
  { ASSERT_TRUE(StagingDirectory::Create(folder.File("set")).ok()); }
  EXPECT_THAT(Names(folder.path()), IsEmpty());
}

TEST(ReplaceDirectoryTest, TheOldOneIsGoneAndNothingElse) {
  const TestFolder folder;
  MakeOldFolder(folder.File("set"), 0);
  MakeOldFolder(folder.File("set.new-1"), 0);
  ASSERT_TRUE(WriteFileAtomically(folder.File("set.new-1/half"), "new").ok());
  ASSERT_TRUE(WriteFileAtomically(folder.File("set/only-old"), "old").ok());
  ASSERT_TRUE(ReplaceDirectory(folder.File("set.new-1"), folder.File("set")).ok());
  EXPECT_THAT(Names(folder.path()), ElementsAre("set"));
  EXPECT_THAT(Names(folder.File("set")), ElementsAre("half"));
  EXPECT_EQ(*ReadFile(folder.File("set/half")), "new");
}

TEST(ReplaceDirectoryTest, AnErrorLeavesTheOldOne) {
  const TestFolder folder;
  MakeOldFolder(folder.File("set"), 0);
  const absl::Status no_fresh = ReplaceDirectory(folder.File("none"), folder.File("set"));
  EXPECT_EQ(no_fresh.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Names(folder.path()), ElementsAre("set"));
  EXPECT_EQ(*ReadFile(folder.File("set/half")), "x");
  const absl::Status no_old = ReplaceDirectory(folder.File("set"), folder.File("none"));
  EXPECT_EQ(no_old.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(no_old.message()), HasSubstr("none"));
  EXPECT_THAT(Names(folder.path()), IsEmpty());  // the new folder is removed
}

TEST(FileLock, SecondHolderIsRefusedUntilTheFirstIsGone) {
  const TestFolder folder;
  const std::string path = folder.File("lock");
  {
    const auto first = FileLock::Acquire(path);
    ASSERT_TRUE(first.ok()) << first.status();
    EXPECT_EQ(FileLock::Acquire(path).status().code(), absl::StatusCode::kFailedPrecondition);
  }
  EXPECT_TRUE(FileLock::Acquire(path).ok());
}

// A process that still has the removed file open must not keep others from the lock.
TEST(FileLock, OneHolderAtATimeThoughHoldersRemoveTheFile) {
  const TestFolder folder;
  const std::string path = folder.File("lock");
  std::atomic<int> inside{0}, held{0};
  const auto hold_often = [&] {
    while (held < 2000) {
      const auto lock = FileLock::Acquire(path);
      if (!lock.ok()) continue;
      EXPECT_EQ(inside.fetch_add(1), 0);
      ++held;
      inside.fetch_sub(1);
      lock->RemoveFile();
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(hold_often);
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(FileExists(path));
}

// Reading either would not end.
TEST(FilesTest, PipesAndDevicesAreNotRead) {
  const TestFolder folder;
  const std::string pipe = folder.File("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path : {pipe, std::string("/dev/zero")}) {
    const std::string why =
        "cannot read \"" + path + "\": it is a pipe or a device, not a plain file";
    EXPECT_EQ(ReadFile(path).status(), absl::InvalidArgumentError(why));
    EXPECT_EQ(HashFile(path).status(), absl::InvalidArgumentError(why));
  }
}

TEST(FilesTest, LargerFilesThanTheBoundAreNotRead) {
  const TestFolder folder;
  const std::string path = folder.File("ten");
  ASSERT_TRUE(WriteFileAtomically(path, "0123456789").ok());
  EXPECT_EQ(*ReadFile(path, 10), "0123456789");
  EXPECT_EQ(ReadFile(path, 9).status().message(),
            "cannot read \"" + path + "\": it has 10 bytes, at most 9 are read");
}

class TestFolderTest : public testing::TestWithParam<int> {};

// The name of a suite with parameters has a "/".
TEST_P(TestFolderTest, LeavesNoFolderAboveIt) {
  const TestFolder folder;
  EXPECT_EQ(JoinPath(testing::TempDir(), folder.path().substr(folder.path().rfind('/') + 1)),
            folder.path());
}

INSTANTIATE_TEST_SUITE_P(Some, TestFolderTest, testing::Values(1));

}  // namespace
}  // namespace lra
