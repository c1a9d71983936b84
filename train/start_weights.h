// The weights of another run that a new run starts from.
#ifndef LRA_TRAIN_START_WEIGHTS_H_
#define LRA_TRAIN_START_WEIGHTS_H_

#include "absl/status/status.h"
#include "train/run.h"

namespace lra {

// Fills the parameters of a run that has not begun from request.start_checkpoint where its
// configuration says so: the whole model (start_weights_sha256), or the encoder alone
// (encoder_weights_sha256, whose outcome goes into run->state and, unless quiet, to standard
// error). InvalidArgument where the checkpoint is missing, has other weights or does not fit.
absl::Status LoadStart(Run* run);

}  // namespace lra

#endif  // LRA_TRAIN_START_WEIGHTS_H_
