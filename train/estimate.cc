#include "train/estimate.h"

#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <vector>

#include "absl/strings/str_cat.h"
#include "datasets/loader.h"
#include "eval/machine.h"
#include "lra/progress.h"
#include "lra/status_macros.h"
#include "models/torch_status.h"
#include "train/micro_batch.h"

namespace lra {
namespace {

// MemAvailable of /proc/meminfo; 0 where the system does not tell.
int64_t AvailableMemoryBytes() {
  std::ifstream file("/proc/meminfo");
  std::string key, unit;
  int64_t kilobytes = 0;
  while (file >> key >> kilobytes) {
    if (key == "MemAvailable:") return kilobytes * 1024;
    std::getline(file, unit);
  }
  return 0;
}

using Plan = std::vector<std::vector<int64_t>>;

double Seconds(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Forward and backward as in training; the gradients are thrown away.
absl::StatusOr<double> ProbeTraining(const Run& run, const std::vector<int64_t>& examples) {
  const auto begin = std::chrono::steady_clock::now();
  const HostBatch batch = MakeBatch(run.train, examples);
  LRA_RETURN_IF_ERROR(CatchTorch([&] {
    for (const HostBatch& part : SplitBatch(batch, run.request.runtime.micro_batch_examples(),
                                            run.model->depends_on_padding())) {
      run.model->Forward(part, {.training = true, .updates_statistics = false}).sum().backward();
    }
    run.optimizer->ZeroGradients();
    return absl::OkStatus();
  }));
  return Seconds(begin);
}

absl::StatusOr<double> ProbeForward(const Run& run, const std::vector<int64_t>& examples) {
  const auto begin = std::chrono::steady_clock::now();
  LRA_RETURN_IF_ERROR(CatchTorch([&] {
    c10::NoGradGuard no_grad;
    run.model->Forward(MakeBatch(run.train, examples), {});
    return absl::OkStatus();
  }));
  return Seconds(begin);
}

int64_t PaddedLength(const SplitView& split, const std::vector<int64_t>& examples) {
  int64_t longest = 0;
  for (int64_t example : examples)
    longest = std::max<int64_t>(longest, split.length_tokens(example));
  return longest;
}

// Batches of the first epoch by padded length; a short last batch is no measure of the others.
Plan BatchesByLength(const Run& run) {
  const TrainConfig& train = run.config().train();
  Plan plan = PlanEpoch(run.train, MakeLoaderOptions(train, run.config().seed()), 0);
  const size_t full = std::min<size_t>(train.batch_examples(), run.train.size());
  std::erase_if(plan, [&](const auto& batch) { return batch.size() < full; });
  std::stable_sort(plan.begin(), plan.end(), [&](const auto& a, const auto& b) {
    return PaddedLength(run.train, a) < PaddedLength(run.train, b);
  });
  return plan;
}

// Forward passes of all validations, and of test (taken as large as validation) at the end, in
// batches.
double EvaluationBatches(const Run& run) {
  const TrainConfig& train = run.config().train();
  const double all = static_cast<double>(run.validation.size());
  const double looked_at =
      train.validation_examples() > 0 ? std::min<double>(train.validation_examples(), all) : all;
  const double looks = std::max(1, train.steps() / train.eval_every_steps());
  return (looks * looked_at + 3 * all) / train.batch_examples();
}

}  // namespace

absl::StatusOr<RunEstimate> EstimateRun(const Run& run) {
  const Plan plan = BatchesByLength(run);
  RunEstimate estimate;
  estimate.steps = run.config().train().steps();
  estimate.parameters = run.model->parameters().count();
  LRA_RETURN_IF_ERROR(ProbeTraining(run, plan.back()).status());
  estimate.peak_memory_bytes = PeakMemoryBytes();
  estimate.available_memory_bytes = AvailableMemoryBytes();
  double forward_seconds = 0;
  for (const size_t quarter : {1, 2, 3}) {
    const auto& examples = plan[plan.size() * quarter / 4];
    LRA_ASSIGN_OR_RETURN(const double training, ProbeTraining(run, examples));
    LRA_ASSIGN_OR_RETURN(const double forward, ProbeForward(run, examples));
    estimate.step_seconds += training / 3;
    forward_seconds += forward / 3;
  }
  estimate.total_seconds =
      estimate.steps * estimate.step_seconds + EvaluationBatches(run) * forward_seconds;
  return estimate;
}

std::string DescribeEstimate(const RunEstimate& estimate) {
  return absl::StrCat(
      "estimate: ", FormatCount(estimate.parameters), " parameters, ", FormatCount(estimate.steps),
      " steps of ", FormatSeconds(estimate.step_seconds), ", about ",
      FormatSeconds(estimate.total_seconds), " with validation and test; peak memory about ",
      FormatBytes(estimate.peak_memory_bytes), " (", FormatBytes(estimate.available_memory_bytes),
      " more available)");
}

}  // namespace lra
