// The learning curve. Its points are in the checkpoint's state; each is also written to
// RUN/curve.jsonl for programs and to an event file for TensorBoard.
#ifndef LRA_RUN_FOLDER_CURVE_H_
#define LRA_RUN_FOLDER_CURVE_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "eval/run_record.pb.h"
#include "run_folder/checkpoint_state.pb.h"

namespace lra {

inline constexpr char kCurveFile[] = "curve.jsonl";

// Makes a point from the means of state.sums() at state.step(), without metrics.
CurvePoint PointFromSums(const CheckpointState& state, double learning_rate);

// Adds the point to both files.
absl::Status AppendCurve(absl::string_view run_dir, const CurvePoint& point);

// Makes both files equal to the state's curve, each atomically (a killed run may have written
// more).
absl::Status RewriteCurve(absl::string_view run_dir, const CheckpointState& state);

// Reads curve.jsonl, also while it is being written: a last line without a line end is ignored.
// NotFound without the file; DataLoss names the line.
absl::StatusOr<std::vector<CurvePoint>> ReadCurve(absl::string_view run_dir);

}  // namespace lra

#endif  // LRA_RUN_FOLDER_CURVE_H_
