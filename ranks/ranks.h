// The processes that train one run together ("ranks", numbered from 0), and what they tell each
// other: LibTorch's c10d with Gloo, over TCP.
//
// Every rank must make the same calls in the same order, and each call waits for all. A rank that
// dies ends the others' calls with Unavailable: at once when its process ends, because its
// connections close, and after half a minute when it, its machine or its network is silent.
#ifndef LRA_RANKS_RANKS_H_
#define LRA_RANKS_RANKS_H_

#include <ATen/core/Tensor.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ranks/launch.h"

namespace lra {

class Ranks {
 public:
  // A process that is alone: nothing of what follows waits or changes anything.
  Ranks();
  // Meets the others, and waits for them as long as `patience`: then Unavailable, naming the
  // address.
  static absl::StatusOr<std::shared_ptr<Ranks>> Join(
      const Launch& launch, std::chrono::milliseconds patience = std::chrono::minutes(5));
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  int rank() const { return launch_.rank; }
  int size() const { return launch_.size; }
  // Whether this is rank 0, the only one that writes files.
  bool is_first() const { return rank() == 0; }
  bool is_alone() const { return size() == 1; }
  const Launch& launch() const { return launch_; }
  // How many ranks share their cards (Launch::cards) where most do: rank 0 plans memory for all.
  int card_sharers() const { return card_sharers_; }

  // Tensors below are contiguous, on the CPU, and of one shape and type everywhere.
  // Adds up all ranks' values, in place; of several tensors, at the same time. All get the same
  // bits, which depend on their number.
  absl::Status Sum(const std::vector<at::Tensor>& values);
  // All ranks' values, in order: [size, ...].
  absl::StatusOr<at::Tensor> Gather(const at::Tensor& values);
  // Replaces the values by rank 0's.
  absl::Status Share(at::Tensor values);
  // Rank 0's bytes, of any length.
  absl::StatusOr<std::string> Share(std::string bytes);
  // OK if all are: else this rank's own error, or the lowest other rank's, with its number.
  absl::Status Agree(const absl::Status& mine);
  // Says that this rank has nothing more to do, and waits for the others to say so.
  absl::Status Leave();

 private:
  class Group;
  Ranks(const Launch& launch, std::unique_ptr<Group> group);
  absl::Status CountCardSharers();

  Launch launch_;
  int card_sharers_ = 1;
  std::unique_ptr<Group> group_;  // null when alone
};

}  // namespace lra

#endif  // LRA_RANKS_RANKS_H_
