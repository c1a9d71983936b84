// Which places of a padded batch are padding.
#ifndef LRA_DATASETS_REAL_TOKENS_H_
#define LRA_DATASETS_REAL_TOKENS_H_

#include <algorithm>
#include <cstdint>

#include "absl/types/span.h"

namespace lra {

// Fills real [N] of one row: true at its first `length` places, with zero_is_padding
// (view.zero_is_padding) only where the id is not 0, too. ids [N] are read only then.
inline void MarkRealTokens(absl::Span<const int32_t> ids, int64_t length, bool zero_is_padding,
                           absl::Span<bool> real) {
  std::fill_n(real.begin(), length, true);
  std::fill(real.begin() + length, real.end(), false);
  if (!zero_is_padding) return;
  std::transform(ids.begin(), ids.begin() + length, real.begin(),
                 [](int32_t id) { return id != 0; });
}

}  // namespace lra

#endif  // LRA_DATASETS_REAL_TOKENS_H_
