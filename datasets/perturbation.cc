#include "datasets/perturbation.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "datasets/manifest.h"
#include "lra/check.h"
#include "lra/random.h"

namespace lra {
namespace {

// For each position, the position that it takes its value from.
using Order = std::vector<int64_t>;

Order IdentityOrder(int64_t n) {
  Order order(n);
  for (int64_t i = 0; i < n; ++i) order[i] = i;
  return order;
}

Order BlockOrder(int64_t n, int64_t size, const RandomStream& random) {
  Order order;
  for (int64_t block : Permutation((n + size - 1) / size, random)) {
    for (int64_t i = block * size; i < std::min(n, (block + 1) * size); ++i) order.push_back(i);
  }
  return order;
}

Order WindowOrder(int64_t n, int64_t size, RandomStream random) {
  Order order = IdentityOrder(n);
  for (int64_t begin = 0; begin < n; begin += size) {
    for (int64_t left = std::min(size, n - begin); left > 1; --left) {
      std::swap(order[begin + left - 1], order[begin + random.Below(static_cast<uint32_t>(left))]);
    }
  }
  return order;
}

Order PatchOrder(int64_t side, int64_t size, const RandomStream& random) {
  LRA_CHECK(side % size == 0) << side << " pixels, patches of " << size;
  const int64_t across = side / size;
  const std::vector<int64_t> patches = Permutation(across * across, random);
  Order order(side * side);
  for (int64_t y = 0; y < side; ++y) {
    for (int64_t x = 0; x < side; ++x) {
      const int64_t from = patches[y / size * across + x / size];
      order[y * side + x] =
          (from / across * size + y % size) * side + from % across * size + x % size;
    }
  }
  return order;
}

Order OrderOf(const Perturbation& perturbation, int64_t n, int64_t side,
              const RandomStream& random) {
  switch (perturbation.kind) {
    case Perturbation::kBlocks:
      return BlockOrder(n, perturbation.size, random);
    case Perturbation::kWindows:
      return WindowOrder(n, perturbation.size, random);
    case Perturbation::kPatches:
      LRA_CHECK(n == side * side) << n;
      return PatchOrder(side, perturbation.size, random);
    case Perturbation::kNone:
      break;
  }
  return IdentityOrder(n);
}

template <class T>
void Reorder(const Order& order, T* row) {
  const std::vector<T> before(row, row + order.size());
  for (size_t i = 0; i < order.size(); ++i) row[i] = before[order[i]];
}

}  // namespace

std::string Name(const Perturbation& perturbation) {
  const int64_t size = perturbation.size;
  switch (perturbation.kind) {
    case Perturbation::kBlocks:
      return absl::StrCat("blocks of ", size, " shuffled");
    case Perturbation::kWindows:
      return absl::StrCat("shuffled within ", size);
    case Perturbation::kPatches:
      return absl::StrCat("patches of ", size, " x ", size, " shuffled");
    case Perturbation::kNone:
      break;
  }
  return "as they are";
}

std::vector<Perturbation> PerturbationsFor(const TaskSpec& seen) {
  std::vector<Perturbation> all = {{Perturbation::kNone, 0}};
  if (seen.content() == TaskSpec::TEXT) {
    for (int64_t size : {256, 64, 16, 4, 1}) all.push_back({Perturbation::kBlocks, size});
    for (int64_t size : {4, 16, 64, 256}) all.push_back({Perturbation::kWindows, size});
    return all;
  }
  if (!IsImage(seen) || seen.pixel_tokens() > 1) return {};
  for (int64_t size = 1; 2 * size <= seen.image_side_pixels(); size *= 2) {
    if (seen.image_side_pixels() % size == 0) all.push_back({Perturbation::kPatches, size});
  }
  return all;
}

void Perturb(const Perturbation& perturbation, const TaskSpec& seen, uint32_t seed,
             int64_t fixed_tokens, HostBatch* batch) {
  if (perturbation.kind == Perturbation::kNone) return;
  static const RandomDomain domain("perturbation");
  for (int64_t b = 0; b < batch->batch; ++b) {
    for (uint32_t column = 0; column < (batch->tokens_b.empty() ? 1u : 2u); ++column) {
      const RandomStream random(seed, domain,
                                {static_cast<uint32_t>(batch->example_ids[b]), column, 0});
      const int64_t length = column == 0 ? batch->lengths[b] : batch->lengths_b[b];
      const Order order = OrderOf(perturbation, std::max<int64_t>(length - fixed_tokens, 0),
                                  seen.image_side_pixels(), random);
      if (!batch->values.empty()) {
        Reorder(order, batch->values.data() + b * batch->length);
      } else if (column == 0) {
        Reorder(order, batch->tokens.data() + b * batch->length);
      } else {
        Reorder(order, batch->tokens_b.data() + b * batch->length_b);
      }
    }
  }
}

}  // namespace lra
