#include "eval/multiple.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace lra {
namespace {

using Group = std::set<int>;

bool IsInside(const Group& inner, const Group& outer) {
  return inner.size() <= outer.size() &&
         std::includes(outer.begin(), outer.end(), inner.begin(), inner.end());
}

// Splits the groups that hold the pair; parts that lie inside another group are absorbed by it.
// Groups that stay are no part of each other and of no part, so only parts need be looked at.
std::vector<Group> Split(const std::vector<Group>& groups, std::pair<int, int> pair) {
  std::vector<Group> split, parts;
  for (const Group& group : groups) {
    if (!group.contains(pair.first) || !group.contains(pair.second)) {
      split.push_back(group);
      continue;
    }
    for (const int gone : {pair.first, pair.second}) {
      parts.push_back(group);
      parts.back().erase(gone);
    }
  }
  const size_t stayed = split.size();
  for (size_t p = 0; p < parts.size(); ++p) {
    bool is_inside = false;
    for (size_t g = 0; g < stayed && !is_inside; ++g) is_inside = IsInside(parts[p], split[g]);
    for (size_t other = 0; other < parts.size() && !is_inside; ++other) {
      // The first of equal parts is kept.
      is_inside = other != p && IsInside(parts[p], parts[other]) &&
                  (parts[p].size() < parts[other].size() || other < p);
    }
    if (!is_inside) split.push_back(parts[p]);
  }
  return split;
}

}  // namespace

std::vector<double> HolmP(absl::Span<const double> p) {
  std::vector<size_t> order(p.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return p[a] < p[b]; });
  std::vector<double> adjusted(p.size());
  double largest = 0;
  for (size_t j = 0; j < order.size(); ++j) {
    largest = std::max(largest, std::min(1.0, static_cast<double>(p.size() - j) * p[order[j]]));
    adjusted[order[j]] = largest;
  }
  return adjusted;
}

std::vector<std::vector<int>> LetterGroups(int count,
                                           const std::vector<std::pair<int, int>>& differing) {
  Group everything;
  for (int row = 0; row < count; ++row) everything.insert(row);
  std::vector<Group> groups = {everything};
  for (const std::pair<int, int>& pair : differing) {
    groups = Split(groups, pair);
    if (groups.size() > kMostLetterGroups) return {};
  }
  std::sort(groups.begin(), groups.end());  // sets compare by their best members first
  std::vector<std::vector<int>> of_row(count);
  for (size_t g = 0; g < groups.size(); ++g) {
    for (const int row : groups[g]) of_row[row].push_back(static_cast<int>(g));
  }
  return of_row;
}

std::string LetterText(const std::vector<int>& groups, int group_count) {
  const char* const separator = group_count > kAlphabet ? "," : "";
  return absl::StrJoin(groups, separator, [](std::string* out, int group) {
    out->push_back(static_cast<char>('a' + group % kAlphabet));
    if (group >= kAlphabet) absl::StrAppend(out, 1 + group / kAlphabet);
  });
}

}  // namespace lra
