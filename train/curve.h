// The learning curve: points in the checkpoint's state, mirrored line by line in RUN/curve.jsonl
// for machines.
#ifndef LRA_TRAIN_CURVE_H_
#define LRA_TRAIN_CURVE_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "eval/run_record.pb.h"
#include "train/checkpoint_state.pb.h"

namespace lra {

// Means of state.sums(), at state.step().
CurvePoint PointFromSums(const CheckpointState& state, double learning_rate);

// Adds one line to RUN/curve.jsonl.
absl::Status AppendCurve(absl::string_view run_dir, const CurvePoint& point);

// Makes the file equal to the state's curve (a killed run may have written more), atomically.
absl::Status RewriteCurve(absl::string_view run_dir, const CheckpointState& state);

}  // namespace lra

#endif  // LRA_TRAIN_CURVE_H_
