#include "bench/measure/repeated_step.h"

#include <ATen/ops/full.h>

#include <utility>

#include "lra/status_macros.h"
#include "models/base/host_copy.h"
#include "train/batch_gradient.h"
#include "train/statistics_before.h"
#include "train/step_graphs.h"

namespace lra {

RepeatedStep::RepeatedStep(StepModel* model, std::unique_ptr<DeviceGraphs> graphs)
    : model_(*model),
      stream_(model->device()),
      graphs_(std::move(graphs)),
      uploads_(model->device()) {}

absl::StatusOr<std::unique_ptr<RepeatedStep>> RepeatedStep::Create(StepModel* model) {
  LRA_ASSIGN_OR_RETURN(std::unique_ptr<DeviceGraphs> graphs, DeviceGraphs::Create(model->device()));
  std::unique_ptr<RepeatedStep> step(new RepeatedStep(model, std::move(graphs)));
  for (int64_t i = 0; i < StepGraphs::kWarmUpSteps; ++i)
    step->Compute(step->uploads_.Move(step->OnHost()));
  const std::vector<at::Tensor> on_host = step->OnHost();
  step->uploads_.Move(on_host);
  step->block_ = step->uploads_.block().clone();
  const std::vector<at::Tensor> inputs = UnpackViews(step->block_, on_host);
  step->graph_ = step->graphs_->Capture([&] { step->Compute(inputs); });
  step->model_.optimizer().CountUpdates(-1);
  return step;
}

void RepeatedStep::Take() {
  uploads_.Move(OnHost());
  block_.copy_(uploads_.block());
  graph_->Replay();
  model_.optimizer().CountUpdates(1);
}

// The batch, then the step and the rates.
std::vector<at::Tensor> RepeatedStep::OnHost() {
  const HostBatch& batch = model_.batch();
  std::vector<at::Tensor> tensors =
      LabelledOnHost(model_.model(), batch, static_cast<double>(batch.batch));
  tensors.push_back(at::full({}, step_++, at::kLong));
  tensors.push_back(model_.optimizer().Rates(StepModel::kSchedule));
  return tensors;
}

void RepeatedStep::Compute(const std::vector<at::Tensor>& inputs) {
  Optimizer& optimizer = model_.optimizer();
  const HostBatch& batch = model_.batch();
  optimizer.ZeroGradients();
  const std::vector<at::Tensor> of_batch(inputs.begin(), inputs.end() - 2);
  const ForwardContext context = {.training = true, .step_on_device = inputs.end()[-2]};
  const StatisticsBefore before(model_.model().parameters());
  const at::Tensor tally =
      AddLabelGradient(model_.model(), batch, of_batch, /*classes=*/0, context);
  optimizer.StepOnDevice(StepModel::kSchedule, tally.select(0, 0), inputs.back(), &before);
}

}  // namespace lra
