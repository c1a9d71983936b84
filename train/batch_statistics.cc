#include "train/batch_statistics.h"

#include <c10/core/GradMode.h>

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "datasets/loader.h"
#include "lra/random.h"
#include "models/base/torch_status.h"

namespace lra {
namespace {

constexpr int64_t kMostBatches = 32;

// A smaller last batch would have the same say as the others.
int64_t Batches(int64_t split_examples, int64_t batch_examples) {
  return std::clamp<int64_t>(split_examples / batch_examples, 1, kMostBatches);
}

}  // namespace

int64_t MeasuredBatches(const ExperimentConfig& config, int64_t split_examples) {
  const bool is_measured = config.evaluation().batch_statistics() == EvaluationConfig::PRECISE;
  if (!is_measured || !DependsOnBatch(config)) return 0;
  return Batches(split_examples, config.train().batch_examples());
}

absl::Status MeasureBatchStatistics(const Classifier& model, const SplitView& split, uint32_t seed,
                                    int64_t batch_examples,
                                    const std::function<bool()>& should_stop) {
  static const RandomDomain domain("batch_statistics");
  const std::vector<int64_t> order = Permutation(split.size(), RandomStream(seed, domain, {}));
  const int64_t batches = Batches(split.size(), batch_examples);
  const c10::NoGradGuard no_gradient;
  return CatchTorch([&] {
    for (int64_t i = 0; i < batches; ++i) {
      if (should_stop && should_stop())
        return absl::CancelledError(absl::StrCat("stopped after ", i, " of ", batches,
                                                 " batches for the statistics of batch norms"));
      const auto first = order.begin() + i * batch_examples;
      const auto last = order.begin() + std::min((i + 1) * batch_examples, split.size());
      model.Forward(MakeBatch(split, {first, last}),
                    {.measured_share = 1.0 / static_cast<double>(i + 1)});
    }
    return absl::OkStatus();
  });
}

}  // namespace lra
