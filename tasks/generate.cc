#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lra/parallel.h"
#include "lra/status_macros.h"
#include "tasks/dataset_builder.h"

namespace lra {
namespace {

// Enough work a batch that the pipeline's own cost does not show.
constexpr int64_t kBatchExamples = 256;

struct Batch {
  int split = 0;
  int64_t begin = 0, end = 0;
};

struct Made {
  HashedExample item;
  uint32_t index = 0;
  uint32_t attempt = 0;
};

// All batches, split by split.
class BatchSource {
 public:
  explicit BatchSource(std::vector<SplitSize> splits) : splits_(std::move(splits)) {}

  std::optional<Batch> Next() {
    while (split_ < splits_.size() && begin_ == splits_[split_].examples) {
      ++split_;
      begin_ = 0;
    }
    if (split_ == splits_.size()) return std::nullopt;
    const int64_t end = std::min(begin_ + kBatchExamples, splits_[split_].examples);
    return Batch{static_cast<int>(split_), std::exchange(begin_, end), end};
  }

 private:
  const std::vector<SplitSize> splits_;
  size_t split_ = 0;
  int64_t begin_ = 0;
};

class Maker {
 public:
  Maker(const Task& task, uint32_t seed) : task_(task), spec_(task.Spec()), seed_(seed) {}

  absl::Status Make(Made* made, ExampleHasher* hasher) const {
    LRA_ASSIGN_OR_RETURN(made->item.example,
                         task_.Generate(seed_, static_cast<uint32_t>(made->item.split), made->index,
                                        &made->attempt));
    LRA_RETURN_IF_ERROR(CheckExample(spec_, made->item.example));
    made->item.digest = hasher->Hash(spec_, made->item.example);
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<Made>> MakeBatch(const Batch& batch) const {
    ExampleHasher hasher;
    std::vector<Made> made(batch.end - batch.begin);
    for (size_t i = 0; i < made.size(); ++i) {
      made[i].item.split = batch.split;
      made[i].index = static_cast<uint32_t>(batch.begin + static_cast<int64_t>(i));
      LRA_RETURN_IF_ERROR(Make(&made[i], &hasher));
    }
    return made;
  }

 private:
  const Task& task_;
  const TaskSpec spec_;
  const uint32_t seed_;
};

}  // namespace

absl::Status GenerateInto(const Task& task, uint32_t seed, int threads, Progress* progress,
                          DatasetBuilder* builder) {
  const Maker maker(task, seed);
  BatchSource batches(task.Splits());
  ExampleHasher hasher;
  return OrderedPipeline<Batch, std::vector<Made>>(
      ResolveThreads(threads),
      [&]() -> absl::StatusOr<std::optional<Batch>> { return batches.Next(); },
      [&](const Batch& batch) { return maker.MakeBatch(batch); },
      [&](std::vector<Made> made) -> absl::Status {
        for (Made& next : made) {
          // Here, where the order is fixed, so that the later of two equal examples is the same on
          // every machine.
          while (builder->Contains(next.item.digest.input)) {
            ++next.attempt;
            LRA_RETURN_IF_ERROR(maker.Make(&next, &hasher));
          }
          LRA_RETURN_IF_ERROR(builder->Add(next.item));
        }
        progress->Update(builder->examples());
        return absl::OkStatus();
      });
}

}  // namespace lra
