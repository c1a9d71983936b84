// Counts equal inputs within and across splits, those with another label among them, and single
// texts that the pairs of two splits share. Manifests report these counts and `verify` recomputes
// them.
#ifndef LRA_DATASETS_LEAKAGE_H_
#define LRA_DATASETS_LEAKAGE_H_

#include <string>
#include <utility>
#include <vector>

#include "datasets/example.h"
#include "datasets/manifest.pb.h"

namespace lra {

// What is remembered of the examples of a split, in any order: 16 bytes each, 48 for pairs.
class SplitKeys {
 public:
  explicit SplitKeys(bool is_pair = false) : is_pair_(is_pair) {}
  void Add(const ExampleDigest& digest);

 private:
  friend void CountLeakage(std::vector<SplitKeys> keys, Manifest* manifest);
  bool is_pair_;
  std::vector<InputKey> inputs_;  // their last bits are the label
  std::vector<std::pair<InputKey, InputKey>> documents_;
};

// keys[i] are those of manifest->splits(i). Fills in duplicates and shared_documents.
void CountLeakage(std::vector<SplitKeys> keys, Manifest* manifest);

// What the counts say of a score, a sentence for each pair of splits of which the later has a tenth
// of its examples or more in common with the earlier one, for a split that repeats as many though
// others are cut from it, and where as many contradict each other; none for data without such.
std::vector<std::string> DescribeOverlap(const Manifest& manifest);

}  // namespace lra

#endif  // LRA_DATASETS_LEAKAGE_H_
