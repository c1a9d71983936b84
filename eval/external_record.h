// Somebody else's predictions, scored here: `lra score`. docs/scoring.md.
#ifndef LRA_EVAL_EXTERNAL_RECORD_H_
#define LRA_EVAL_EXTERNAL_RECORD_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "eval/prediction_file.h"
#include "eval/run_record.pb.h"
#include "lra/experiment.h"

namespace lra {

// What the predictions are about.
struct ExternalRequest {
  std::string data_dir;
  ViewChoice view;
  std::string split = "test";
  int threads = 0;
};

struct ExternalRun {
  std::string name;         // the row of a table
  std::string description;  // a sentence for its footnote; may be empty
  uint32_t seed = 0;
  DataIdentity data;
  TaskSpec spec;
  DataView view;
  std::string split;
  std::vector<int32_t> labels;   // of the split
  std::vector<int64_t> indices;  // the original index of each example (SplitView::stored_index)
  PredictionFiles files;
  // Names that stand for something else in tables: attentions and baselines of this program.
  std::vector<std::string> taken_names;
  std::string command_line;
  int64_t unix_seconds = 0;
};

// A run with data, spec, view, split, labels and indices of the request; the data set says which
// task it is. The errors of ReadManifest, LoadView, Dataset::Open and SplitView::Create;
// InvalidArgument where tokens are guessed, which predictions of one label an example are not.
absl::StatusOr<ExternalRun> OpenExternalRun(const ExternalRequest& request);

// "RUNS/external-mine-listops", "RUNS/external-mine-listops-s1" for another seed than 0.
std::string ExternalDirectory(absl::string_view runs, absl::string_view task,
                              absl::string_view name, uint32_t seed);

// Scores the split and writes predictions and record, which is returned. Other splits that the
// folder has of this row and earlier looks at the test split stay; the same predictions again are
// no new look. The record is warned of a score that is not above the majority class unless the
// files have an index, because rows in another order look like that; and of the same predictions as
// another seed of the row in a folder beside this one, if the folder's name has the row's. The
// errors of ReadPredictions; InvalidArgument for a name that is taken or unfit for a folder;
// AlreadyExists when the folder holds anything else.
absl::StatusOr<RunRecord> WriteExternalRecord(absl::string_view directory, const ExternalRun& run);

// Whether two results are of the same logits: of one run, whatever its seeds are called. Classes
// prove nothing, which are alike wherever models make one guess for all examples.
bool SamePredictions(const SplitResult& a, const SplitResult& b);

}  // namespace lra

#endif  // LRA_EVAL_EXTERNAL_RECORD_H_
