#include "eval/learned_numbers.h"

#include <algorithm>
#include <map>

namespace lra {

std::vector<LearnedCurve> LearnedCurves(const Curve& curve) {
  std::map<std::string, LearnedCurve> curves;
  for (const CurvePoint& point : curve) {
    std::map<std::string, std::vector<double>> values;
    // Sorted, so that equal records give equal sums.
    for (const auto& [name, value] :
         std::map<std::string, double>(point.learned().begin(), point.learned().end()))
      values[name.substr(name.rfind('.') + 1)].push_back(value);
    for (const auto& [name, all] : values) {
      double sum = 0;
      for (const double value : all) sum += value;
      const auto [low, high] = std::minmax_element(all.begin(), all.end());
      LearnedCurve& added = curves[name];
      added.name = name;
      added.points.push_back({point.step(), sum / static_cast<double>(all.size()), *low, *high});
    }
  }
  std::vector<LearnedCurve> sorted;
  for (auto& [name, added] : curves) sorted.push_back(std::move(added));
  return sorted;
}

}  // namespace lra
