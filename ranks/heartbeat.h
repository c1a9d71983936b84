// Tells a rank that is slow from one that is gone.
#ifndef LRA_RANKS_HEARTBEAT_H_
#define LRA_RANKS_HEARTBEAT_H_

#include <c10/util/intrusive_ptr.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace c10d {
class Store;
}  // namespace c10d

namespace lra {

// A thread that counts in the ranks' store, once a second, and reads the others' counts, all at
// once, since one process answers every rank. Training may keep a rank busy for as long as it likes
// without a call to the others; its thread still counts.
class Heartbeat {
 public:
  // Makes the rank's count. All ranks' must be there before the first Heartbeat, since the store
  // waits for what is not. Throws what the store does.
  static void Announce(int rank, c10d::Store* store);

  // `store` must not be used by anyone else, and must be a TCPStore, a HashStore or a PrefixStore
  // of these, which can read many keys. `names` says for each rank where it runs.
  Heartbeat(c10::intrusive_ptr<c10d::Store> store, int rank, std::vector<std::string> names);
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;

  // Names the ranks that did not count for so long, as "rank 1 (host, process 17)"; empty if all
  // did. When the store itself does not answer, that is its keeper's, rank 0's.
  std::string Silent(std::chrono::milliseconds at_least) const;

 private:
  using Clock = std::chrono::steady_clock;

  void Beat();
  bool Exchange();
  bool Rest();

  const c10::intrusive_ptr<c10d::Store> store_;
  const int rank_;
  const std::vector<std::string> names_;
  const std::vector<std::string> keys_;
  mutable std::mutex mutex_;
  std::condition_variable stopped_;
  bool stop_ = false;
  std::vector<std::vector<uint8_t>> counts_;  // as the store has them
  std::vector<Clock::time_point> changed_;
  std::thread thread_;
};

}  // namespace lra

#endif  // LRA_RANKS_HEARTBEAT_H_
