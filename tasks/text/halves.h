// Two texts from the two ends of a review.
#ifndef LRA_TASKS_TEXT_HALVES_H_
#define LRA_TASKS_TEXT_HALVES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"

namespace lra::text {

struct Halves {
  std::string first, last;
};

struct CutRule {
  size_t text_bytes = 0;
  size_t gap_bytes = 0;
};

// The review in one line: runs of white space and of line breaks (<br />) become one space, and
// there is none at either end. Otherwise paragraphs give away which halves belong together: some
// writers make them, others do not.
std::string WithoutLayout(absl::string_view review);

// The longest prefix and the longest suffix of whole words of at most rule.text_bytes each. nullopt
// if fewer than rule.gap_bytes would stand between the two, or if a word is so long that less than
// half of text_bytes is left of either. `line` is WithoutLayout's.
std::optional<Halves> CutHalves(absl::string_view line, const CutRule& rule);

// Finds reviews that repeat another one, whole or in part. Words are runs of letters, digits,
// apostrophes and bytes above 127, in lower case. Not thread-safe. Memory: 9 to 21 bytes for each
// word of the texts that were kept.
class RepeatFilter {
 public:
  // `words` >= 1 in a row make a repetition.
  explicit RepeatFilter(int words) : words_(words) {}

  // True if no run of so many words occurs in texts that were kept before; then these are kept,
  // too. A text of fewer words is one run.
  bool Keep(const Halves& halves);

 private:
  const size_t words_;
  absl::flat_hash_set<uint64_t> runs_;
};

}  // namespace lra::text

#endif  // LRA_TASKS_TEXT_HALVES_H_
