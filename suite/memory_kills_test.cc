#include "suite/memory_kills.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "lra/files.h"
#include "lra/folder_test_util.h"

namespace lra {
namespace {

// A system whose files lie below the folder.
class MemoryKillsTest : public testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) {
    const std::string file = folder_.path() + path;
    ASSERT_TRUE(MakeDirectories(file.substr(0, file.rfind('/'))).ok());
    ASSERT_TRUE(WriteFileAtomically(file, text).ok());
  }
  int64_t Kills() const { return MemoryKills(folder_.path()); }
  const TestFolder folder_;
};

TEST_F(MemoryKillsTest, AreNoneWhereNobodyCounts) {
  EXPECT_EQ(Kills(), 0);
  Write("/proc/self/cgroup", "0::/\n");
  EXPECT_EQ(Kills(), 0);
}

TEST_F(MemoryKillsTest, AreThoseOfTheOwnGroup) {
  Write("/proc/self/cgroup", "0::/slurm/job_12/step_batch\n");
  // A container's own, at its root.
  Write("/sys/fs/cgroup/memory.events", "low 0\nhigh 0\nmax 9\noom 9\noom_kill 5\n");
  EXPECT_EQ(Kills(), 5);
  Write("/sys/fs/cgroup/slurm/job_12/memory.events", "oom 9\noom_kill 3\noom_group_kill 7\n");
  EXPECT_EQ(Kills(), 3);
  Write("/sys/fs/cgroup/slurm/job_12/step_batch/memory.events", "oom 9\noom_kill 0\n");
  EXPECT_EQ(Kills(), 0);
}

TEST_F(MemoryKillsTest, OfTheFirstVersionOfGroupsToo) {
  // Where both versions are there, memory belongs to one of them.
  Write("/proc/self/cgroup", "11:cpu:/a\n9:memory:/slurm/job_12\n0::/\n");
  Write("/sys/fs/cgroup/memory/slurm/job_12/memory.oom_control",
        "oom_kill_disable 8\nunder_oom 9\noom_kill 2\n");
  EXPECT_EQ(Kills(), 2);
}

TEST(JobMemoryBytes, IsWhatSlurmSays) {
  const char* const names[] = {"SLURM_MEM_PER_NODE", "SLURM_MEM_PER_CPU", "SLURM_CPUS_ON_NODE"};
  for (const char* name : names) unsetenv(name);
  EXPECT_EQ(JobMemoryBytes(), 0);
  setenv("SLURM_MEM_PER_CPU", "500", 1);
  setenv("SLURM_CPUS_ON_NODE", "4", 1);
  EXPECT_EQ(JobMemoryBytes(), int64_t{2000} << 20);
  setenv("SLURM_MEM_PER_NODE", "1024", 1);
  EXPECT_EQ(JobMemoryBytes(), int64_t{1} << 30);
  for (const char* name : names) unsetenv(name);
}

}  // namespace
}  // namespace lra
