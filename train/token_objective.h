// Pretraining: the mean cross-entropy of guessed tokens of the training split's own texts, both of
// pairs, labels unseen (Amos et al., "Never Train from Scratch", 2023).
#ifndef LRA_TRAIN_TOKEN_OBJECTIVE_H_
#define LRA_TRAIN_TOKEN_OBJECTIVE_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "lra/pretrain_budget.h"
#include "models/token_model.h"
#include "train/objective.h"
#include "train/run.h"

namespace lra {

class TokenObjective : public Objective {
 public:
  // With a fresh model on the device of the run's classifier. `run` must outlive it. The errors of
  // TokenModel::Create.
  static absl::StatusOr<std::unique_ptr<TokenObjective>> Create(const Run& run);

  std::string name() const override { return "pretraining"; }
  std::string rate_field() const override { return "pretrain.learning_rate"; }
  int64_t steps() const override { return ends_.back(); }
  bool EndsAt(int64_t step) const override;
  // The run's with pretrain.learning_rate and pretrain.warmup_fraction, over the steps of the
  // smallest budget that has not ended; CONSTANT for STEP.
  Schedule MakeSchedule(int64_t step) const override;
  RandomDomain order() const override { return RandomDomain::kPretrainOrder; }
  const ParameterStore& parameters() const override { return model_->parameters(); }
  bool depends_on_padding() const override { return model_->depends_on_padding(); }
  absl::StatusOr<double> Divisor(const HostBatch& batch, uint32_t step) const override;
  // The first and the second texts of pairs go forward and backward one after the other: memory is
  // that of the longer ones.
  absl::StatusOr<BatchResult> AddShare(const HostBatch& share, double divisor,
                                       int64_t micro_batch_examples,
                                       const ForwardContext& context) const override;
  void VisitActivations(const HostBatch& batch, const ForwardContext& context,
                        const Encoder::ActivationVisitor& visit) const override;
  // Bits per token, and accuracy.
  std::vector<const Metric*> metrics() const override;
  // The entropies in state.pretrain, in bits.
  std::string Reference(const CheckpointState& state) const override;
  Sums TrainingSums(const RunningSums& sums) const override;
  // On the validation split's own texts. MASKED hides the same tokens at every step: which ones
  // depends on (seed, example id, column, token) only. Chooses nothing: the last step is kept.
  absl::Status Validate(int64_t micro_batch_examples, CheckpointState* state,
                        CurvePoint* point) const override;

 private:
  TokenObjective(const Run& run, std::unique_ptr<TokenModel> model)
      : run_(run),
        config_(run.config()),
        model_(std::move(model)),
        ends_(PretrainBudgetSteps(run.config())) {}

  absl::Status ScoreBatch(const HostBatch& batch, int64_t micro_batch_examples,
                          int64_t example_count, ExampleSums* sums) const;

  const Run& run_;
  const ExperimentConfig& config_;
  std::unique_ptr<TokenModel> model_;
  std::vector<int64_t> ends_;  // of the budgets, in steps
};

}  // namespace lra

#endif  // LRA_TRAIN_TOKEN_OBJECTIVE_H_
