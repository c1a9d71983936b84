// The learning curve: points in the checkpoint's state, mirrored point by point in RUN/curve.jsonl
// for machines and in an event file for TensorBoard.
#ifndef LRA_TRAIN_CURVE_H_
#define LRA_TRAIN_CURVE_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "eval/run_record.pb.h"
#include "train/checkpoint_state.pb.h"

namespace lra {

inline constexpr char kCurveFile[] = "curve.jsonl";

// Means of state.sums(), at state.step().
CurvePoint PointFromSums(const CheckpointState& state, double learning_rate);

// Adds the point to both files.
absl::Status AppendCurve(absl::string_view run_dir, const CurvePoint& point);

// Makes the files equal to the state's curve (a killed run may have written more), each atomically.
absl::Status RewriteCurve(absl::string_view run_dir, const CheckpointState& state);

// What curve.jsonl holds, also while it is written: a last line without its end is left out.
// NotFound without the file; DataLoss names the line.
absl::StatusOr<std::vector<CurvePoint>> ReadCurve(absl::string_view run_dir);

}  // namespace lra

#endif  // LRA_TRAIN_CURVE_H_
