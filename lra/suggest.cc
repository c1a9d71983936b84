#include "lra/suggest.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace lra {

int EditDistance(absl::string_view a, absl::string_view b) {
  const int n = static_cast<int>(a.size()), m = static_cast<int>(b.size());
  std::vector<std::vector<int>> cost(n + 1, std::vector<int>(m + 1));
  for (int i = 0; i <= n; ++i) cost[i][0] = i;
  for (int j = 0; j <= m; ++j) cost[0][j] = j;
  for (int i = 1; i <= n; ++i) {
    for (int j = 1; j <= m; ++j) {
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1,
                             cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[n][m];
}

namespace {

// What the literature calls things that have another name here.
constexpr std::pair<absl::string_view, absl::string_view> kOtherNames[] = {
    {"aan", "retrieval"}, {"cifar", "image"},         {"cifar10", "image"},
    {"imdb", "text"},     {"softmax", "transformer"}, {"vanilla", "transformer"},
};

// The candidate of which the name is the beginning, or that goes by it elsewhere; "" for none.
std::string WellMeant(absl::string_view name, const std::vector<std::string>& candidates) {
  constexpr size_t kLeastBeginning = 3;
  for (const std::string& candidate : candidates) {
    const bool is_beginning = name.size() >= kLeastBeginning && absl::StartsWith(candidate, name);
    const bool is_other_name = std::any_of(
        std::begin(kOtherNames), std::end(kOtherNames),
        [&](const auto& other) { return other.first == name && other.second == candidate; });
    if (is_beginning || is_other_name) return candidate;
  }
  return "";
}

}  // namespace

std::string Nearest(absl::string_view name, const std::vector<std::string>& candidates) {
  if (std::string meant = WellMeant(name, candidates); !meant.empty()) return meant;
  int best = std::max(2, static_cast<int>(name.size()) / 3) + 1;
  std::string nearest;
  for (const std::string& candidate : candidates) {
    const int distance = EditDistance(name, candidate);
    if (distance >= best) continue;
    best = distance;
    nearest = candidate;
  }
  return nearest;
}

absl::Status UnknownNameError(absl::string_view what, absl::string_view name,
                              const std::vector<std::string>& known) {
  const std::string nearest = Nearest(name, known);
  const std::string hint = nearest.empty() ? "" : absl::StrCat("; did you mean \"", nearest, "\"?");
  const std::string list = known.empty() ? "none" : absl::StrJoin(known, ", ");
  return absl::InvalidArgumentError(absl::StrCat("unknown ", what, " \"", name, "\"", hint,
                                                 nearest.empty() ? ". Known: " : " Known: ", list));
}

}  // namespace lra
