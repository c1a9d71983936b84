#include "bench/measure/loading.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/tensor.h>

#include <memory>

#include "bench/measure/passes.h"
#include "bench/measure/timing.h"
#include "datasets/dataset.h"
#include "datasets/loader.h"
#include "datasets/split_view.h"
#include "lra/status_macros.h"
#include "models/base/runtime.h"
#include "models/base/torch_status.h"
#include "models/classifier.h"
#include "train/micro_batch.h"
#include "train/optimizer.h"
#include "train/schedule.h"

namespace lra {
namespace {

constexpr int64_t kWarmUpSteps = 2;

void ReadAlone(const SplitView& split, const LoaderOptions& options, int64_t batches,
               LoadingResult* result) {
  TrainLoader loader(split, options, {});
  for (; result->batches < batches; ++result->batches) {
    HostBatch batch;
    result->reading_seconds += SecondsOf([&] { batch = loader.Next(); });
    result->tokens += CountTokens(batch);
    result->padded_tokens += batch.batch * (batch.length + batch.length_b);
  }
}

void TakeSteps(const SplitView& split, const LoaderOptions& options, const ExperimentConfig& config,
               const Classifier& model, int64_t steps, LoadingResult* result) {
  TrainLoader loader(split, options, {});
  Optimizer optimizer(config.optimizer(), model.parameters());
  int64_t faults = 0;
  for (int64_t step = -kWarmUpSteps; step < steps; ++step) {
    if (step == 0) faults = PageFaults();
    double waiting = 0;
    const double whole = SecondsOf([&] {
      HostBatch batch;
      waiting = SecondsOf([&] { batch = loader.Next(); });
      optimizer.ZeroGradients();
      const at::Tensor logits = model.Forward(
          batch, {.training = true, .step = static_cast<uint32_t>(step + kWarmUpSteps)});
      at::cross_entropy_loss(logits, at::tensor(batch.labels, at::kInt).to(at::kLong)).backward();
      optimizer.Step({.learning_rate = 1e-5, .beta1 = config.optimizer().beta1()});
    });
    if (step < 0) continue;
    ++result->steps;
    result->step_seconds += whole;
    result->waiting_seconds += waiting;
  }
  if (steps > 0)
    result->page_faults = static_cast<double>(PageFaults() - faults) / static_cast<double>(steps);
}

}  // namespace

absl::StatusOr<LoadingResult> MeasureLoading(const TrainRequest& request, int64_t batches,
                                             int64_t steps) {
  const ExperimentConfig& config = request.resolved.config;
  LRA_RETURN_IF_ERROR(StartRuntime(request.runtime.threads(), request.runtime.kernels()));
  LRA_ASSIGN_OR_RETURN(const Dataset data, Dataset::Open(request.runtime.data_dir(), {}));
  LRA_ASSIGN_OR_RETURN(const SplitView split, SplitView::Create(data, "train", config.view()));
  const LoaderOptions options = MakeLoaderOptions(config.train(), config.seed());
  LoadingResult result;
  ReadAlone(split, options, batches, &result);
  if (steps < 1) return result;
  LRA_ASSIGN_OR_RETURN(const std::unique_ptr<Classifier> model,
                       Classifier::Create(config, split.spec()));
  LRA_RETURN_IF_ERROR(CatchTorch([&] {
    TakeSteps(split, options, config, *model, steps, &result);
    return absl::OkStatus();
  }));
  return result;
}

}  // namespace lra
