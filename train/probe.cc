#include "train/probe.h"

#include <c10/core/GradMode.h>

#include <algorithm>
#include <chrono>

#include "datasets/loader.h"
#include "lra/seconds.h"
#include "lra/status_macros.h"
#include "models/base/device_work.h"
#include "models/base/torch_status.h"
#include "train/interruption.h"

namespace lra {
namespace {

constexpr size_t kQuantiles = 5, kMaxRounds = 15;
constexpr double kRoundsSeconds = 1;

int64_t PaddedLength(const SplitView& split, const std::vector<int64_t>& examples) {
  int64_t longest = 0;
  for (int64_t example : examples)
    longest = std::max<int64_t>(longest, split.longest_tokens(example));
  return longest;
}

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

BatchPlan BatchesByLength(const Run& run, RandomDomain order) {
  const TrainConfig& train = run.config().train();
  BatchPlan plan = PlanEpoch(run.train, MakeLoaderOptions(train, run.config().seed(), order), 0);
  const size_t full = std::min<size_t>(train.batch_examples(), run.train.size());
  std::erase_if(plan, [&](const auto& batch) { return batch.size() < full; });
  std::stable_sort(plan.begin(), plan.end(), [&](const auto& a, const auto& b) {
    return PaddedLength(run.train, a) < PaddedLength(run.train, b);
  });
  return plan;
}

absl::StatusOr<double> ProbeTraining(const Run& run, const Stage& stage,
                                     const std::vector<int64_t>& examples,
                                     int64_t micro_batch_examples) {
  const auto begin = std::chrono::steady_clock::now();
  const HostBatch batch = MakeBatch(run.train, examples);
  absl::StatusOr<BatchResult> result = stage.objective->AddGradient(
      batch, micro_batch_examples, {.training = true, .updates_statistics = false});
  stage.optimizer->ZeroGradients();
  LRA_RETURN_IF_ERROR(result.status());
  LRA_RETURN_IF_ERROR(CatchTorch([&] {
    result->Read();  // waits for a device
    return absl::OkStatus();
  }));
  return SecondsSince(begin);
}

absl::StatusOr<double> ProbeForward(const Run& run, const SplitView& split,
                                    const std::vector<int64_t>& examples) {
  const auto begin = std::chrono::steady_clock::now();
  LRA_RETURN_IF_ERROR(CatchTorch([&] {
    c10::NoGradGuard no_grad;
    run.model->Forward(MakeBatch(split, examples), {});
    WaitFor(run.model->parameters().device());
    return absl::OkStatus();
  }));
  return SecondsSince(begin);
}

absl::StatusOr<double> MeanProbe(
    const BatchPlan& by_length,
    absl::FunctionRef<absl::StatusOr<double>(const std::vector<int64_t>&)> probe) {
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::vector<double>> seconds(kQuantiles);
  for (size_t round = 0; round < kMaxRounds; ++round) {
    if (round > 0 && SecondsSince(begin) > kRoundsSeconds) break;
    for (size_t q = 0; q < kQuantiles; ++q) {
      if (StopRequested()) return absl::CancelledError("stopped while steps were measured");
      const size_t batch = by_length.size() * (2 * q + 1) / (2 * kQuantiles);
      LRA_ASSIGN_OR_RETURN(const double one, probe(by_length[batch]));
      seconds[q].push_back(one);
    }
  }
  double sum = 0;
  for (const std::vector<double>& of_batch : seconds) sum += Median(of_batch);
  return sum / kQuantiles;
}

}  // namespace lra
