#include "tasks/join.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "datasets/dataset.h"
#include "datasets/manifest.h"
#include "datasets/mapped_split.h"
#include "lra/check.h"
#include "lra/files.h"
#include "lra/parallel.h"
#include "lra/progress.h"
#include "lra/status_macros.h"
#include "lra/textproto.h"
#include "tasks/dataset_builder.h"
#include "tasks/task.h"

namespace lra {
namespace {

constexpr int64_t kJoinedAtOnce = 256;
// Far more attempts than any example has ever needed.
constexpr uint32_t kMaxDraws = 1u << 22;

// The parts of a manifest that all parts must agree on. Which program made one is no matter: the
// task's version and options say what its examples are.
Manifest HeadOf(Manifest manifest) {
  manifest.clear_splits();
  manifest.clear_duplicates();
  manifest.clear_shared_documents();
  manifest.clear_part();
  manifest.clear_program();
  return manifest;
}

absl::Status CheckAgreement(const Dataset& first, const Dataset& other) {
  if (!other.manifest().has_part()) {
    return absl::InvalidArgumentError(
        absl::StrCat(other.directory(), " is no part: it was made without --shard"));
  }
  const bool same =
      ToTextProto(HeadOf(first.manifest())) == ToTextProto(HeadOf(other.manifest())) &&
      first.manifest().part().parts() == other.manifest().part().parts();
  if (same) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(other.directory(), " and ", first.directory(),
                   " are parts of different data (task, options, seed or number of parts)"));
}

// Opens all parts and puts them in order.
absl::StatusOr<std::vector<Dataset>> OpenParts(const JoinOptions& options) {
  if (options.parts.empty()) return absl::InvalidArgumentError("no parts are given");
  std::map<int, Dataset> by_index;
  for (const std::string& directory : options.parts) {
    LRA_ASSIGN_OR_RETURN(
        Dataset part, Dataset::Open(directory, {.allow_part = true, .threads = options.threads}));
    LRA_RETURN_IF_ERROR(CheckAgreement(by_index.empty() ? part : by_index.begin()->second, part));
    const int index = part.manifest().part().index();
    const auto [at, inserted] = by_index.try_emplace(index, part);
    if (!inserted) {
      return absl::InvalidArgumentError(
          absl::StrCat(directory, " and ", at->second.directory(), " are both part ", index));
    }
  }
  const int parts = by_index.begin()->second.manifest().part().parts();
  std::vector<int> missing;
  std::vector<Dataset> ordered;
  for (int i = 0; i < parts; ++i) {
    const auto it = by_index.find(i);
    if (it == by_index.end()) {
      missing.push_back(i);
    } else {
      ordered.push_back(it->second);
    }
  }
  if (missing.empty()) return ordered;
  return absl::InvalidArgumentError(absl::StrCat(
      "of ", parts, " parts (counted from 0) these are missing: ", absl::StrJoin(missing, ", ")));
}

// Adds stored examples again, in the order of the whole data set.
class Joiner {
 public:
  Joiner(const Task& task, const Manifest& head, int threads, DatasetBuilder* builder)
      : task_(task), head_(head), threads_(threads), builder_(builder) {}

  // Adds the stored examples as examples `first`, `first` + 1, ... of split number `split`.
  absl::Status Add(const internal::MappedSplit& stored, int split, int64_t first,
                   Progress* progress) {
    int64_t next = 0;
    using Batch = std::pair<int64_t, int64_t>;
    return OrderedPipeline<Batch, std::vector<HashedExample>>(
        ResolveThreads(threads_),
        [&]() -> absl::StatusOr<std::optional<Batch>> {
          if (next == stored.examples) return std::nullopt;
          const int64_t begin = next;
          next = std::min(next + kJoinedAtOnce, stored.examples);
          return Batch{begin, next};
        },
        [&](Batch batch) { return Read(stored, split, batch); },
        [&](std::vector<HashedExample> items) -> absl::Status {
          for (HashedExample& item : items) {
            LRA_RETURN_IF_ERROR(AddOne(static_cast<uint32_t>(first++), std::move(item)));
          }
          progress->Update(builder_->examples());
          return absl::OkStatus();
        });
  }

 private:
  absl::StatusOr<std::vector<HashedExample>> Read(const internal::MappedSplit& stored, int split,
                                                  std::pair<int64_t, int64_t> batch) const {
    ExampleHasher hasher(PromptPlace(head_.extra_columns()));
    std::vector<HashedExample> items(batch.second - batch.first);
    for (size_t i = 0; i < items.size(); ++i) {
      HashedExample& item = items[i];
      item.split = split;
      item.example = stored.Read(batch.first + static_cast<int64_t>(i));
      const StoredExample view{item.example.tokens, item.example.tokens_b, item.example.extra};
      if (task_.HasOracle("generated")) {
        const absl::StatusOr<std::optional<int32_t>> label = task_.OracleLabel(view);
        item.example.is_ambiguous = label.ok() && !label->has_value();
      }
      item.digest = hasher.Hash(head_.spec(), item.example);
    }
    return items;
  }

  absl::Status AddOne(uint32_t index, HashedExample item) {
    if (!builder_->Contains(item.digest.input)) return builder_->Add(item);
    // The attempt that made the example is not stored, so it is searched for again by its input.
    ExampleHasher hasher;
    for (uint32_t attempt = 0; attempt < kMaxDraws; ++attempt) {
      LRA_ASSIGN_OR_RETURN(
          const EncodedExample made,
          task_.Generate(head_.seed(), static_cast<uint32_t>(item.split), index, &attempt));
      if (hasher.Hash(head_.spec(), made).input != item.digest.input) continue;
      return AddGenerated(task_, head_.seed(), index, attempt, std::move(item), builder_);
    }
    return absl::DataLossError(absl::StrCat("example ", index, " of split number ", item.split,
                                            " is not what the seed and the options make"));
  }

  const Task& task_;
  const Manifest& head_;
  const int threads_;
  DatasetBuilder* const builder_;
};

absl::StatusOr<Manifest> Fill(const std::vector<Dataset>& parts, const Task& task,
                              absl::string_view directory, const JoinOptions& options) {
  const Manifest head = HeadOf(parts.front().manifest());
  const std::vector<SplitSize> splits = task.Splits();
  int64_t total = 0;
  for (const SplitSize& split : splits) total += split.examples;
  Progress progress({.label = absl::StrCat("join ", head.spec().name()),
                     .unit = "examples",
                     .total = total,
                     .quiet = options.quiet});
  DatasetBuilder builder(directory, head, splits);
  Joiner joiner(task, head, options.threads, &builder);
  // The splits are joined one after the other, as `prepare` makes them.
  for (size_t s = 0; s < splits.size(); ++s) {
    for (const Dataset& part : parts) {
      const internal::MappedSplit* stored = part.split(splits[s].name);
      const ExampleRange range = PartRanges(splits, part.manifest().part())[s];
      if (stored == nullptr || stored->examples != range.last - range.first) {
        return absl::DataLossError(absl::StrCat(part.directory(), ": split ", splits[s].name,
                                                " has not the ", range.last - range.first,
                                                " examples of its part"));
      }
      LRA_RETURN_IF_ERROR(joiner.Add(*stored, static_cast<int>(s), range.first, &progress));
    }
  }
  LRA_ASSIGN_OR_RETURN(Manifest manifest, builder.Finish());
  progress.Finish();
  return manifest;
}

}  // namespace

absl::StatusOr<Manifest> JoinParts(const JoinOptions& options) {
  if (options.out.empty()) return absl::InvalidArgumentError("no output folder given");
  LRA_ASSIGN_OR_RETURN(const std::vector<Dataset> parts, OpenParts(options));
  const Dataset& first = parts.front();
  LRA_RETURN_IF_ERROR(CheckDataOfTask(first.directory(), first.spec().name()));
  LRA_ASSIGN_OR_RETURN(const std::unique_ptr<Task> task, TaskOf(first.manifest()));
  LRA_ASSIGN_OR_RETURN(StagingDirectory staging, StagingDirectory::Create(options.out));
  LRA_ASSIGN_OR_RETURN(Manifest manifest, Fill(parts, *task, staging.path(), options));
  LRA_RETURN_IF_ERROR(staging.Commit());
  return manifest;
}

}  // namespace lra
