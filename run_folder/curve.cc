#include "run_folder/curve.h"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "eval/curve_values.h"
#include "lra/files.h"
#include "lra/json_text.h"
#include "lra/status_macros.h"
#include "nlohmann/json.hpp"
#include "run_folder/tensorboard.h"

namespace lra {
namespace {

using Json = nlohmann::ordered_json;

std::string CurvePath(absl::string_view run_dir) { return JoinPath(run_dir, kCurveFile); }
std::string EventsPath(absl::string_view run_dir) { return JoinPath(run_dir, kTensorBoardFile); }

// Before a metric's name, and before "loss", which is none.
constexpr char kTrain[] = "train_", kValidation[] = "validation_", kLoss[] = "loss";
// Before the name of what an attention learned.
constexpr char kLearned[] = "learned_";

// Sorted by name.
void AddValues(absl::string_view prefix, const MetricValues& values, Json* line) {
  for (const auto& [name, value] : std::map<std::string, double>(values.begin(), values.end()))
    (*line)[absl::StrCat(prefix, name)] = value;
}

void ReadValues(absl::string_view prefix, const Json& line, MetricValues* values) {
  for (const auto& [key, value] : line.items()) {
    absl::string_view name = key;
    if (absl::ConsumePrefix(&name, prefix) && name != kLoss)
      (*values)[std::string(name)] = value.get<double>();
  }
}

std::string ToLine(const CurvePoint& point) {
  Json line = {{"step", point.step()},
               {"learning_rate", point.learning_rate()},
               {"train_loss", point.train_loss()}};
  AddValues(kTrain, point.train(), &line);
  line["gradient_norm"] = point.gradient_norm();
  line["max_gradient_norm"] = point.max_gradient_norm();
  line["tokens"] = point.tokens();
  line["label_examples"] = point.label_examples();
  line["predicted_examples"] = point.predicted_examples();
  line["update_ratio"] = point.update_ratio();
  line["embedding_update_ratio"] = point.embedding_update_ratio();
  if (point.has_validation_loss()) line["validation_loss"] = point.validation_loss();
  AddValues(kValidation, point.validation(), &line);
  AddValues(kLearned, point.learned(), &line);
  return JsonText(line, -1) + "\n";
}

// The library would cast any number, and a cast of 1e30 is undefined.
int64_t Whole(const Json& value) {
  const bool is_too_large = value.is_number_unsigned() &&
                            value.get<uint64_t>() > uint64_t{std::numeric_limits<int64_t>::max()};
  if (!value.is_number_integer() || is_too_large)
    throw std::range_error(absl::StrCat(JsonText(value, -1), " is not a whole number of 64 bits"));
  return value.get<int64_t>();
}

void ReadCounts(absl::string_view key, const Json& line,
                google::protobuf::RepeatedField<int64_t>* counts) {
  for (const Json& count : line.value(std::string(key), std::vector<Json>()))
    counts->Add(Whole(count));
}

// A field that an older run's line lacks stays 0. Throws std::exception, that of the JSON library
// among them.
CurvePoint FromLine(const Json& line) {
  CurvePoint point;
  point.set_step(Whole(line.at("step")));
  point.set_learning_rate(line.at("learning_rate").get<double>());
  point.set_train_loss(line.at("train_loss").get<double>());
  ReadValues(kTrain, line, point.mutable_train());
  point.set_gradient_norm(line.at("gradient_norm").get<double>());
  point.set_max_gradient_norm(line.value("max_gradient_norm", 0.0));
  point.set_tokens(Whole(line.value("tokens", Json(0))));
  ReadCounts("label_examples", line, point.mutable_label_examples());
  ReadCounts("predicted_examples", line, point.mutable_predicted_examples());
  point.set_update_ratio(line.value("update_ratio", 0.0));
  point.set_embedding_update_ratio(line.value("embedding_update_ratio", 0.0));
  if (line.contains("validation_loss"))
    point.set_validation_loss(line.at("validation_loss").get<double>());
  ReadValues(kValidation, line, point.mutable_validation());
  ReadValues(kLearned, line, point.mutable_learned());
  return point;
}

absl::Status Append(const std::string& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::app | std::ios::binary);
  file << bytes;
  file.flush();
  if (file.good()) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("writing ", path, ": ", std::strerror(errno)));
}

}  // namespace

CurvePoint PointFromSums(const CheckpointState& state, double learning_rate) {
  const RunningSums& sums = state.sums();
  CurvePoint point;
  point.set_step(state.step());
  point.set_learning_rate(learning_rate);
  point.set_train_loss(sums.loss_sum() / static_cast<double>(sums.examples()));
  point.set_gradient_norm(sums.gradient_norm_sum() / static_cast<double>(sums.steps()));
  point.set_max_gradient_norm(sums.max_gradient_norm());
  point.set_tokens(sums.tokens());
  *point.mutable_label_examples() = sums.label_examples();
  *point.mutable_predicted_examples() = sums.predicted_examples();
  return point;
}

absl::Status AppendCurve(absl::string_view run_dir, const CurvePoint& point) {
  LRA_RETURN_IF_ERROR(Append(CurvePath(run_dir), ToLine(point)));
  return Append(EventsPath(run_dir), TensorBoardRecord(point));
}

absl::Status RewriteCurve(absl::string_view run_dir, const CheckpointState& state) {
  std::string lines, events = TensorBoardHeader();
  for (const CurvePoint& point : state.curve()) {
    lines += ToLine(point);
    events += TensorBoardRecord(point);
  }
  const std::string events_path = EventsPath(run_dir);
  LRA_RETURN_IF_ERROR(MakeDirectories(std::filesystem::path(events_path).parent_path().string()));
  LRA_RETURN_IF_ERROR(WriteFileAtomically(CurvePath(run_dir), lines));
  return WriteFileAtomically(events_path, events);
}

absl::StatusOr<std::vector<CurvePoint>> ReadCurve(absl::string_view run_dir) {
  const std::string path = CurvePath(run_dir);
  LRA_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  std::vector<CurvePoint> points;
  for (size_t begin = 0, end; (end = text.find('\n', begin)) != text.npos; begin = end + 1) {
    try {
      points.push_back(FromLine(Json::parse(text.substr(begin, end - begin))));
    } catch (const std::exception& error) {
      return absl::DataLossError(
          absl::StrCat(path, ":", points.size() + 1, ": no point of a curve: ", error.what()));
    }
  }
  return points;
}

}  // namespace lra
