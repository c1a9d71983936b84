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

std::string OneClassWarning(const SplitView& split, int64_t limit, const std::string& field) {
  constexpr int64_t kFewestToSay = 8;  // of few examples it may be by chance
  if (limit < kFewestToSay || limit >= split.size()) return "";
  int64_t first_other = 1;
  while (first_other < split.size() && split.label(first_other) == split.label(0)) ++first_other;
  if (first_other < limit || first_other == split.size()) return "";
  return absl::StrCat(
      "the first ", FormatCount(limit), " of ", FormatCount(split.size()), " examples of ",
      split.name(), ", on which it is scored (", field, "), are all of class ", split.label(0),
      ": the data is sorted by class, and such a score says nothing; set ", field, "=0");
}

}  // namespace lra
