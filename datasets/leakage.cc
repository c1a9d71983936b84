#include "datasets/leakage.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "datasets/manifest.h"

namespace lra {
namespace {

using Keys = std::vector<InputKey>;

void SortUnique(Keys* keys) {
  std::sort(keys->begin(), keys->end());
  keys->erase(std::unique(keys->begin(), keys->end()), keys->end());
}

bool Contains(const Keys& sorted, InputKey key) {
  return std::binary_search(sorted.begin(), sorted.end(), key);
}

// The label takes no memory in the key's last bits; the others tell inputs apart as well.
constexpr int kLabelBits = 24;
InputKey WithLabel(InputKey key, int32_t label) {
  constexpr uint32_t kLabels = (uint32_t{1} << kLabelBits) - 1;
  return (key >> kLabelBits << kLabelBits) | InputKey(static_cast<uint32_t>(label) & kLabels);
}
InputKey InputOf(InputKey key) { return key >> kLabelBits; }

struct Repeats {
  int64_t count = 0, with_other_label = 0;
};

Repeats RepeatsAcross(const Keys& earlier, const Keys& split) {
  Repeats repeats;
  for (const InputKey key : split) {
    const auto found = std::lower_bound(earlier.begin(), earlier.end(), WithLabel(key, 0));
    if (found == earlier.end() || InputOf(*found) != InputOf(key)) continue;
    ++repeats.count;
    repeats.with_other_label += Contains(earlier, key) ? 0 : 1;
  }
  return repeats;
}

Repeats RepeatsWithin(const Keys& sorted) {
  Repeats repeats;
  for (auto input = sorted.begin(); input != sorted.end();) {
    const auto end = std::find_if(input, sorted.end(),
                                  [&](InputKey key) { return InputOf(key) != InputOf(*input); });
    const int64_t examples = end - input;
    int64_t commonest = 0;
    for (auto label = input; label != end;) {
      const auto next = std::upper_bound(label, end, *label);
      commonest = std::max<int64_t>(commonest, next - label);
      label = next;
    }
    repeats.count += examples - 1;
    repeats.with_other_label += examples - commonest;
    input = end;
  }
  return repeats;
}

void CountDuplicates(const std::vector<Keys>& sorted, Manifest* manifest) {
  const auto add = [&](size_t earlier, size_t split, const Repeats& repeats) {
    if (repeats.count == 0) return;
    DuplicateExamples* entry = manifest->add_duplicates();
    entry->set_earlier_split(manifest->splits(static_cast<int>(earlier)).name());
    entry->set_split(manifest->splits(static_cast<int>(split)).name());
    entry->set_count(repeats.count);
    entry->set_with_other_label(repeats.with_other_label);
  };
  for (size_t b = 0; b < sorted.size(); ++b) {
    for (size_t a = 0; a < b; ++a) add(a, b, RepeatsAcross(sorted[a], sorted[b]));
    add(b, b, RepeatsWithin(sorted[b]));
  }
}

Keys DistinctDocuments(const std::vector<std::pair<InputKey, InputKey>>& pairs) {
  Keys documents;
  documents.reserve(2 * pairs.size());
  for (const auto& [first, second] : pairs) {
    documents.push_back(first);
    documents.push_back(second);
  }
  SortUnique(&documents);
  return documents;
}

// A smaller part of equal inputs changes a score by little; published data has some.
constexpr int64_t kOverlapPart = 10;

// Whether examples of the split become validation, or all three splits, under a view.
bool IsCut(const Manifest& manifest, const std::string& split) {
  return split == kAllSplit || (split == "train" && FindSplit(manifest, "validation") == nullptr);
}

}  // namespace

std::vector<std::string> DescribeOverlap(const Manifest& manifest) {
  std::vector<std::string> sentences;
  for (const DuplicateExamples& entry : manifest.duplicates()) {
    const ManifestSplit* split = FindSplit(manifest, entry.split());
    if (split != nullptr && kOverlapPart * entry.with_other_label() >= split->examples() &&
        entry.with_other_label() > 0) {
      sentences.push_back(absl::StrCat(entry.with_other_label(), " of the ", split->examples(),
                                       " examples of ", entry.split(),
                                       " have another label than an equal input of ",
                                       entry.earlier_split(), ": no model can have both right"));
    }
    if (split == nullptr || kOverlapPart * entry.count() < split->examples()) continue;
    const bool is_within = entry.split() == entry.earlier_split();
    if (is_within && !IsCut(manifest, entry.split())) continue;
    sentences.push_back(absl::StrCat(
        entry.count(), " of the ", split->examples(), " examples of ", entry.split(),
        is_within
            ? absl::StrCat(" repeat another one's input: what is cut from it may have equal "
                           "inputs on both sides, and its score is not one of unseen inputs")
            : absl::StrCat(" have an input that stands in ", entry.earlier_split(),
                           ", too: a score on ", entry.split(), " is not one of unseen inputs")));
  }
  return sentences;
}

void SplitKeys::Add(const ExampleDigest& digest) {
  inputs_.push_back(WithLabel(ToInputKey(digest.input), digest.label));
  if (!is_pair_) return;
  documents_.emplace_back(ToInputKey(digest.documents[0]), ToInputKey(digest.documents[1]));
}

void CountLeakage(std::vector<SplitKeys> keys, Manifest* manifest) {
  manifest->clear_duplicates();
  manifest->clear_shared_documents();
  std::vector<Keys> inputs, documents;
  for (SplitKeys& split : keys) {
    std::sort(split.inputs_.begin(), split.inputs_.end());
    inputs.push_back(std::move(split.inputs_));
    documents.push_back(DistinctDocuments(split.documents_));
  }
  CountDuplicates(inputs, manifest);
  for (size_t b = 0; b < keys.size(); ++b) {
    for (size_t a = 0; a < b; ++a) {
      const auto known = [&](InputKey key) { return Contains(documents[a], key); };
      const int64_t shared = std::count_if(documents[b].begin(), documents[b].end(), known);
      if (shared == 0) continue;
      SharedDocuments* entry = manifest->add_shared_documents();
      entry->set_earlier_split(manifest->splits(static_cast<int>(a)).name());
      entry->set_split(manifest->splits(static_cast<int>(b)).name());
      entry->set_shared(shared);
      entry->set_documents(static_cast<int64_t>(documents[b].size()));
      entry->set_examples(
          std::count_if(keys[b].documents_.begin(), keys[b].documents_.end(),
                        [&](const auto& pair) { return known(pair.first) || known(pair.second); }));
    }
  }
}

}  // namespace lra
