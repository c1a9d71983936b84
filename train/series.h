// Several runs, such as the seeds of a cell: one after the other, or some at once.
#ifndef LRA_TRAIN_SERIES_H_
#define LRA_TRAIN_SERIES_H_

#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "eval/run_record.pb.h"
#include "train/request.h"

namespace lra {

// Told of each run that ended with a record.
using RunDone = std::function<absl::Status(const TrainRequest&, const RunRecord&)>;

// Trains each request in turn (TrainRun). A run that diverges has a record of its failure, which
// tables count, and the next one begins; any other error, of `done` too, ends the
// series, because it would meet the next run as well. A diverged run's error is returned once all
// have been tried; with several runs it says how many and which.
absl::Status TrainSeries(const std::vector<TrainRequest>& requests, const RunDone& done);

// The same with `at_once` runs side by side in this process (train/turns.h), a step of each in
// turn: what a run computes, saves and records is what it does alone. Whatever ends one leaves the
// others that have begun alone; after an error that is no divergence none is begun any more.
// A stop saves all of them. All but the first are quiet. InvalidArgument where several processes
// share a run.
absl::Status TrainAtOnce(const std::vector<TrainRequest>& requests, int at_once,
                         const RunDone& done);

}  // namespace lra

#endif  // LRA_TRAIN_SERIES_H_
