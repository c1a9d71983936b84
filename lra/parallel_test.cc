#include "lra/parallel.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lra/random.h"

namespace lra {
namespace {

// Makes the work uneven: the time depends on the item's number, so that threads overtake each
// other.
void Dawdle(int item) { std::this_thread::sleep_for(std::chrono::microseconds((item * 37) % 200)); }

absl::Status RunPipeline(int threads, int items, std::string* out, int bad_item = -1,
                         int worse_item = -1) {
  int next = 0;
  return OrderedPipeline<int, std::string>(
      threads,
      [&]() -> absl::StatusOr<std::optional<int>> {
        if (next == items) return std::nullopt;
        return next++;
      },
      [&](int item) -> absl::StatusOr<std::string> {
        // The failure of the later item happens first.
        Dawdle(item == bad_item ? 199 : item == worse_item ? 0 : item);
        if (item == bad_item || item == worse_item) {
          return absl::DataLossError(absl::StrCat("item ", item));
        }
        return absl::StrCat(
            item, ":", RandomStream(7, RandomDomain::kTest, {uint32_t(item), 0, 0}).Next32(), ";");
      },
      [&](std::string text) {
        *out += text;
        return absl::OkStatus();
      });
}

TEST(OrderedPipelineTest, BytesDoNotDependOnTheNumberOfThreads) {
  std::string serial;
  ASSERT_TRUE(RunPipeline(1, 500, &serial).ok());
  EXPECT_EQ(serial.substr(0, 2), "0:");
  for (int threads : {2, 8}) {
    std::string parallel;
    ASSERT_TRUE(RunPipeline(threads, 500, &parallel).ok());
    EXPECT_EQ(parallel, serial) << threads << " threads";
  }
}

TEST(OrderedPipelineTest, TheLowestErrorWinsAndWhatCameBeforeIsCommitted) {
  std::string before;
  ASSERT_TRUE(RunPipeline(1, 100, &before).ok());
  for (int threads : {1, 2, 8}) {
    std::string out;
    const absl::Status status = RunPipeline(threads, 500, &out, 100, 103);
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
    EXPECT_EQ(status.message(), "item 100") << threads << " threads";
    EXPECT_EQ(out, before) << threads << " threads";
  }
}

TEST(OrderedPipelineTest, AProducersErrorTravelsBehindTheItemsBeforeIt) {
  for (int threads : {1, 2, 8}) {
    int next = 0, sum = 0;
    const absl::Status status = OrderedPipeline<int, int>(
        threads,
        [&]() -> absl::StatusOr<std::optional<int>> {
          if (next == 10) return absl::InternalError("row 10 is torn");
          return next++;
        },
        [](int item) -> absl::StatusOr<int> {
          Dawdle(item);
          return item;
        },
        [&](int item) {
          sum += item;
          return absl::OkStatus();
        });
    EXPECT_EQ(status.message(), "row 10 is torn");
    EXPECT_EQ(sum, 45);
  }
}

TEST(OrderedPipelineTest, ACommitErrorEndsTheWork) {
  int next = 0, commits = 0;
  const absl::Status status = OrderedPipeline<int, int>(
      2, [&]() -> absl::StatusOr<std::optional<int>> { return next++; },
      [](int item) -> absl::StatusOr<int> { return item; },
      [&](int item) {
        ++commits;
        return item == 5 ? absl::ResourceExhaustedError("disk full") : absl::OkStatus();
      });
  EXPECT_EQ(status.message(), "disk full");
  EXPECT_EQ(commits, 6);
  EXPECT_LT(next, 100);  // an endless producer is stopped
}

TEST(ParallelForTest, VisitsEveryIndexOnce) {
  for (int threads : {1, 2, 8}) {
    std::vector<std::atomic<int>> visits(1000);
    ASSERT_TRUE(ParallelFor(threads, 1000, [&](int64_t i) {
                  ++visits[i];
                  return absl::OkStatus();
                }).ok());
    for (const auto& count : visits) ASSERT_EQ(count, 1);
  }
}

TEST(ParallelForTest, TheLowestFailingIndexIsReported) {
  for (int threads : {1, 2, 8}) {
    for (int repeat = 0; repeat < 20; ++repeat) {
      const absl::Status status = ParallelFor(threads, 1000, [](int64_t i) {
        return i % 300 == 299 ? absl::InternalError(absl::StrCat(i)) : absl::OkStatus();
      });
      EXPECT_EQ(status.message(), "299");
    }
  }
}

TEST(ThreadsTest, ZeroMeansAllAndAtLeastOne) {
  EXPECT_GE(AvailableCores(), 1);
  EXPECT_LE(AvailableCores(), static_cast<int>(std::thread::hardware_concurrency()));
  EXPECT_EQ(ResolveThreads(0), AvailableCores());
  EXPECT_EQ(ResolveThreads(3), 3);
  EXPECT_EQ(MaxThreads(), 16 * AvailableCores());
}

TEST(ThreadsTest, AllowedCoresAreThoseOfTheAffinity) {
  const std::vector<int> all = AllowedCores();
  ASSERT_GE(all.size(), static_cast<size_t>(AvailableCores()));
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end()));
  // A thread's affinity ends with the thread.
  std::thread([last = all.back()] {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    if (last >= CPU_SETSIZE) return;
    CPU_SET(last, &mask);
    ASSERT_EQ(sched_setaffinity(0, sizeof mask, &mask), 0);
    EXPECT_EQ(AllowedCores(), std::vector<int>{last});
  }).join();
  EXPECT_EQ(AllowedCores(), all);
}

}  // namespace
}  // namespace lra
