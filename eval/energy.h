// Energy of the processors, from the counters that Linux shows: power capping's zones
// (Documentation/power/powercap in the kernel's sources; Intel's RAPL, and AMD's under that name).
#ifndef LRA_EVAL_ENERGY_H_
#define LRA_EVAL_ENERGY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace lra {

class EnergyMeter {
 public:
  // Counting begins now. `root` stands for "/".
  explicit EnergyMeter(absl::string_view root = "");

  // Joules of all packages since counting began, whatever ran on them. nullopt where there is no
  // counter, or one that this user may not read (many systems keep them for root). Counters wrap
  // around after some tens of minutes at full load: asked more seldom, a turn is missed.
  std::optional<double> Joules();

 private:
  struct Package {
    std::string counter;  // the path of energy_uj
    int64_t range_microjoules = 0;
    int64_t last_microjoules = 0;
  };
  std::vector<Package> packages_;
  int64_t microjoules_ = 0;
  bool is_readable_ = false;
};

}  // namespace lra

#endif  // LRA_EVAL_ENERGY_H_
