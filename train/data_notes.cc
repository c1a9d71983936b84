#include "train/data_notes.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "datasets/manifest.h"
#include "datasets/split_rule.h"
#include "lra/progress.h"
#include "train/request.h"

namespace lra {
namespace {

// 0 where the data does not serve the view.
int64_t TestExamples(const Manifest& manifest, const DataView& view) {
  const absl::StatusOr<DataView::Split> rule = ResolveSplitRule(manifest, view);
  if (!rule.ok() || FindSplit(manifest, StoredSplit(manifest, *rule, "test")) == nullptr) return 0;
  const auto no_label = [](int64_t) { return 0; };  // test is never drawn by label
  return static_cast<int64_t>(SplitExamples(manifest, *rule, "test", no_label).size());
}

}  // namespace

std::vector<std::string> DataNotes(const ExperimentConfig& config, const std::string& data_dir) {
  std::vector<std::string> notes;
  const std::string folder = DataFolderOf(config.task(), data_dir);
  const absl::StatusOr<Manifest> manifest = ReadManifest(folder);
  if (!manifest.ok()) return notes;
  const int64_t scored = config.evaluation().scored_examples();
  const int64_t examples = scored > 0 ? TestExamples(*manifest, config.view()) : 0;
  if (scored < examples) {
    notes.push_back(absl::StrCat(config.task(), " is scored on ", FormatCount(scored), " of ",
                                 FormatCount(examples),
                                 " test examples (evaluation.scored_examples): lra table and lra "
                                 "ablate leave such runs out"));
  }
  const bool is_default_folder = DataInName(config.task(), folder).empty();
  if (is_default_folder && HasPinnedData(config.task()) && !IsCanonical(*manifest)) {
    notes.push_back(absl::StrCat(folder, " holds other data than is pinned for ", config.task(),
                                 ": scores on it share no column with those on the pinned data"));
  }
  return notes;
}

}  // namespace lra
