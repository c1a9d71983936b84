// What tells the scores of a later look (`lra eval`) from those of the run itself.
#ifndef LRA_EVAL_LATER_LOOK_H_
#define LRA_EVAL_LATER_LOOK_H_

#include <string>

#include "eval/run_record.pb.h"

namespace lra {

// What keeps the record's scores out of the cells of runs: of record.later_look the fields that are
// set, and of the data that the run was trained on the fingerprints of train and validation. Empty
// of a run's own record, and of a look at a run's checkpoint on its data at its length.
LaterLook DepartureOf(const RunRecord& record);
bool Departs(const RunRecord& record);

// CellFingerprint of the configuration, and another one for each departure.
std::string CellFingerprintOf(const RunRecord& record);

// "trained on other data (training examples with fingerprint 0123456789ab), trained at
// view.max_length_tokens=2000"; empty where neither differs.
std::string DescribeTrainedOtherwise(const RunRecord& record);

// Whether the split was scored at the last checkpoint and not at the selected one, whose scores
// stand for the run.
bool IsScoredAtTheEndAlone(const RunRecord& record, const std::string& split);

}  // namespace lra

#endif  // LRA_EVAL_LATER_LOOK_H_
