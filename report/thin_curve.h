// Training curves of at most so many points as a small picture can show.
#ifndef LRA_REPORT_THIN_CURVE_H_
#define LRA_REPORT_THIN_CURVE_H_

#include <cstdint>
#include <vector>

#include "eval/metric.h"
#include "eval/run_record.pb.h"
#include "nlohmann/json_fwd.hpp"

namespace lra {

inline constexpr int kCurvePoints = 60;

// Values by step; NaN where there is none.
struct ThinSeries {
  std::vector<int64_t> steps;
  std::vector<double> values;
};

// Means over equally long parts, each at its last step, of series of more than `most` points. Runs
// with equal steps come out with equal steps. Values that are not finite are left out of the means.
ThinSeries MeansOfParts(const ThinSeries& series, int most);
// Single points at equal distances, the first and the last among them.
ThinSeries PointsOf(const ThinSeries& series, int most);

// Objects of "step" and "value" arrays: "train_loss", "validation_loss" and, of the metric, "train"
// and "validation"; numbers have five significant digits. Where attentions learn choices of their
// own, "learned" has one such object for each, by name: "mean", "low" and "high" over layers and
// heads.
nlohmann::ordered_json CurveJson(const RunRecord& record, const Metric& metric);

// Five significant digits; null for what is not finite.
nlohmann::ordered_json ShortNumber(double value);

}  // namespace lra

#endif  // LRA_REPORT_THIN_CURVE_H_
