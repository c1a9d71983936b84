#include "tasks/quarters.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lra/progress.h"

namespace lra {

Strata QuartersOf(std::string name, std::string definition, const std::vector<double>& values) {
  Strata strata{std::move(name), std::move(definition), {}, {}};
  if (values.empty()) return strata;
  std::vector<double> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  std::vector<double> ends;  // of the strata, each above the one before
  for (size_t quarter = 1; quarter <= 4; ++quarter) {
    const double end = sorted[(quarter * sorted.size() + 3) / 4 - 1];
    if (ends.empty() || end > ends.back()) ends.push_back(end);
  }
  double begin = sorted.front();
  for (double end : ends) {
    strata.names.push_back(absl::StrFormat("%.1f to %.1f", begin, end));
    begin = end;
  }
  for (double value : values) {
    const auto end = std::lower_bound(ends.begin(), ends.end(), value);
    strata.of.push_back(static_cast<int>(end - ends.begin()));
  }
  return strata;
}

std::vector<Strata> LengthStrata(const SplitView& split) {
  std::vector<int64_t> lengths;
  for (int64_t i = 0; i < split.size(); ++i) {
    int64_t tokens = split.length_tokens(i);
    if (split.spec().is_pair()) tokens += split.length_tokens(i, 1);
    lengths.push_back(tokens);
  }
  const auto [least, most] = std::minmax_element(lengths.begin(), lengths.end());
  if (lengths.empty() || *least == *most) return {};
  constexpr int64_t kFirstEnd = 64;
  Strata strata{"length", "tokens of an example as the model reads it", {}, {}};
  if (split.spec().is_pair()) strata.definition += ", both texts of a pair together";
  std::vector<int64_t> ends;
  for (int64_t end = kFirstEnd, begin = 1; begin <= *most; begin = end + 1, end *= 2) {
    ends.push_back(end);
    strata.names.push_back(absl::StrCat(FormatCount(begin), " to ", FormatCount(end)));
  }
  for (const int64_t tokens : lengths) {
    strata.of.push_back(
        static_cast<int>(std::lower_bound(ends.begin(), ends.end(), tokens) - ends.begin()));
  }
  return {std::move(strata)};
}

}  // namespace lra
