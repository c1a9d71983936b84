// Writes what a model reads of a data set, for programs in other languages: `lra data export`.
// docs/scoring.md.
#ifndef LRA_DATASETS_EXPORT_H_
#define LRA_DATASETS_EXPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lra/experiment.h"

namespace lra {

struct ExportRequest {
  std::string data_dir;
  ViewChoice view;
  std::vector<std::string> splits = {"train", "validation", "test"};
  std::string out;  // a new folder
  // Write labels and indices only.
  bool without_inputs = false;
  int threads = 0;
};

struct ExportedSplit {
  std::string name, stored_split;
  int64_t examples = 0;
  int64_t tokens = 0;  // of both texts of pairs
  std::string fingerprint;
};

// Writes for each split of the view, as .npy files and in the order of `lra score`:
//
//   SPLIT.index    int64 [n]      where the example stands in its stored split
//   SPLIT.labels   int32 [n]
//   SPLIT.ids      uint8, int16 or int32 (the smallest that holds every id) [all tokens]: the ids
//                  that a model reads, cut and with end marks, without padding
//   SPLIT.offsets  int64 [n + 1]  example i is ids[offsets[i]:offsets[i + 1]]
//   SPLIT.ids_b, SPLIT.offsets_b  the second texts of pairs
//   SPLIT.prompt_tokens  int32 [n], of tasks that have prompts: how many tokens are given; those
//                  behind them are the targets
//   SPLIT.values   float32 [all pixels], in place of ids under pixels=REAL
//
// and export.json, which says what they are. The folder appears whole or not at all. The errors of
// ReadManifest, LoadView, Dataset::Open and SplitView::Create; InvalidArgument for inputs under
// target=MASKED, which every epoch draws anew; AlreadyExists for a folder that is there.
absl::StatusOr<std::vector<ExportedSplit>> ExportView(const ExportRequest& request);

}  // namespace lra

#endif  // LRA_DATASETS_EXPORT_H_
