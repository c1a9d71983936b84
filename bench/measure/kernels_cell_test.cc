// The kernels of a step on the fake device, in a process of its own: LibTorch's autograd knows no
// device that comes up after its first backward.
#include "bench/measure/kernels_cell.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "bench/choices.h"
#include "bench/measure/measure.h"

namespace lra {
namespace {

// The fake device has no kernels, so operators of the host stand there.
TEST(KernelsCell, AStepOnADeviceHasKernels) {
  BenchRequest request = *SizedRequest("small");
  request.set_mode(BenchRequest::TRAINING);
  request.set_attention("cosformer");
  request.set_tokens(48);
  request.set_batch(2);
  request.set_threads(1);
  request.set_passes(1);
  request.set_device("fake");
  request.set_profiles(true);
  const BenchResult result = MeasureCell(request);
  ASSERT_EQ(result.outcome(), BenchResult::MEASURED) << result.reason();
  EXPECT_TRUE(result.pieces().empty());
  const BenchDeviceProfile& profile = result.device_profile();
  EXPECT_TRUE(profile.are_host_operators());
  EXPECT_GT(profile.busy_seconds(), 0);
  EXPECT_LE(profile.busy_seconds(), profile.step_seconds());
  double all_seconds = 0;
  std::map<std::string, double> calls;
  for (const BenchKernel& kernel : profile.kernels()) {
    all_seconds += kernel.seconds();
    calls[kernel.name()] = kernel.calls();
  }
  EXPECT_GT(all_seconds, 0);
  EXPECT_EQ(calls["aten::embedding"], 1);
  EXPECT_EQ(calls["aten::embedding_backward"], 1);
}

}  // namespace
}  // namespace lra
