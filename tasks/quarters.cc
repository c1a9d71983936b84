#include "tasks/quarters.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"

namespace lra {

Strata QuartersOf(std::string name, std::string definition, const std::vector<double>& values) {
  Strata strata{std::move(name), std::move(definition), {}, {}};
  if (values.empty()) return strata;
  std::vector<double> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  std::vector<double> ends;  // of the strata, each above the one before
  for (size_t quarter = 1; quarter <= 4; ++quarter) {
    const double end = sorted[(quarter * sorted.size() + 3) / 4 - 1];
    if (ends.empty() || end > ends.back()) ends.push_back(end);
  }
  double begin = sorted.front();
  for (double end : ends) {
    strata.names.push_back(absl::StrFormat("%.1f to %.1f", begin, end));
    begin = end;
  }
  for (double value : values) {
    const auto end = std::lower_bound(ends.begin(), ends.end(), value);
    strata.of.push_back(static_cast<int>(end - ends.begin()));
  }
  return strata;
}

}  // namespace lra
