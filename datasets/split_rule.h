// Which stored examples a view calls "train", "validation" and "test".
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

// The view's rule, or what stands for an unset one: OFFICIAL where train, validation and test are
// stored (or anything else that needs no cutting); of train and test HOLDOUT for texts and SEED42
// for images; SEED42 of "all". FailedPrecondition when the stored splits cannot serve the rule,
// with those that they can serve.
absl::StatusOr<DataView::Split> ResolveSplitRule(const Manifest& manifest, const DataView& view);

// The rules that the stored splits can serve.
std::vector<DataView::Split> PossibleSplitRules(const Manifest& manifest);

// The stored split that holds the examples of `split` under a rule that ResolveSplitRule gave;
// `split` itself where it is no split of that rule.
std::string StoredSplit(const Manifest& manifest, DataView::Split rule, absl::string_view split);

// Indices in StoredSplit of the examples of `split`, in the view's order; sizes that do not divide
// evenly are rounded as state-spaces/s4 (SEED42) and tensorflow_datasets (SLICES) do. `label` is
// asked by HOLDOUT only.
std::vector<int64_t> SplitExamples(const Manifest& manifest, DataView::Split rule,
                                   absl::string_view split,
                                   const std::function<int32_t(int64_t)>& label);

// Names the content of a view's split: the stored split's content fingerprint where the rule takes
// all of it in order, otherwise the SHA-256 of "FINGERPRINT RULE SPLIT".
std::string SplitFingerprint(const Manifest& manifest, DataView::Split rule,
                             absl::string_view split);

// torch.randperm(n) of a CPU generator seeded with `seed`: MT19937, element i swapped with
// i + next % (n - i). n < 2^32 / 20.
std::vector<int64_t> TorchPermutation(int64_t n, uint32_t seed);

}  // namespace lra

#endif  // LRA_DATASETS_SPLIT_RULE_H_
