#include "tasks/kneser_ney.h"

#include <algorithm>
#include <bit>

#include "lra/check.h"

namespace lra {
namespace {

// Tokens count from 1 in a gram; 0 stands in front of the first one.
constexpr int kGramBits = 64;

int BitsOf(int64_t ids) { return std::bit_width(static_cast<uint64_t>(ids)); }

// By how many counts are one and two; where none are, half of a count.
double DiscountOf(const absl::flat_hash_map<uint64_t, int64_t>& counts) {
  double once = 0, twice = 0;
  for (const auto& [gram, count] : counts) {
    once += count == 1;
    twice += count == 2;
  }
  return once > 0 ? once / (once + 2 * twice) : 0.5;
}

}  // namespace

KneserNey::KneserNey(int order, int64_t ids, bool zero_is_token)
    : bits_(BitsOf(ids)),
      order_(std::min(order, kGramBits / bits_)),
      ids_(ids),
      first_id_(zero_is_token ? 0 : 1),
      counts_(order_),
      contexts_(order_),
      discounts_(order_) {
  LRA_CHECK(order_ >= 1 && ids > first_id_);
}

KneserNey::Gram KneserNey::Last(Gram gram, int tokens) const {
  const int bits = tokens * bits_;
  return bits >= kGramBits ? gram : gram & ((Gram{1} << bits) - 1);
}

KneserNey::Gram KneserNey::ContextAt(absl::Span<const int32_t> ids, size_t n) const {
  Gram context = 0;
  for (size_t back = std::min<size_t>(n, order_ - 1); back > 0; --back)
    context = context << bits_ | static_cast<Gram>(ids[n - back] + 1);
  return context;
}

void KneserNey::Count(absl::Span<const int32_t> ids, int64_t first) {
  for (size_t n = first; n < ids.size(); ++n)
    ++counts_[order_ - 1][ContextAt(ids, n) << bits_ | static_cast<Gram>(ids[n] + 1)];
}

void KneserNey::Fit() {
  for (int length = order_ - 1; length >= 1; --length) {
    for (const auto& [gram, count] : counts_[length]) ++counts_[length - 1][Last(gram, length)];
  }
  for (int length = 1; length <= order_; ++length) {
    discounts_[length - 1] = DiscountOf(counts_[length - 1]);
    for (const auto& [gram, count] : counts_[length - 1]) {
      Context& context = contexts_[length - 1][gram >> bits_];
      context.total += count;
      ++context.different;
    }
  }
}

double KneserNey::POf(Gram context, int32_t id) const {
  double p = 1.0 / static_cast<double>(ids_ - first_id_);
  for (int length = 1; length <= order_; ++length) {
    const Gram shorter = Last(context, length - 1);
    const auto seen = contexts_[length - 1].find(shorter);
    if (seen == contexts_[length - 1].end()) break;  // nor was any longer one
    const double discount = discounts_[length - 1];
    const auto count = counts_[length - 1].find(shorter << bits_ | static_cast<Gram>(id + 1));
    const double kept =
        count == counts_[length - 1].end() ? 0 : static_cast<double>(count->second) - discount;
    p = (kept + discount * static_cast<double>(seen->second.different) * p) /
        static_cast<double>(seen->second.total);
  }
  return p;
}

double KneserNey::P(absl::Span<const int32_t> ids, size_t n) const {
  return POf(ContextAt(ids, n), ids[n]);
}

int32_t KneserNey::Best(absl::Span<const int32_t> ids, size_t n) const {
  const Gram context = ContextAt(ids, n);
  const auto known = best_.find(context);
  if (known != best_.end()) return known->second;
  int32_t best = first_id_;
  double best_p = -1;
  for (auto id = first_id_; id < ids_; ++id) {
    const double p = POf(context, id);
    if (p <= best_p) continue;
    best = id;
    best_p = p;
  }
  best_[context] = best;
  return best;
}

}  // namespace lra
