// How local a trained model's attention is on examples of its data (`lra locality`).
#ifndef LRA_INSPECT_LOCALITY_H_
#define LRA_INSPECT_LOCALITY_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "eval/locality.h"
#include "inspect/open_checkpoint.h"

namespace lra {

// The singular values of a matrix without low rank take time with the cube of the number of tokens:
// of longer sequences there is no effective rank then. 32 x 32 pixels and CLS have one.
inline constexpr int64_t kMaxRankTokens = 32 * 32 + 1;
// Methods whose weights can only be made all at once pass over longer examples, unless told
// otherwise.
inline constexpr int64_t kMaxDenseTokens = kMaxRankTokens;

struct LocalityRequest : LookRequest {
  int64_t examples = 16;              // the first of the split
  std::optional<int64_t> max_tokens;  // unset = kMaxDenseTokens where W must be dense, else none
  std::vector<int64_t> windows = {1, 4, 16, 64};
};

// Each example is run alone, as for maps. Linear attentions whose weights are not negative take
// time linear in the number of tokens, those with both signs and softmax memory linear in it. If
// the split is test, the look is logged in the run's record. InvalidArgument for a method without
// weights, and where no example is short enough; FailedPrecondition where no query has any weight.
absl::StatusOr<ModelLocality> MeasureLocality(const LocalityRequest& request);

}  // namespace lra

#endif  // LRA_INSPECT_LOCALITY_H_
