#include "eval/energy.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "lra/files.h"
#include "lra/folder_test_util.h"

namespace lra {
namespace {

// A machine whose files lie below the folder.
class EnergyTest : public testing::Test {
 protected:
  void SetZone(const std::string& zone, int64_t microjoules) {
    const std::string folder = absl::StrCat(folder_.path(), "/sys/class/powercap/", zone);
    ASSERT_TRUE(MakeDirectories(folder).ok());
    ASSERT_TRUE(WriteFileAtomically(folder + "/max_energy_range_uj", "1000000000\n").ok());
    ASSERT_TRUE(WriteFileAtomically(folder + "/energy_uj", absl::StrCat(microjoules, "\n")).ok());
  }
  TestFolder folder_;
};

TEST_F(EnergyTest, IsNotKnownWithoutCounters) {
  EXPECT_FALSE(EnergyMeter(folder_.path()).Joules());
  SetZone("intel-rapl", 0);         // the control type
  SetZone("intel-rapl:0:0", 5);     // a part
  SetZone("intel-rapl-mmio:0", 5);  // the same package
  EXPECT_FALSE(EnergyMeter(folder_.path()).Joules());
}

TEST_F(EnergyTest, AddsPackagesFromTheBeginning) {
  SetZone("intel-rapl:0", 7000000);
  SetZone("intel-rapl:0:0", 1000000);
  SetZone("intel-rapl:1", 100000000);
  EnergyMeter meter(folder_.path());
  EXPECT_EQ(meter.Joules(), 0);
  SetZone("intel-rapl:0", 9500000);
  SetZone("intel-rapl:0:0", 99000000);
  EXPECT_EQ(meter.Joules(), 2.5);
  SetZone("intel-rapl:1", 110000000);
  EXPECT_EQ(meter.Joules(), 12.5);
}

TEST_F(EnergyTest, ACounterThatWrappedAroundGoesOn) {
  SetZone("intel-rapl:0", 999000000);
  EnergyMeter meter(folder_.path());
  SetZone("intel-rapl:0", 2000000);
  EXPECT_EQ(meter.Joules(), 3);
}

TEST_F(EnergyTest, ACounterThatCannotBeReadMakesTheSumUnknown) {
  SetZone("intel-rapl:0", 1);
  SetZone("intel-rapl:1", 1);
  const std::string second = folder_.path() + "/sys/class/powercap/intel-rapl:1/energy_uj";
  EnergyMeter meter(folder_.path());
  EXPECT_EQ(meter.Joules(), 0);
  ASSERT_TRUE(WriteFileAtomically(second, "denied\n").ok());
  EXPECT_FALSE(meter.Joules());
  EXPECT_FALSE(EnergyMeter(folder_.path()).Joules());
}

}  // namespace
}  // namespace lra
