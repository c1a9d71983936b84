// Suites with runs that start from the encoder of a run that was made before.
#ifndef LRA_SUITE_INIT_FROM_H_
#define LRA_SUITE_INIT_FROM_H_

#include <string>

#include "absl/status/status.h"
#include "suite/suite.pb.h"
#include "train/request.h"

namespace lra {

// What settings of a suite's file say in place of a digest: the weights' that are named when the
// suite is run, "encoder_weights_sha256={init-from}".
inline constexpr char kInitFrom[] = "{init-from}";

// Names the run or checkpoint: its weights' digest takes the place of {init-from} in all settings,
// and its path stands in the suite. Where settings have a digest already, as in a folder's suite,
// only the path changes. With an empty `run`, checks that no setting needs one.
// InvalidArgument for a run that no setting asks for or whose weights are others, and for a setting
// that asks for one where none is named; the errors of FindCheckpoint and LoadCheckpointState.
absl::Status SetInitFrom(const std::string& run, SuiteFile* suite);

// Has all runs of the suite of lists start as choice.from and choice.init_from say, so that their
// settings name the weights. The errors of CheckStart, FindCheckpoint and LoadCheckpointState.
absl::Status StartAllFrom(const TrainChoice& choice, SuiteFile* suite);

}  // namespace lra

#endif  // LRA_SUITE_INIT_FROM_H_
