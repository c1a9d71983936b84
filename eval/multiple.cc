#include "eval/multiple.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "absl/strings/str_join.h"

namespace lra {
namespace {

using Group = std::set<int>;

// Without repeats and without groups that lie inside another.
std::vector<Group> Absorb(const std::vector<Group>& groups) {
  std::vector<Group> kept;
  for (size_t g = 0; g < groups.size(); ++g) {
    const auto holds = [&](size_t other) {
      if (other == g || groups[other].size() < groups[g].size()) return false;
      if (groups[other] == groups[g]) return other < g;
      return std::includes(groups[other].begin(), groups[other].end(), groups[g].begin(),
                           groups[g].end());
    };
    bool is_inside = false;
    for (size_t other = 0; other < groups.size() && !is_inside; ++other) is_inside = holds(other);
    if (!is_inside) kept.push_back(groups[g]);
  }
  return kept;
}

std::vector<Group> Split(const std::vector<Group>& groups, std::pair<int, int> pair) {
  std::vector<Group> split;
  for (const Group& group : groups) {
    if (!group.contains(pair.first) || !group.contains(pair.second)) {
      split.push_back(group);
      continue;
    }
    for (const int gone : {pair.first, pair.second}) {
      split.push_back(group);
      split.back().erase(gone);
    }
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
  for (const std::pair<int, int>& pair : differing) groups = Absorb(Split(groups, pair));
  std::sort(groups.begin(), groups.end());  // sets compare by their best members first
  std::vector<std::vector<int>> of_row(count);
  for (size_t g = 0; g < groups.size(); ++g) {
    for (const int row : groups[g]) of_row[row].push_back(static_cast<int>(g));
  }
  return of_row;
}

std::string LetterText(const std::vector<int>& groups, int group_count) {
  constexpr int kLetters = 26;
  if (group_count > kLetters) {
    return absl::StrJoin(
        groups, ",", [](std::string* out, int group) { out->append(std::to_string(group + 1)); });
  }
  std::string text;
  for (const int group : groups) text += static_cast<char>('a' + group);
  return text;
}

}  // namespace lra
