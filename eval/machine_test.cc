#include "eval/machine.h"

#include <gtest/gtest.h>

#include <vector>

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
}

}  // namespace
}  // namespace lra
