#include "train/seeds.h"

#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "lra/progress.h"

namespace lra {
namespace {

constexpr size_t kMostSeeds = 10000;

absl::Status BadSeeds(absl::string_view text) {
  return absl::InvalidArgumentError(
      absl::StrCat("--seeds \"", text,
                   "\": should be ascending numbers and ranges, e.g. 0, 0-4 or 0-2,7, of at most ",
                   FormatCount(kMostSeeds), " seeds"));
}

}  // namespace

absl::StatusOr<std::vector<uint32_t>> ParseSeeds(absl::string_view text) {
  std::vector<uint32_t> seeds;
  for (absl::string_view part : absl::StrSplit(text, ',')) {
    const std::vector<std::string> ends = absl::StrSplit(part, '-');
    uint32_t first = 0, last = 0;
    if (ends.size() > 2 || !absl::SimpleAtoi(ends.front(), &first) ||
        !absl::SimpleAtoi(ends.back(), &last) || last < first ||
        last - first >= kMostSeeds - seeds.size() || (!seeds.empty() && first <= seeds.back())) {
      return BadSeeds(text);
    }
    for (uint64_t seed = first; seed <= last; ++seed) seeds.push_back(static_cast<uint32_t>(seed));
  }
  return seeds;
}

absl::Status CheckNoSeedIsSet(const ResolvedConfig& resolved) {
  const auto origin = resolved.provenance.find("seed");
  if (origin == resolved.provenance.end() || origin->second != "--set") return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--set seed=", resolved.config.seed(),
                   " changes nothing: --seeds, or `seeds` of a suite, names the seeds"));
}

}  // namespace lra
