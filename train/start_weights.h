// The weights of another run that a new run starts from.
#ifndef LRA_TRAIN_START_WEIGHTS_H_
#define LRA_TRAIN_START_WEIGHTS_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "lra/config.pb.h"
#include "run_folder/checkpoint_state.pb.h"
#include "train/run.h"

namespace lra {

// Whether a model of `config` computes the same of its weights as the other run's did: model,
// attention and block, with their options. InvalidArgument names the first field that differs, with
// both values. Rates of dropout, initial values (of attentions: options named initial_...) and all
// that is about training may differ. What has no model on record is left to the shapes of its
// tensors.
absl::Status CheckSameModel(absl::string_view checkpoint, const CheckpointState& other,
                            const ExperimentConfig& config);

// Fills the parameters of a run that has not begun from request.start_checkpoint where its
// configuration says so: the whole model (start_weights_sha256), or the encoder alone
// (encoder_weights_sha256, whose outcome goes into run->state and, unless quiet, to standard
// error). InvalidArgument where the checkpoint is missing, has other weights or another model.
absl::Status LoadStart(Run* run);

}  // namespace lra

#endif  // LRA_TRAIN_START_WEIGHTS_H_
