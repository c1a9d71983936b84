// Which machines, builds and processes trained a run that was resumed.
#ifndef LRA_TRAIN_STRETCHES_H_
#define LRA_TRAIN_STRETCHES_H_

#include <ATen/core/Tensor.h>

#include "eval/run_record.pb.h"
#include "lra/config.pb.h"
#include "run_folder/checkpoint_state.pb.h"

namespace lra {

// This machine, with its kernels for this configuration and the device, and this build.
TrainingStretch DescribeTrainer(const ExperimentConfig& config, const at::Device& device);

// Notes in a run that goes on by whom, unless it is as before. What a checkpoint from before
// stretches were noted had been trained by stays unknown.
void NoteTrainer(TrainingStretch now, CheckpointState* state);

// Notes how many processes go on with a stage, and whether they add gradients so that their number
// changes no bit, which it says only of a stage that did so from its first step on.
void NoteProcesses(int processes, int runs_at_once, bool exact_reduction, CheckpointState* state);

// Fills the record's machine and versions, which are `now`, and its stretches, if those of the
// state are not all of `now`.
void RecordTrainers(const CheckpointState& state, const TrainingStretch& now, RunRecord* record);

}  // namespace lra

#endif  // LRA_TRAIN_STRETCHES_H_
