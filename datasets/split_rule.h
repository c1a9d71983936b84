// Decides which stored examples a view calls "train", "validation" and "test".
#ifndef LRA_DATASETS_SPLIT_RULE_H_
#define LRA_DATASETS_SPLIT_RULE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "datasets/manifest.pb.h"
#include "lra/config.pb.h"

namespace lra {

// The view's rule or, if it is unset, the default: OFFICIAL where train, validation and test are
// stored (or any other splits that need no cutting); for stored train and test, HOLDOUT for texts
// and SEED42 for images; for stored "all", SEED42. FailedPrecondition, listing the possible rules,
// if the stored splits do not allow the rule.
absl::StatusOr<DataView::Split> ResolveSplitRule(const Manifest& manifest, const DataView& view);

// The rules that the stored splits allow.
std::vector<DataView::Split> PossibleSplitRules(const Manifest& manifest);

// The stored split that holds the examples of `split` under a rule that ResolveSplitRule returned;
// `split` itself if the rule has no such split.
std::string StoredSplit(const Manifest& manifest, DataView::Split rule, absl::string_view split);

// Indices in StoredSplit of the examples of `split`, in the view's order. Sizes that do not divide
// evenly are rounded as in state-spaces/s4 (SEED42) and tensorflow_datasets (SLICES). `label` is
// called for HOLDOUT only.
std::vector<int64_t> SplitExamples(const Manifest& manifest, DataView::Split rule,
                                   absl::string_view split,
                                   const std::function<int32_t(int64_t)>& label);

// The fingerprint of a view's split: the stored split's content fingerprint if the rule uses all of
// it in order, otherwise the SHA-256 of "FINGERPRINT RULE SPLIT".
std::string SplitFingerprint(const Manifest& manifest, DataView::Split rule,
                             absl::string_view split);

// Equals torch.randperm(n) with a CPU generator seeded with `seed`: MT19937 outputs swap element i
// with i + next % (n - i). n < 2^32 / 20.
std::vector<int64_t> TorchPermutation(int64_t n, uint32_t seed);

}  // namespace lra

#endif  // LRA_DATASETS_SPLIT_RULE_H_
