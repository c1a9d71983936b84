// The flags of `lra train`, which `lra config` explains.
#ifndef LRA_CLI_TRAIN_FLAGS_H_
#define LRA_CLI_TRAIN_FLAGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/command.h"
#include "cli/experiment_flags.h"
#include "train/run.h"

namespace lra {

class TrainFlags {
 public:
  void Add(CLI::App* command);
  // One request a seed, in order.
  absl::StatusOr<std::vector<TrainRequest>> Requests(const CommandContext& context) const;
  int threads() const { return threads_; }

 private:
  TrainRequest MakeRequest(const ResolvedConfig& resolved, uint32_t seed, bool several,
                           const CommandContext& context) const;
  ExperimentFlags experiment_;
  std::string data_dir_, out_dir_, device_ = "cpu", seeds_;
  int threads_ = 0, checkpoint_every_ = 0, keep_checkpoints_ = 1, micro_batch_ = 0;
  double checkpoint_minutes_ = 0;
  uint64_t memory_budget_bytes_ = 0;
  bool resume_ = false;
};

}  // namespace lra

#endif  // LRA_CLI_TRAIN_FLAGS_H_
