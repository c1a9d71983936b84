// Training with labels, or with tokens as labels (view.target=NEXT): the mean cross-entropy of the
// run's classifier, judged by validation.
#ifndef LRA_TRAIN_LABEL_OBJECTIVE_H_
#define LRA_TRAIN_LABEL_OBJECTIVE_H_

#include <string>
#include <vector>

#include "train/objective.h"
#include "train/run.h"

namespace lra {

class LabelObjective : public Objective, private WholeBatchWork {
 public:
  // `run` must outlive it.
  explicit LabelObjective(const Run& run) : run_(run) {}

  std::string name() const override { return "training"; }
  std::string rate_field() const override { return "schedule.learning_rate"; }
  int64_t steps() const override { return run_.config().train().steps(); }
  Schedule MakeSchedule(int64_t step) const override;
  const ParameterStore& parameters() const override { return run_.model->parameters(); }
  bool depends_on_padding() const override { return run_.model->depends_on_padding(); }
  absl::StatusOr<double> Divisor(const HostBatch& batch, uint32_t step) const override;
  absl::StatusOr<BatchResult> AddShare(const HostBatch& share, double divisor,
                                       int64_t micro_batch_examples,
                                       const ForwardContext& context) const override;
  const WholeBatchWork* whole_batch_work() const override { return this; }
  int64_t counted_classes() const override {
    return guesses_tokens() ? 0 : run_.train.spec().classes();
  }
  void VisitActivations(const HostBatch& batch, const ForwardContext& context,
                        const Encoder::ActivationVisitor& visit) const override;
  // The task's; and accuracy, which the doctor compares with the majority class.
  std::vector<const Metric*> metrics() const override;
  Sums TrainingSums(const RunningSums& sums) const override;
  // Counts the best step, evaluations without gain, the plateau schedule's reductions and the early
  // stop. A whole batch goes forward at once, as when the run is scored.
  absl::Status Validate(int64_t micro_batch_examples, CheckpointState* state,
                        CurvePoint* point) const override;
  bool is_tested() const override { return true; }
  // That of FIXED_STEP.
  int64_t kept_step() const override;

 private:
  // Before the weights are judged: their batch norms' statistics. Done twice, it changes nothing
  // more.
  absl::Status SettleStatistics() const;
  HostBatch Shaped(HostBatch batch) const override;
  std::vector<at::Tensor> OnHost(const HostBatch& batch, double divisor) const override;
  BatchResult Known(const HostBatch& batch) const override;
  at::Tensor AddGradientOf(const HostBatch& batch, const std::vector<at::Tensor>& moved,
                           const ForwardContext& context) const override;
  bool guesses_tokens() const { return run_.train.spec().guesses_tokens(); }
  void CountGain(double value, CheckpointState* state) const;

  const Run& run_;
};

// The stage of run->model, run->optimizer and run->state in the run's own folder.
Stage LabelStage(const LabelObjective& objective, Run* run);

}  // namespace lra

#endif  // LRA_TRAIN_LABEL_OBJECTIVE_H_
