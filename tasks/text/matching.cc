#include "tasks/text/matching.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace lra::text {
namespace {

// Draws before a group is taken in order instead: far more than a group needs in which few pairs
// are of one kind.
constexpr int kDrawsPerItem = 64;

void Shuffle(std::vector<int64_t>* items, RandomStream* random) {
  for (size_t i = items->size(); i > 1; --i)
    std::swap((*items)[i - 1], (*items)[random->Below(static_cast<uint32_t>(i))]);
}

class GroupMatcher {
 public:
  GroupMatcher(absl::Span<const Matchable> items, std::vector<int64_t> members,
               RandomStream* random)
      : items_(items), members_(std::move(members)), random_(random) {}

  void Match(std::vector<int64_t>* partner_of) {
    Shuffle(&members_, random_);
    Trim();
    partners_ = members_;
    Shuffle(&partners_, random_);
    if (!Repair()) Rotate();
    for (size_t i = 0; i < members_.size(); ++i) (*partner_of)[members_[i]] = partners_[i];
  }

 private:
  int64_t Kind(int64_t item) const { return items_[item].kind; }
  bool Fits(size_t i, int64_t partner) const { return Kind(members_[i]) != Kind(partner); }

  std::pair<int64_t, size_t> CommonestKind() const {
    std::map<int64_t, size_t> counts;
    for (const int64_t item : members_) ++counts[Kind(item)];
    std::pair<int64_t, size_t> commonest{0, 0};
    for (const auto& [kind, count] : counts)
      if (count > commonest.second) commonest = {kind, count};
    return commonest;
  }

  // Leaves as many of the commonest kind as there are others.
  void Trim() {
    const auto [kind, count] = CommonestKind();
    size_t left = members_.size() - count;
    std::vector<int64_t> kept;
    for (const int64_t item : members_) {
      if (Kind(item) != kind || count <= members_.size() - count) {
        kept.push_back(item);
      } else if (left > 0) {
        --left;
        kept.push_back(item);
      }
    }
    members_ = std::move(kept);
  }

  // Swaps partners that do not fit with others drawn at random, where both then fit.
  bool Repair() {
    const auto size = static_cast<uint32_t>(members_.size());
    for (size_t i = 0; i < size; ++i) {
      for (int draw = 0; !Fits(i, partners_[i]); ++draw) {
        if (draw == kDrawsPerItem) return false;
        const uint32_t other = random_->Below(size);
        if (Fits(i, partners_[other]) && Fits(other, partners_[i]))
          std::swap(partners_[i], partners_[other]);
      }
    }
    return true;
  }

  // In the order of kinds, the item so far ahead as the commonest kind is frequent is of another
  // kind, because that is at most half of the items.
  void Rotate() {
    std::stable_sort(members_.begin(), members_.end(),
                     [this](int64_t a, int64_t b) { return Kind(a) < Kind(b); });
    partners_ = members_;
    std::rotate(partners_.begin(), partners_.begin() + static_cast<int64_t>(CommonestKind().second),
                partners_.end());
  }

  const absl::Span<const Matchable> items_;
  std::vector<int64_t> members_, partners_;
  RandomStream* const random_;
};

}  // namespace

std::vector<int64_t> Match(absl::Span<const Matchable> items, RandomStream random) {
  std::map<int64_t, std::vector<int64_t>> groups;
  for (size_t i = 0; i < items.size(); ++i)
    groups[items[i].group].push_back(static_cast<int64_t>(i));
  std::vector<int64_t> partner_of(items.size(), -1);
  for (auto& [group, members] : groups)
    GroupMatcher(items, std::move(members), &random).Match(&partner_of);
  return partner_of;
}

}  // namespace lra::text
