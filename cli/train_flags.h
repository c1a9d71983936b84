// The flags of `lra train`, which `lra config` explains.
#ifndef LRA_CLI_TRAIN_FLAGS_H_
#define LRA_CLI_TRAIN_FLAGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "cli/command.h"
#include "train/request.h"

namespace lra {

class TrainFlags {
 public:
  // The object must outlive the parsing of `command`.
  void Add(CLI::App* command, CommandContext* context);
  // What the flags ask for.
  TrainChoice Choice(const CommandContext& context) const;
  // Whether --task or --attention is a list ("text,image"), so that a suite is asked for.
  bool is_list() const;
  // Seeds that train side by side.
  int at_once() const { return at_once_; }
  // The flags that a suite passes on to each of its runs.
  std::vector<std::string> PassedOn(const CommandContext& context) const;

 private:
  ExperimentChoice experiment_;
  std::string data_dir_, out_dir_, device_ = "cpu", seeds_, from_, init_from_, graphs_ = "auto";
  int threads_ = 0, at_once_ = 1, checkpoint_every_ = 0, keep_checkpoints_ = 1, micro_batch_ = 0;
  // The most that a run loses whose process is killed between two validations.
  double checkpoint_minutes_ = 10;
  uint64_t memory_budget_bytes_ = 0;
  bool resume_ = false, no_last_ = false, half_logits_ = false, exact_reduction_ = false;
};

}  // namespace lra

#endif  // LRA_CLI_TRAIN_FLAGS_H_
