#include "lra/cpu_time.h"

#include <gtest/gtest.h>
#include <time.h>

#include <chrono>
#include <thread>
#include <vector>

namespace lra {
namespace {

// By the calling thread's own clock.
double ThreadCpuSeconds() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

TEST(CpuTimeTest, IsThatOfAllThreadsAndOfTheEndedOnes) {
  const double begin = ProcessCpuSeconds();
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([] {
      while (ThreadCpuSeconds() < 0.1) {
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(ProcessCpuSeconds() - begin, 0.19);
}

TEST(CpuTimeTest, WaitingCostsNone) {
  const double begin = ProcessCpuSeconds();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_LT(ProcessCpuSeconds() - begin, 0.1);
}

}  // namespace
}  // namespace lra
