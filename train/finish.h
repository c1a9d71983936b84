// The end of a run: select a checkpoint, test it, write the record.
#ifndef LRA_TRAIN_FINISH_H_
#define LRA_TRAIN_FINISH_H_

#include "absl/status/statusor.h"
#include "eval/run_record.pb.h"
#include "train/run.h"

namespace lra {

// The step that the protocol's selection rule names.
int64_t SelectedStep(const CheckpointState& state);
// As of the last validation up to that step.
double SelectedValidationAccuracy(const CheckpointState& state);

// Scores validation and test with the selected checkpoint, and test with the last one where it is
// another; writes predictions and record (atomically, the record last: a run is finished when it
// has one).
absl::StatusOr<RunRecord> FinishRun(Run* run);

// What a checkpoint says about its run, without results; for records of later looks (lra eval).
RunRecord RecordFromState(const CheckpointState& state, const ParameterStore& parameters);

// Scores one split and stores its logits in `predictions_path` (relative to `record_dir`).
// `checkpoint` is kSelectedCheckpoint or kLastCheckpoint (eval/run_record.h).
absl::StatusOr<SplitResult> ScoreAndStore(const Classifier& model, const SplitView& split,
                                          const CheckpointState& state,
                                          const std::string& record_dir,
                                          const std::string& predictions_path,
                                          const std::string& checkpoint, bool quiet);

}  // namespace lra

#endif  // LRA_TRAIN_FINISH_H_
