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

// Pins this process to one core and returns how many its machine then has, where its suite says so
// many. The number of cores is read once, so a test runs it in a process of its own.
int CoresOfPinned(const char* suite_cores) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(AllowedCores().front(), &one);
  if (sched_setaffinity(0, sizeof one, &one) != 0) return -1;
  setenv(kSuiteCores, suite_cores, /*overwrite=*/1);
  return DescribeMachine().cores();
}

// A suite's worker that is pinned to one core runs on the same machine as one that is not.
TEST(MachineDeathTest, APinnedWorkerHasTheCoresOfItsSuite) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto online = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  if (online < 2) GTEST_SKIP() << "one core: a pinned worker has what its suite has";
  EXPECT_EXIT(std::exit(CoresOfPinned("2")), testing::ExitedWithCode(2), "");
  for (const char* nothing : {"", "0", "many"})
    EXPECT_EXIT(std::exit(CoresOfPinned(nothing)), testing::ExitedWithCode(1), "") << nothing;
  // No machine has more than it has.
  EXPECT_EXIT(std::exit(CoresOfPinned("99999")), testing::ExitedWithCode(online), "");
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
