// Somebody else's predictions, scored here: `lra score`. docs/scoring.md.
#ifndef LRA_EVAL_EXTERNAL_RECORD_H_
#define LRA_EVAL_EXTERNAL_RECORD_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "eval/run_record.pb.h"
#include "lra/experiment.h"

namespace lra {

struct ExternalPredictions {
  std::vector<float> logits;  // [examples, C]
  // The file held classes: logits are 1 at the class and 0 elsewhere, and a loss is not known.
  bool only_labels = false;
};

// Reads a .npy file: logits [examples, C] of float32 or float64 (rounded to float32), or predicted
// classes [examples] of any integer type, in the order of the data set. InvalidArgument names file,
// row and value, and what `split` of `task` needs.
absl::StatusOr<ExternalPredictions> ReadPredictions(absl::string_view path, const TaskSpec& spec,
                                                    absl::string_view split, int64_t examples);

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
  std::vector<int32_t> labels;  // of the split
  std::string predictions_path;
  // Names that stand for something else in tables: attentions and baselines of this program.
  std::vector<std::string> taken_names;
  std::string command_line;
  int64_t unix_seconds = 0;
};

// A run with data, spec, view, split and labels of the request; the data set says which task it is.
// The errors of ReadManifest, LoadView, Dataset::Open and SplitView::Create.
absl::StatusOr<ExternalRun> OpenExternalRun(const ExternalRequest& request);

// "RUNS/external-mine-listops", "RUNS/external-mine-listops-s1" for another seed than 0.
std::string ExternalDirectory(absl::string_view runs, absl::string_view task,
                              absl::string_view name, uint32_t seed);

// Scores the split and writes predictions and record, which is returned. Other splits that the
// folder has of this row and earlier looks at the test split stay; the same predictions again are
// no new look. InvalidArgument for a name that is taken or unfit for a folder; AlreadyExists when
// the folder holds anything else.
absl::StatusOr<RunRecord> WriteExternalRecord(absl::string_view directory, const ExternalRun& run);

}  // namespace lra

#endif  // LRA_EVAL_EXTERNAL_RECORD_H_
