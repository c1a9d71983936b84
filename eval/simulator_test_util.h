// Simulated runs, for tests of how often intervals cover and claims are right.
//
// A run of a method is right on example i where sqrt(rho) z_i + sqrt(1 - rho) e_si < threshold + g
// a_s, all normal: z the example's difficulty, a the seed's shift, e the rest. The threshold is
// such that the expected accuracy is exactly p, and g such that seeds scatter by `seed_sd`.
#ifndef LRA_EVAL_SIMULATOR_TEST_UTIL_H_
#define LRA_EVAL_SIMULATOR_TEST_UTIL_H_

#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <cstdint>
#include <vector>

#include "eval/crossed.h"
#include "lra/random.h"

namespace lra::testing {

struct Method {
  double p = 0.6;
  double seed_sd = 0;
  double rho = 0.9;
};

// Draws rows of runs of several methods on the same examples.
class Simulator {
 public:
  explicit Simulator(uint32_t id) : stream_(20261122, RandomDomain::kTest, {id, 0, 0}) {}

  // Both normals of a Box-Muller draw, which is what the simulation spends its time on.
  double Normal() {
    has_second_ = !has_second_;
    if (!has_second_) return second_;
    const double radius = std::sqrt(-2 * std::log(1 - stream_.Uniform()));
    const double angle = 2 * std::acos(-1.0) * stream_.Uniform();
    second_ = radius * std::sin(angle);
    return radius * std::cos(angle);
  }
  std::vector<double> Normals(int count) {
    std::vector<double> values(count);
    for (double& value : values) value = Normal();
    return values;
  }
  double Uniform() { return stream_.Uniform(); }

  // sqrt(share) x + sqrt(1 - share) new normals: what rows have in common.
  std::vector<double> Mixed(const std::vector<double>& x, double share) {
    std::vector<double> values(x.size());
    for (size_t i = 0; i < x.size(); ++i)
      values[i] = std::sqrt(share) * x[i] + std::sqrt(1 - share) * Normal();
    return values;
  }

  std::vector<ExampleValues> Runs(const Method& method, const std::vector<double>& difficulty,
                                  const std::vector<double>& shift) {
    const boost::math::normal normal;
    const double z = quantile(normal, method.p), g = method.seed_sd / pdf(normal, z);
    const double common = std::sqrt(method.rho), own = std::sqrt(1 - method.rho);
    std::vector<ExampleValues> runs(shift.size(), ExampleValues(difficulty.size()));
    for (size_t s = 0; s < shift.size(); ++s) {
      const double threshold = z * std::sqrt(1 + g * g) + g * shift[s];
      for (size_t i = 0; i < difficulty.size(); ++i)
        runs[s][i] = common * difficulty[i] + own * Normal() < threshold ? 1 : 0;
    }
    return runs;
  }

 private:
  RandomStream stream_;
  double second_ = 0;
  bool has_second_ = false;
};

}  // namespace lra::testing

#endif  // LRA_EVAL_SIMULATOR_TEST_UTIL_H_
