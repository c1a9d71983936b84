// Suites with runs that start from the encoder of a run that was made before.
#ifndef LRA_SUITE_INIT_FROM_H_
#define LRA_SUITE_INIT_FROM_H_

#include <string>

#include "absl/status/status.h"
#include "suite/suite.pb.h"
#include "train/request.h"

namespace lra {

// Names the run or checkpoint: its weights' digest takes the place of {init-from} (own_encoders.h)
// in all settings, and its path stands in the suite. Where settings have a digest already, as in a
// folder's suite, only the path changes. With {seed} in `run`, each run gets an encoder of its own
// (ListOwnEncoders). With an empty `run`, checks that no setting needs one.
// InvalidArgument for a run that no setting asks for or whose weights are others, and for a setting
// that asks for one where none is named; the errors of CheckEncoderPath, FindCheckpoint,
// LoadCheckpointState and ListOwnEncoders.
absl::Status SetInitFrom(const std::string& run, SuiteFile* suite);

// Has all runs of the suite of lists start as choice.from and choice.init_from say, so that their
// settings name the weights. The errors of CheckStart and SetInitFrom.
absl::Status StartAllFrom(const TrainChoice& choice, SuiteFile* suite);

}  // namespace lra

#endif  // LRA_SUITE_INIT_FROM_H_
