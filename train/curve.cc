#include "train/curve.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "lra/files.h"
#include "nlohmann/json.hpp"

namespace lra {
namespace {

std::string CurvePath(absl::string_view run_dir) { return JoinPath(run_dir, "curve.jsonl"); }

std::string ToLine(const CurvePoint& point) {
  nlohmann::ordered_json line = {{"step", point.step()},
                                 {"learning_rate", point.learning_rate()},
                                 {"train_loss", point.train_loss()},
                                 {"train_accuracy", point.train_accuracy()},
                                 {"gradient_norm", point.gradient_norm()}};
  if (point.has_validation_accuracy()) {
    line["validation_loss"] = point.validation_loss();
    line["validation_accuracy"] = point.validation_accuracy();
  }
  return line.dump() + "\n";
}

}  // namespace

CurvePoint PointFromSums(const CheckpointState& state, double learning_rate) {
  const RunningSums& sums = state.sums();
  CurvePoint point;
  point.set_step(state.step());
  point.set_learning_rate(learning_rate);
  point.set_train_loss(sums.loss_sum() / static_cast<double>(sums.examples()));
  point.set_train_accuracy(static_cast<double>(sums.correct()) /
                           static_cast<double>(sums.examples()));
  point.set_gradient_norm(sums.gradient_norm_sum() / static_cast<double>(sums.steps()));
  point.set_max_gradient_norm(sums.max_gradient_norm());
  point.set_tokens(sums.tokens());
  *point.mutable_label_examples() = sums.label_examples();
  *point.mutable_predicted_examples() = sums.predicted_examples();
  return point;
}

absl::Status AppendCurve(absl::string_view run_dir, const CurvePoint& point) {
  std::ofstream file(CurvePath(run_dir), std::ios::app | std::ios::binary);
  file << ToLine(point);
  file.flush();
  if (file.good()) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat("writing ", CurvePath(run_dir), ": ", std::strerror(errno)));
}

absl::Status RewriteCurve(absl::string_view run_dir, const CheckpointState& state) {
  std::string text;
  for (const CurvePoint& point : state.curve()) text += ToLine(point);
  return WriteFileAtomically(CurvePath(run_dir), text);
}

}  // namespace lra
