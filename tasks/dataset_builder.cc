#include "tasks/dataset_builder.h"

#include <algorithm>
#include <utility>

#include "datasets/manifest.h"
#include "lra/status_macros.h"
#include "lra/version.h"

namespace lra {

DatasetBuilder::DatasetBuilder(absl::string_view directory, const Manifest& head,
                               const std::vector<SplitSize>& splits)
    : directory_(directory),
      manifest_(head),
      keys_(splits.size(), SplitKeys(head.spec().is_pair())) {
  manifest_.set_program("lra " LRA_VERSION);
  writers_.reserve(splits.size());
  for (const SplitSize& split : splits) writers_.emplace_back(directory, split.name, head);
}

absl::Status DatasetBuilder::Add(const HashedExample& item) {
  keys_[item.split].Add(item.digest);
  if (manifest_.origin() == "generated") inputs_.insert(ToInputKey(item.digest.input));
  ++examples_;
  return writers_[item.split].Add(item.example, item.digest.example);
}

void DatasetBuilder::SetSources(std::vector<ManifestSource> sources) {
  // The order in which a source holds its files is no property of the data, so it is sorted away.
  std::sort(sources.begin(), sources.end(),
            [](const ManifestSource& a, const ManifestSource& b) { return a.name() < b.name(); });
  manifest_.mutable_sources()->Assign(sources.begin(), sources.end());
}

void DatasetBuilder::SetSkipped(const std::vector<SkippedExamples>& skipped) {
  manifest_.mutable_skipped()->Assign(skipped.begin(), skipped.end());
}

absl::StatusOr<Manifest> DatasetBuilder::Finish() {
  for (SplitWriter& writer : writers_) {
    LRA_ASSIGN_OR_RETURN(*manifest_.add_splits(), writer.Finish());
  }
  CountLeakage(std::move(keys_), &manifest_);
  LRA_RETURN_IF_ERROR(WriteManifest(directory_, manifest_));
  return manifest_;
}

}  // namespace lra
