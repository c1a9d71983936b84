#include "lra/held_lock.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <string>

#include "lra/files.h"
#include "lra/folder_test_util.h"

namespace lra {
namespace {

TEST(IsLockHeld, ThoseWhoLookAreNotItsHolder) {
  const TestFolder folder;
  const std::string path = folder.File("lock");
  EXPECT_FALSE(IsLockHeld(path).value_or(true));
  EXPECT_FALSE(FileExists(path)) << "a look made the file";
  {
    const auto lock = FileLock::Acquire(path);
    ASSERT_TRUE(lock.ok()) << lock.status();
    EXPECT_TRUE(IsLockHeld(path).value_or(false));
  }
  EXPECT_FALSE(IsLockHeld(path).value_or(true)) << "its file remains";
  // What another process does that looks at the same moment.
  const int looking = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(looking, 0);
  EXPECT_EQ(flock(looking, LOCK_SH | LOCK_NB), 0);
  EXPECT_FALSE(IsLockHeld(path).value_or(true));
  close(looking);
  EXPECT_EQ(IsLockHeld(JoinPath(path, "below")).status().code(), absl::StatusCode::kInternal);
}

}  // namespace
}  // namespace lra
