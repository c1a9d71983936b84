#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "datasets/manifest.h"
#include "lra/parallel.h"
#include "lra/status_macros.h"
#include "tasks/dataset_builder.h"

namespace lra {
namespace {

// Large enough that the pipeline's own cost does not matter, small enough that slow examples
// (Pathfinder's take up to a second) spread over the threads.
constexpr int64_t kGeneratedAtOnce = 64;

// After this many duplicates in a row for one example, hardly any new inputs are left.
constexpr int kMaxDuplicates = 100'000;

struct Made {
  HashedExample item;
  uint32_t index = 0;
  uint32_t attempt = 0;
};

// Cuts ranges of examples into batches.
class BatchSource {
 public:
  explicit BatchSource(std::vector<ExampleRange> ranges) : ranges_(std::move(ranges)) {}

  std::optional<ExampleRange> Next() {
    while (range_ < ranges_.size() && ranges_[range_].first == ranges_[range_].last) ++range_;
    if (range_ == ranges_.size()) return std::nullopt;
    ExampleRange& left = ranges_[range_];
    const int64_t end = std::min(left.first + kGeneratedAtOnce, left.last);
    return ExampleRange{left.split, std::exchange(left.first, end), end};
  }

 private:
  std::vector<ExampleRange> ranges_;
  size_t range_ = 0;
};

class Maker {
 public:
  Maker(const Task& task, uint32_t seed)
      : task_(task),
        spec_(task.Spec()),
        prompt_place_(PromptPlace(task.ExtraColumns())),
        seed_(seed) {}

  ExampleHasher Hasher() const { return ExampleHasher(prompt_place_); }

  absl::Status Make(Made* made, ExampleHasher* hasher) const {
    LRA_ASSIGN_OR_RETURN(made->item.example,
                         task_.Generate(seed_, static_cast<uint32_t>(made->item.split), made->index,
                                        &made->attempt));
    LRA_RETURN_IF_ERROR(CheckExample(spec_, made->item.example));
    made->item.digest = hasher->Hash(spec_, made->item.example);
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<Made>> MakeBatch(const ExampleRange& batch) const {
    ExampleHasher hasher = Hasher();
    std::vector<Made> made(batch.last - batch.first);
    for (size_t i = 0; i < made.size(); ++i) {
      made[i].item.split = batch.split;
      made[i].index = static_cast<uint32_t>(batch.first + static_cast<int64_t>(i));
      LRA_RETURN_IF_ERROR(Make(&made[i], &hasher));
    }
    return made;
  }

 private:
  const Task& task_;
  const TaskSpec spec_;
  const int64_t prompt_place_;
  const uint32_t seed_;
};

}  // namespace

std::vector<ExampleRange> PartRanges(const std::vector<SplitSize>& splits, const DataPart& part) {
  const int64_t parts = std::max(part.parts(), 1);
  std::vector<ExampleRange> ranges;
  for (size_t i = 0; i < splits.size(); ++i) {
    ranges.push_back({static_cast<int>(i), part.index() * splits[i].examples / parts,
                      (part.index() + 1) * splits[i].examples / parts});
  }
  return ranges;
}

// Called in a fixed order, so that every machine treats the same one of two equal examples as the
// duplicate.
absl::Status AddGenerated(const Task& task, uint32_t seed, uint32_t index, uint32_t attempt,
                          HashedExample item, DatasetBuilder* builder) {
  if (!builder->Contains(item.digest.input)) return builder->Add(item);
  const Maker maker(task, seed);
  ExampleHasher hasher = maker.Hasher();
  Made next{std::move(item), index, attempt};
  for (int tries = 0; tries < kMaxDuplicates; ++tries) {
    ++next.attempt;
    LRA_RETURN_IF_ERROR(maker.Make(&next, &hasher));
    if (!builder->Contains(next.item.digest.input)) return builder->Add(next.item);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "example ", index, " of split ", task.Splits()[next.item.split].name, ": ", kMaxDuplicates,
      " attempts in a row gave inputs that are there already; the options leave too few different "
      "ones: ask for fewer examples"));
}

absl::Status GenerateInto(const Task& task, uint32_t seed, const std::vector<ExampleRange>& ranges,
                          int threads, Progress* progress, DatasetBuilder* builder) {
  const Maker maker(task, seed);
  BatchSource batches(ranges);
  return OrderedPipeline<ExampleRange, std::vector<Made>>(
      ResolveThreads(threads),
      [&]() -> absl::StatusOr<std::optional<ExampleRange>> { return batches.Next(); },
      [&](const ExampleRange& batch) { return maker.MakeBatch(batch); },
      [&](std::vector<Made> made) -> absl::Status {
        for (Made& next : made) {
          LRA_RETURN_IF_ERROR(
              AddGenerated(task, seed, next.index, next.attempt, std::move(next.item), builder));
        }
        progress->Update(builder->examples());
        return absl::OkStatus();
      });
}

}  // namespace lra
