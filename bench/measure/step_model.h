// The model of a measured step: pre-LN encoder with biases everywhere, learned positions, mean
// pooling, Dense-ReLU-Dense head, dropout; inputs are synthetic and of exact length. The same model
// in eager PyTorch is benchmarks/step/eager_step.py.
#ifndef LRA_BENCH_MEASURE_STEP_MODEL_H_
#define LRA_BENCH_MEASURE_STEP_MODEL_H_

#include <memory>

#include "absl/status/statusor.h"
#include "bench/bench.pb.h"
#include "datasets/host_batch.h"
#include "lra/config.pb.h"
#include "lra/task_spec.pb.h"
#include "models/classifier.h"
#include "train/optimizer.h"

namespace lra {

absl::StatusOr<ExperimentConfig> StepConfig(const BenchRequest& request);
TaskSpec StepTask();
HostBatch StepBatch(const BenchRequest& request);

class StepModel {
 public:
  static absl::StatusOr<std::unique_ptr<StepModel>> Create(const BenchRequest& request);

  // Forward, loss, backward and the update, as the trainer takes them. LibTorch's exceptions pass
  // through, here and below.
  void Train();
  // In evaluation, without gradients.
  void Evaluate() const;
  // The update alone, with the gradients that are there.
  void Update();

  // What every update is made with.
  static constexpr ScheduleValue kSchedule = {.learning_rate = 1e-4, .beta1 = 0.9};
  const ExperimentConfig& config() const { return config_; }
  const Classifier& model() const { return *model_; }
  const HostBatch& batch() const { return batch_; }
  Optimizer& optimizer() { return optimizer_; }
  at::Device device() const { return parameters().device(); }
  const ParameterStore& parameters() const { return model_->parameters(); }

 private:
  StepModel(const ExperimentConfig& config, HostBatch batch, std::unique_ptr<Classifier> model);

  const ExperimentConfig config_;
  const HostBatch batch_;
  const std::unique_ptr<Classifier> model_;
  Optimizer optimizer_;
  at::Tensor labels_;
  uint32_t step_ = 0;
};

}  // namespace lra

#endif  // LRA_BENCH_MEASURE_STEP_MODEL_H_
