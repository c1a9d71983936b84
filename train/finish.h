// The end of a run: select a checkpoint, test it, write the record.
#ifndef LRA_TRAIN_FINISH_H_
#define LRA_TRAIN_FINISH_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "eval/evaluator.h"
#include "eval/run_record.pb.h"
#include "train/run.h"

namespace lra {

// Whether nothing is left of the run's training.
bool IsTrained(const CheckpointState& state);
// The step that the protocol's selection rule names; before the end of training, of the steps so
// far.
int64_t SelectedStep(const CheckpointState& state);
// The value of the task's metric at the last validation up to that step.
double SelectedValidation(const CheckpointState& state);

// Scores validation and test with the selected checkpoint and, where the last one is another and
// request.skips_last_checkpoint is not set, with the last one; writes predictions and record
// (atomically, the record last: a run is finished when it has one). Cancelled after SIGINT or
// SIGTERM: there is no record yet, --resume scores anew. DivergedError where an output is not
// finite: no record either. InvalidArgument where the folder of data no longer holds what the run
// was trained on: --resume scores it once that is back.
absl::StatusOr<RunRecord> FinishRun(Run* run);

// Writes and returns the record of a run that diverged: the failure, the curve up to it, the looks
// at the test split if it came so far, and no results.
absl::StatusOr<RunRecord> RecordFailure(const Run& run, const RunFailure& failure);

// What a checkpoint says about its run, without results; for records of later looks (lra eval).
RunRecord RecordFromState(const CheckpointState& state, const ParameterStore& parameters);

struct ScoreRequest {
  std::string record_dir;
  std::string predictions_path;  // relative to record_dir
  std::string checkpoint;        // as SplitResult.checkpoint
  int64_t limit_examples = 0;    // the first ones; 0 = all
  bool half_logits = false;      // stored as float16
  bool quiet = false;
  // The processes that score it together; null = this one alone. Only rank 0 stores.
  std::shared_ptr<Ranks> ranks{};
};

// How the batches of a split are put together where a run of this configuration is scored.
EvaluatorOptions ScoringOptions(const ExperimentConfig& config, int64_t limit_examples);

// Scores one split and stores its logits, or where tokens are guessed what each example scored.
// Cancelled after SIGINT or SIGTERM: nothing is stored.
absl::StatusOr<SplitResult> ScoreAndStore(const Classifier& model, const SplitView& split,
                                          const CheckpointState& state,
                                          const ScoreRequest& request);

}  // namespace lra

#endif  // LRA_TRAIN_FINISH_H_
