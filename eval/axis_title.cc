#include "eval/axis_title.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace lra {

std::string AxisTitle(const Metric& metric) {
  const std::string& unit = metric.traits().unit;
  // The amount begins the names of such metrics: nats, bits_per_token.
  const absl::string_view amount = absl::string_view(unit).substr(0, unit.find('/'));
  if (absl::StartsWith(metric.name(), amount)) return unit;
  return absl::StrCat(metric.name(), " in ", unit);
}

}  // namespace lra
