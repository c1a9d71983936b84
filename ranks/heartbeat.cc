#include "ranks/heartbeat.h"

#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "torch/csrc/distributed/c10d/Store.hpp"

namespace lra {
namespace {

constexpr std::chrono::milliseconds kBeat{1000};

std::string CountKey(int rank) { return absl::StrCat("lra/beat/", rank); }

std::vector<std::string> CountKeys(size_t ranks) {
  std::vector<std::string> keys;
  for (size_t rank = 0; rank < ranks; ++rank) keys.push_back(CountKey(static_cast<int>(rank)));
  return keys;
}

}  // namespace

void Heartbeat::Announce(int rank, c10d::Store* store) { store->add(CountKey(rank), 0); }

Heartbeat::Heartbeat(c10::intrusive_ptr<c10d::Store> store, int rank,
                     std::vector<std::string> names)
    : store_(std::move(store)),
      rank_(rank),
      names_(std::move(names)),
      keys_(CountKeys(names_.size())),
      counts_(names_.size()),
      changed_(names_.size(), Clock::now()),
      thread_([this] { Beat(); }) {}

Heartbeat::~Heartbeat() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  stopped_.notify_all();
  thread_.join();
}

void Heartbeat::Beat() {
  // Without a store nobody's count changes any more, which is what Silent() tells.
  while (Exchange() && Rest()) {
  }
}

// Waits for the next beat; false when there is none.
bool Heartbeat::Rest() {
  std::unique_lock<std::mutex> lock(mutex_);
  return !stopped_.wait_for(lock, kBeat, [this] { return stop_; });
}

// Counts, and reads all counts; false when the store is gone.
bool Heartbeat::Exchange() {
  try {
    store_->add(keys_[rank_], 1);
    std::vector<std::vector<uint8_t>> counts = store_->multiGet(keys_);
    const std::lock_guard<std::mutex> lock(mutex_);
    for (size_t rank = 0; rank < counts.size(); ++rank) {
      if (counts[rank] != counts_[rank]) changed_[rank] = Clock::now();
    }
    counts_ = std::move(counts);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

std::string Heartbeat::Silent(std::chrono::milliseconds at_least) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const Clock::time_point now = Clock::now();
  if (now - changed_[rank_] >= at_least) return names_[0];  // our own counts do not arrive either
  std::vector<std::string> silent;
  for (size_t rank = 0; rank < names_.size(); ++rank) {
    if (now - changed_[rank] >= at_least) silent.push_back(names_[rank]);
  }
  return absl::StrJoin(silent, ", ");
}

}  // namespace lra
