// Metrics in the points of a curve: values by name.
#ifndef LRA_EVAL_CURVE_VALUES_H_
#define LRA_EVAL_CURVE_VALUES_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "eval/metric.h"
#include "eval/run_record.pb.h"

namespace lra {

// CurvePoint.train and .validation, PretrainResult.validation.
using MetricValues = google::protobuf::Map<std::string, double>;

// RunRecord.curve.
using Curve = google::protobuf::RepeatedPtrField<CurvePoint>;

std::optional<double> FindValue(const MetricValues& values, absl::string_view metric);

// Sets what can be computed: metrics whose sums are all there.
void SetValues(absl::Span<const Metric* const> metrics, const Sums& sums, MetricValues* values);

// The validated point with the best value (ties: the earlier); nullptr without one.
const CurvePoint* BestPoint(const RunRecord& run, const Metric& metric);

}  // namespace lra

#endif  // LRA_EVAL_CURVE_VALUES_H_
