#include "report/thin_curve.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/str_format.h"
#include "eval/curve_values.h"
#include "eval/learned_numbers.h"

namespace lra {
namespace {

using Json = nlohmann::ordered_json;

// Mean of the finite values of [begin, end); NaN without any.
double MeanOf(const std::vector<double>& values, size_t begin, size_t end) {
  double sum = 0;
  int count = 0;
  for (size_t i = begin; i < end; ++i) {
    if (!std::isfinite(values[i])) continue;
    sum += values[i];
    ++count;
  }
  return count == 0 ? std::numeric_limits<double>::quiet_NaN() : sum / count;
}

Json SeriesJson(const ThinSeries& series) {
  Json values = Json::array();
  for (const double value : series.values) values.push_back(ShortNumber(value));
  return {{"step", series.steps}, {"value", std::move(values)}};
}

void Add(int64_t step, std::optional<double> value, ThinSeries* series) {
  if (!value) return;
  series->steps.push_back(step);
  series->values.push_back(*value);
}

Json LearnedJson(const LearnedCurve& learned) {
  ThinSeries mean, low, high;
  for (const LearnedCurve::Point& point : learned.points) {
    Add(point.step, point.mean, &mean);
    Add(point.step, point.low, &low);
    Add(point.step, point.high, &high);
  }
  return {{"mean", SeriesJson(PointsOf(mean, kCurvePoints))},
          {"low", SeriesJson(PointsOf(low, kCurvePoints))},
          {"high", SeriesJson(PointsOf(high, kCurvePoints))}};
}

}  // namespace

nlohmann::ordered_json ShortNumber(double value) {
  if (!std::isfinite(value)) return nullptr;
  return std::strtod(absl::StrFormat("%.5g", value).c_str(), nullptr);
}

ThinSeries MeansOfParts(const ThinSeries& series, int most) {
  const size_t count = series.values.size();
  const size_t parts = std::min<size_t>(count, most);
  ThinSeries thin;
  for (size_t p = 0; p < parts; ++p) {
    const size_t begin = p * count / parts, end = (p + 1) * count / parts;
    thin.steps.push_back(series.steps[end - 1]);
    thin.values.push_back(MeanOf(series.values, begin, end));
  }
  return thin;
}

ThinSeries PointsOf(const ThinSeries& series, int most) {
  const size_t count = series.values.size();
  if (count <= static_cast<size_t>(most)) return series;
  ThinSeries thin;
  for (size_t p = 0; p < static_cast<size_t>(most); ++p) {
    const size_t i = p * (count - 1) / (most - 1);
    thin.steps.push_back(series.steps[i]);
    thin.values.push_back(series.values[i]);
  }
  return thin;
}

nlohmann::ordered_json CurveJson(const RunRecord& record, const Metric& metric) {
  ThinSeries train_loss, train, validation_loss, validation;
  for (const CurvePoint& point : record.curve()) {
    Add(point.step(), point.train_loss(), &train_loss);
    Add(point.step(), FindValue(point.train(), metric.name()), &train);
    if (point.has_validation_loss()) Add(point.step(), point.validation_loss(), &validation_loss);
    Add(point.step(), FindValue(point.validation(), metric.name()), &validation);
  }
  Json json = {{"train_loss", SeriesJson(MeansOfParts(train_loss, kCurvePoints))},
               {"validation_loss", SeriesJson(PointsOf(validation_loss, kCurvePoints))},
               {"train", SeriesJson(MeansOfParts(train, kCurvePoints))},
               {"validation", SeriesJson(PointsOf(validation, kCurvePoints))}};
  for (const LearnedCurve& learned : LearnedCurves(record.curve()))
    json["learned"][learned.name] = LearnedJson(learned);
  return json;
}

}  // namespace lra
