#include "datasets/split_rule.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "datasets/manifest.h"
#include "lra/check.h"
#include "lra/random.h"
#include "lra/sha256.h"

namespace lra {
namespace {

constexpr uint32_t kS4Seed = 42;
constexpr uint32_t kHoldoutSeed = 0;

bool Stores(const Manifest& manifest, absl::string_view split) {
  return FindSplit(manifest, split) != nullptr;
}

bool IsTrainAndTest(const Manifest& manifest) {
  return manifest.splits_size() == 2 && Stores(manifest, "train") && Stores(manifest, "test");
}

// Where the parts of n examples in a row end: of "all" after 80 and 90 %, of train after 90 %.
struct Ends {
  int64_t train = 0, validation = 0;
};

// state-spaces/s4 rounds down: int(0.1 n) of "all" for validation and for test, int(0.9 n) of train
// for train.
Ends Seed42Ends(bool of_all, int64_t n) {
  if (!of_all) return {n * 9 / 10, n};
  return {n - 2 * (n / 10), n - n / 10};
}

// tensorflow_datasets takes the nearest integer, half to even.
Ends SliceEnds(bool of_all, int64_t n) {
  const auto percent = [n](int64_t p) {
    return static_cast<int64_t>(std::nearbyint(static_cast<double>(p * n) / 100));
  };
  if (!of_all) return {percent(90), n};
  return {percent(80), percent(90)};
}

// First example of a part, and the one after its last.
std::pair<int64_t, int64_t> PartOf(const Manifest& manifest, DataView::Split rule,
                                   absl::string_view split, int64_t n) {
  const bool of_all = Stores(manifest, kAllSplit);
  const Ends ends = rule == DataView::SEED42 ? Seed42Ends(of_all, n) : SliceEnds(of_all, n);
  if (split == "train") return {0, ends.train};
  if (split == "validation") return {ends.train, ends.validation};
  LRA_CHECK(split == "test") << split;
  return {ends.validation, n};
}

std::vector<int64_t> Holdout(int64_t n, bool validation,
                             const std::function<int32_t(int64_t)>& label) {
  std::vector<std::vector<int64_t>> of_class;
  for (int64_t i = 0; i < n; ++i) {
    const size_t c = static_cast<size_t>(label(i));
    if (c >= of_class.size()) of_class.resize(c + 1);
    of_class[c].push_back(i);
  }
  std::vector<int64_t> chosen;
  for (size_t c = 0; c < of_class.size(); ++c) {
    const int64_t size = static_cast<int64_t>(of_class[c].size());
    const std::vector<int64_t> order = Permutation(
        size, RandomStream(kHoldoutSeed, RandomDomain::kHoldout, {static_cast<uint32_t>(c), 0, 0}));
    for (int64_t i = 0; i < size; ++i) {
      if ((i < size / 10) == validation) chosen.push_back(of_class[c][order[i]]);
    }
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

// Whether the rule uses the stored split as it is.
bool IsWhole(const Manifest& manifest, DataView::Split rule, absl::string_view split) {
  if (rule == DataView::OFFICIAL || rule == DataView::TEST_AS_VALIDATION) return true;
  return split == "test" && !Stores(manifest, kAllSplit);
}

}  // namespace

std::vector<DataView::Split> PossibleSplitRules(const Manifest& manifest) {
  if (Stores(manifest, kAllSplit)) return {DataView::SEED42, DataView::SLICES};
  if (IsTrainAndTest(manifest)) {
    return {DataView::HOLDOUT, DataView::TEST_AS_VALIDATION, DataView::SEED42, DataView::SLICES};
  }
  return {DataView::OFFICIAL};
}

absl::StatusOr<DataView::Split> ResolveSplitRule(const Manifest& manifest, const DataView& view) {
  const std::vector<DataView::Split> possible = PossibleSplitRules(manifest);
  if (!view.has_split()) {
    const bool is_text = manifest.spec().content() == TaskSpec::TEXT;
    if (!IsTrainAndTest(manifest)) return possible.front();
    return is_text ? DataView::HOLDOUT : DataView::SEED42;
  }
  if (std::find(possible.begin(), possible.end(), view.split()) != possible.end()) {
    return view.split();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "view.split is ", DataView::Split_Name(view.split()), ", but the data stores ",
      absl::StrJoin(manifest.splits(), ", ",
                    [](std::string* out, const ManifestSplit& split) { *out += split.name(); }),
      ", which can serve ",
      absl::StrJoin(possible, ", ", [](std::string* out, DataView::Split rule) {
        *out += DataView::Split_Name(rule);
      })));
}

std::string StoredSplit(const Manifest& manifest, DataView::Split rule, absl::string_view split) {
  if (!IsSplitName(split) || rule == DataView::OFFICIAL) return std::string(split);
  if (Stores(manifest, kAllSplit)) return std::string(kAllSplit);
  if (split != "validation") return std::string(split);
  return rule == DataView::TEST_AS_VALIDATION ? "test" : "train";
}

std::vector<int64_t> SplitExamples(const Manifest& manifest, DataView::Split rule,
                                   absl::string_view split,
                                   const std::function<int32_t(int64_t)>& label) {
  const ManifestSplit* stored = FindSplit(manifest, StoredSplit(manifest, rule, split));
  LRA_CHECK(stored != nullptr) << split;
  const int64_t n = stored->examples();
  std::vector<int64_t> all(n);
  std::iota(all.begin(), all.end(), int64_t{0});
  if (IsWhole(manifest, rule, split)) return all;
  if (rule == DataView::HOLDOUT) return Holdout(n, split == "validation", label);
  if (rule == DataView::SEED42) all = TorchPermutation(n, kS4Seed);
  const auto [begin, end] = PartOf(manifest, rule, split, n);
  return {all.begin() + begin, all.begin() + end};
}

std::string SplitFingerprint(const Manifest& manifest, DataView::Split rule,
                             absl::string_view split) {
  const ManifestSplit* stored = FindSplit(manifest, StoredSplit(manifest, rule, split));
  LRA_CHECK(stored != nullptr) << split;
  if (IsWhole(manifest, rule, split)) return stored->content_fingerprint();
  return Sha256Hex(
      absl::StrCat(stored->content_fingerprint(), " ", DataView::Split_Name(rule), " ", split));
}

std::vector<int64_t> TorchPermutation(int64_t n, uint32_t seed) {
  LRA_CHECK(n < (int64_t{1} << 32) / 20) << n;
  std::mt19937 generator(seed);  // the C++ standard defines its outputs
  std::vector<int64_t> order(n);
  std::iota(order.begin(), order.end(), int64_t{0});
  for (int64_t i = 0; i + 1 < n; ++i) {
    std::swap(order[i], order[i + static_cast<int64_t>(generator()) % (n - i)]);
  }
  return order;
}

}  // namespace lra
