// A way to sort the examples of a split by what they ask of whoever answers them, for `lra
// profile`.
#ifndef LRA_DATASETS_STRATA_H_
#define LRA_DATASETS_STRATA_H_

#include <string>
#include <vector>

namespace lra {

struct Strata {
  std::string name;                // "evidence depth"
  std::string definition;          // a sentence that says exactly what it is
  std::vector<std::string> names;  // of the strata, in their order
  std::vector<int> of;             // [examples], in the split's order: 0 .. names.size() - 1
};

}  // namespace lra

#endif  // LRA_DATASETS_STRATA_H_
