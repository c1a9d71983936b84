#include "tasks/near_majority/votes.h"

#include <algorithm>
#include <vector>

namespace lra::near_majority {
namespace {

int64_t Vote(int32_t id) { return id == kFor ? 1 : id == kAgainst ? -1 : 0; }

}  // namespace

int64_t TotalMargin(absl::Span<const int32_t> ids) {
  int64_t margin = 0;
  for (const int32_t id : ids) margin += Vote(id);
  return margin;
}

int64_t NearMargin(absl::Span<const int32_t> ids, int64_t distance) {
  const auto n = static_cast<int64_t>(ids.size());
  std::vector<bool> is_near(n);
  for (int64_t i = 0; i < n; ++i) {
    if (ids[i] != kMark) continue;
    const int64_t end = std::min(n, i + distance + 1);
    for (int64_t j = std::max<int64_t>(0, i - distance); j < end; ++j) is_near[j] = true;
  }
  int64_t margin = 0;
  for (int64_t i = 0; i < n; ++i) margin += is_near[i] ? Vote(ids[i]) : 0;
  return margin;
}

}  // namespace lra::near_majority
