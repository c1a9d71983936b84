// Strata of a quantity: quarters of a split, or doublings.
#ifndef LRA_TASKS_QUARTERS_H_
#define LRA_TASKS_QUARTERS_H_

#include <string>
#include <vector>

#include "datasets/split_view.h"
#include "datasets/strata.h"

namespace lra {

// Four strata by the quantity's quartiles, as equal in size as ties allow: an example that equals a
// quartile is in the lower stratum. Their names say the range: "3.0 to 7.5", where the end belongs
// to the stratum and the beginning does not, but for the smallest value. Strata without examples
// are left out. `values` is one value for each example of the split.
Strata QuartersOf(std::string name, std::string definition, const std::vector<double>& values);

// How many tokens an example has as the view shows it, both texts of a pair together: "1 to 64",
// "65 to 128", ..., each twice the one before, up to the longest. Nothing where all are equally
// long.
std::vector<Strata> LengthStrata(const SplitView& split);

}  // namespace lra

#endif  // LRA_TASKS_QUARTERS_H_
