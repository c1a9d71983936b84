// How local the cells of an ablation attend (`lra ablate --locality`).
#ifndef LRA_INSPECT_ABLATION_LOCALITY_H_
#define LRA_INSPECT_ABLATION_LOCALITY_H_

#include "absl/status/status.h"
#include "eval/ablation_text.h"
#include "inspect/locality.h"

namespace lra {

// Fills AblationTask.locality of each task of each design: means over the runs of each cell that
// trained, each measured once, as `request` says but for its checkpoint. A run without checkpoints
// or without weights is left out of its cell's mean, which then says why; other errors are
// returned.
absl::Status AddLocality(const LocalityRequest& request, AblationReport* report);

}  // namespace lra

#endif  // LRA_INSPECT_ABLATION_LOCALITY_H_
