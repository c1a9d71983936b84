#include "ranks/heartbeat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "torch/csrc/distributed/c10d/HashStore.hpp"

namespace lra {
namespace {

using ::testing::ElementsAre;
using Clock = std::chrono::steady_clock;

// Writes down what it is asked. Rank 1 counts before each look.
class WatchedStore : public c10d::HashStore {
 public:
  int64_t add(const std::string& key, int64_t value) override {
    Note(absl::StrCat("add ", value, " to ", key));
    return c10d::HashStore::add(key, value);
  }

  std::vector<std::vector<uint8_t>> multiGet(const std::vector<std::string>& keys) override {
    Note(absl::StrCat("get ", keys.size(), " keys"));
    c10d::HashStore::add(keys[1], 1);
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      looks_.push_back(Clock::now());
    }
    looked_.notify_all();
    return c10d::HashStore::multiGet(keys);
  }

  // When the look of this number, from 1 on, began; waits for it.
  Clock::time_point AwaitLook(size_t number) {
    std::unique_lock<std::mutex> lock(mutex_);
    const bool is_there =
        looked_.wait_for(lock, std::chrono::seconds(60), [&] { return looks_.size() >= number; });
    EXPECT_TRUE(is_there) << "only " << looks_.size() << " looks";
    return is_there ? looks_[number - 1] : Clock::now();
  }

  std::vector<std::string> FirstNotes(size_t count) {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::vector<std::string> first = notes_;
    first.resize(std::min(count, first.size()));
    return first;
  }

 private:
  void Note(const std::string& what) {
    const std::lock_guard<std::mutex> lock(mutex_);
    notes_.push_back(what);
  }

  std::mutex mutex_;
  std::condition_variable looked_;
  std::vector<std::string> notes_;
  std::vector<Clock::time_point> looks_;
};

TEST(Heartbeat, CountsAndReadsAllCountsAtOnce) {
  const auto store = c10::make_intrusive<WatchedStore>();
  for (int rank = 0; rank < 3; ++rank) Heartbeat::Announce(rank, store.get());
  Heartbeat heartbeat(store, 0, {"rank 0", "rank 1", "rank 2"});
  const Clock::time_point second = store->AwaitLook(2);
  store->AwaitLook(4);
  // Rank 2 has not counted since before the second look. The others counted a second after it.
  const auto since = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - second);
  EXPECT_EQ(heartbeat.Silent(since), "rank 2");
  EXPECT_THAT(store->FirstNotes(7), ElementsAre("add 0 to lra/beat/0", "add 0 to lra/beat/1",
                                                "add 0 to lra/beat/2", "add 1 to lra/beat/0",
                                                "get 3 keys", "add 1 to lra/beat/0", "get 3 keys"));
}

}  // namespace
}  // namespace lra
