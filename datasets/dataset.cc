#include "datasets/dataset.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "datasets/manifest.h"
#include "datasets/mapped_split.h"
#include "datasets/split_rule.h"
#include "datasets/view.h"
#include "lra/parallel.h"
#include "lra/status_macros.h"
#include "lra/suggest.h"

namespace lra {
namespace {

// What to do where "train", "validation" or "test" is not stored.
std::string InsteadOfSplit(const Manifest& manifest, absl::string_view name,
                           absl::string_view directory) {
  const std::string stored =
      StoredSplit(manifest, ResolveSplitRule(manifest, DataView()).value(), name);
  if (FindSplit(manifest, stored) == nullptr) return HowToMake(manifest.spec().name(), directory);
  return absl::StrCat(name, " is cut from ", stored, " by the view: --split ", stored,
                      " shows what is stored, lra data export what a run reads");
}

absl::StatusOr<std::vector<const ManifestSplit*>> ChooseSplits(
    const Manifest& manifest, const std::vector<std::string>& names, absl::string_view directory) {
  std::vector<const ManifestSplit*> chosen;
  std::vector<std::string> known;
  for (const ManifestSplit& split : manifest.splits()) {
    known.push_back(split.name());
    if (names.empty()) chosen.push_back(&split);
  }
  for (const std::string& name : names) {
    const ManifestSplit* split = FindSplit(manifest, name);
    if (split == nullptr) {
      if (!IsSplitName(name)) return UnknownNameError("split", name, known);
      return absl::NotFoundError(absl::StrCat(directory, " has no split \"", name, "\"; it has ",
                                              absl::StrJoin(known, ", "), "; ",
                                              InsteadOfSplit(manifest, name, directory)));
    }
    chosen.push_back(split);
  }
  return chosen;
}

// The stored splits that the view's splits are made from. A vocabulary of code points needs the
// training texts as well.
absl::StatusOr<std::vector<std::string>> StoredSplits(const Manifest& manifest,
                                                      const OpenOptions& options) {
  if (options.view == nullptr) return options.splits;
  LRA_ASSIGN_OR_RETURN(const DataView view, ResolveView(manifest, *options.view));
  std::vector<std::string> wanted = options.splits, stored;
  if (view.unit() == DataView::CODE_POINT) wanted.push_back("train");
  for (const std::string& split : wanted) {
    const std::string name = StoredSplit(manifest, view.split(), split);
    if (std::find(stored.begin(), stored.end(), name) == stored.end()) stored.push_back(name);
  }
  return stored;
}

absl::Status CheckWhole(const Manifest& manifest, absl::string_view directory,
                        const OpenOptions& options) {
  if (!manifest.has_part() || options.allow_part) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(directory, " holds part ", manifest.part().index(), " of ",
                   manifest.part().parts(), " (counted from 0) of ", manifest.spec().name(),
                   "; put all parts together with: lra data join"));
}

// Opens all shards of the chosen splits in parallel, since hashing is most of the work.
absl::StatusOr<std::vector<internal::MappedSplit>> OpenSplits(
    absl::string_view directory, const Manifest& manifest,
    const std::vector<const ManifestSplit*>& chosen, const OpenOptions& options) {
  std::vector<internal::MappedSplit> opened(chosen.size());
  std::vector<std::pair<int, int>> shards;  // pairs (split, shard)
  for (size_t i = 0; i < chosen.size(); ++i) {
    opened[i].name = chosen[i]->name();
    opened[i].examples = chosen[i]->examples();
    opened[i].shards.resize(chosen[i]->shards_size());
    for (int j = 0; j < chosen[i]->shards_size(); ++j) shards.emplace_back(i, j);
  }
  LRA_RETURN_IF_ERROR(
      ParallelFor(ResolveThreads(options.threads), shards.size(), [&](int64_t i) -> absl::Status {
        const auto [split, shard] = shards[i];
        LRA_ASSIGN_OR_RETURN(
            opened[split].shards[shard],
            internal::OpenShard(directory, manifest, *chosen[split], shard, options.check_hashes));
        return absl::OkStatus();
      }));
  for (internal::MappedSplit& split : opened) {
    int64_t first = 0;
    for (internal::MappedShard& shard : split.shards) {
      shard.first = first;
      first += shard.examples;
    }
  }
  return opened;
}

}  // namespace

absl::StatusOr<Dataset> Dataset::Open(absl::string_view directory, const OpenOptions& options) {
  LRA_ASSIGN_OR_RETURN(Manifest manifest, ReadManifest(directory));
  Dataset data;
  data.directory_ = std::string(directory);
  data.threads_ = options.threads;
  data.manifest_ = std::make_shared<const Manifest>(std::move(manifest));
  LRA_RETURN_IF_ERROR(CheckWhole(*data.manifest_, directory, options));
  LRA_ASSIGN_OR_RETURN(const std::vector<std::string> stored,
                       StoredSplits(*data.manifest_, options));
  LRA_ASSIGN_OR_RETURN(const std::vector<const ManifestSplit*> chosen,
                       ChooseSplits(*data.manifest_, stored, directory));
  LRA_ASSIGN_OR_RETURN(std::vector<internal::MappedSplit> opened,
                       OpenSplits(directory, *data.manifest_, chosen, options));
  for (internal::MappedSplit& split : opened) {
    data.splits_.push_back(std::make_shared<const internal::MappedSplit>(std::move(split)));
  }
  return data;
}

const internal::MappedSplit* Dataset::split(absl::string_view name) const {
  for (const auto& split : splits_) {
    if (split->name == name) return split.get();
  }
  return nullptr;
}

}  // namespace lra
