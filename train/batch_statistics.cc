#include "train/batch_statistics.h"

#include <c10/core/GradMode.h>

#include <algorithm>
#include <vector>

#include "datasets/loader.h"
#include "lra/random.h"
#include "models/base/torch_status.h"

namespace lra {

absl::Status MeasureBatchStatistics(const Classifier& model, const SplitView& split, uint32_t seed,
                                    int64_t batch_examples) {
  static const RandomDomain domain("batch_statistics");
  const std::vector<int64_t> order = Permutation(split.size(), RandomStream(seed, domain, {}));
  // A smaller last batch would have the same say as the others.
  const int64_t batches = std::clamp<int64_t>(split.size() / batch_examples, 1, kMeasuredBatches);
  const c10::NoGradGuard no_gradient;
  return CatchTorch([&] {
    for (int64_t i = 0; i < batches; ++i) {
      const auto first = order.begin() + i * batch_examples;
      const auto last = order.begin() + std::min((i + 1) * batch_examples, split.size());
      model.Forward(MakeBatch(split, {first, last}),
                    {.measured_share = 1.0 / static_cast<double>(i + 1)});
    }
    return absl::OkStatus();
  });
}

}  // namespace lra
