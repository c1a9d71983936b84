// Strata of a quantity: quarters of a split.
#ifndef LRA_TASKS_QUARTERS_H_
#define LRA_TASKS_QUARTERS_H_

#include <string>
#include <vector>

#include "datasets/strata.h"

namespace lra {

// Four strata by the quantity's quartiles, as equal in size as ties allow: an example that equals a
// quartile is in the lower stratum. Their names say the range: "3.0 to 7.5", where the end belongs
// to the stratum and the beginning does not, but for the smallest value. Strata without examples
// are left out. `values` is one value for each example of the split.
Strata QuartersOf(std::string name, std::string definition, const std::vector<double>& values);

}  // namespace lra

#endif  // LRA_TASKS_QUARTERS_H_
