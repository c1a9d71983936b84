#include "eval/machine.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "lra/files.h"
#include "lra/folder_test_util.h"
#include "lra/parallel.h"
#include "lra/version.h"

namespace lra {
namespace {

TEST(MachineTest, DescribesThisMachine) {
  const Machine machine = DescribeMachine();
  EXPECT_GE(machine.cores(), 1);
  EXPECT_FALSE(machine.system().empty());
#ifdef __linux__
  EXPECT_GT(machine.memory_bytes(), int64_t{1} << 28);
#endif
}

// A suite's worker that is pinned to one core runs on the same machine as one that is not.
TEST(MachineTest, APinnedWorkerHasTheCoresOfItsSuite) {
  const int here = DescribeMachine().cores();
  if (here < 2) GTEST_SKIP() << "one core: a pinned worker has what its suite has";
  cpu_set_t all, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  CPU_ZERO(&one);
  CPU_SET(AllowedCores().front(), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(DescribeMachine().cores(), 1);
  ASSERT_EQ(setenv(kSuiteCores, "2", /*overwrite=*/1), 0);
  EXPECT_EQ(DescribeMachine().cores(), 2);
  for (const char* nothing : {"", "0", "many"}) {
    ASSERT_EQ(setenv(kSuiteCores, nothing, /*overwrite=*/1), 0);
    EXPECT_EQ(DescribeMachine().cores(), 1) << nothing;
  }
  // No machine has more than it has.
  ASSERT_EQ(setenv(kSuiteCores, "99999", /*overwrite=*/1), 0);
  EXPECT_EQ(DescribeMachine().cores(), sysconf(_SC_NPROCESSORS_ONLN));
  unsetenv(kSuiteCores);
  ASSERT_EQ(sched_setaffinity(0, sizeof all, &all), 0);
}

// A machine of 4 GiB; its files lie below the folder.
class MemoryLimitTest : public testing::Test {
 protected:
  void SetUp() override { Write("/proc/meminfo", "MemTotal:        4194304 kB\nMemFree: 1 kB\n"); }
  void Write(const std::string& path, const std::string& text) {
    const std::string file = folder_.path() + path;
    ASSERT_TRUE(MakeDirectories(file.substr(0, file.rfind('/'))).ok());
    ASSERT_TRUE(WriteFileAtomically(file, text).ok());
  }
  int64_t Limit() const { return MemoryLimitBytes(folder_.path()); }
  TestFolder folder_;
  static constexpr int64_t kMachine = int64_t{4} << 30;
};

TEST_F(MemoryLimitTest, IsTheMachinesWithoutGroups) { EXPECT_EQ(Limit(), kMachine); }

TEST_F(MemoryLimitTest, IsTheLeastOfTheGroupsAround) {
  Write("/proc/self/cgroup", "0::/job.slice/step\n");
  Write("/sys/fs/cgroup/job.slice/step/memory.max", "max\n");
  EXPECT_EQ(Limit(), kMachine);
  Write("/sys/fs/cgroup/job.slice/memory.max", "1000000000\n");
  EXPECT_EQ(Limit(), 1000000000);
  Write("/sys/fs/cgroup/memory.max", "900000000\n");  // a container's own, at its root
  EXPECT_EQ(Limit(), 900000000);
}

TEST_F(MemoryLimitTest, ReadsTheFirstVersionOfGroupsToo) {
  Write("/proc/self/cgroup", "11:cpu:/a\n9:memory:/job\n");
  Write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(Limit(), kMachine);
  Write("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "2000000000\n");
  EXPECT_EQ(Limit(), 2000000000);
}

TEST(MachineTest, AvailableMemoryIsWithinTheLimit) {
  if (MemoryLimitBytes() == 0) GTEST_SKIP() << "the system does not tell";
  EXPECT_GT(AvailableMemoryBytes(), 0);
  EXPECT_LE(AvailableMemoryBytes(), MemoryLimitBytes());
}

TEST(MachineTest, PeakMemoryGrowsByWhatIsTouched) {
  const int64_t before = PeakMemoryBytes();
  if (before == 0) GTEST_SKIP() << "the system does not tell";
  constexpr int64_t kBytes = int64_t{256} << 20;
  const std::vector<char> touched(kBytes, 1);
  EXPECT_EQ(touched[kBytes - 1], 1);
  EXPECT_GE(PeakMemoryBytes(), before + kBytes / 2);
  EXPECT_LT(PeakMemoryBytes(), before + 2 * kBytes);
}

TEST(MachineTest, Versions) {
  const Versions versions = RunVersions("2.15.0");
  EXPECT_EQ(versions.lra(), LRA_VERSION);
  EXPECT_EQ(versions.libtorch(), "2.15.0");
  EXPECT_FALSE(versions.compiler().empty());
  EXPECT_EQ(versions.commit(), "") << "no main() of a test sets it";
  ProgramCommit() = "abc-dirty";
  EXPECT_EQ(RunVersions("").commit(), "abc-dirty");
  ProgramCommit().clear();
}

}  // namespace
}  // namespace lra
