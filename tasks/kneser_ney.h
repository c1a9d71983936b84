// An n-gram model of token ids: interpolated Kneser-Ney smoothing with one discount an order
// (Kneser & Ney 1995; Chen & Goodman 1998, section 2.8).
#ifndef LRA_TASKS_KNESER_NEY_H_
#define LRA_TASKS_KNESER_NEY_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"

namespace lra {

// With c the count of an n-gram (of orders below the highest, of the different tokens in front of
// it), D = n1 / (n1 + 2 n2) of the numbers of n-grams that occur once and twice:
//   p(w | x) = (max(c(x w) - D, 0) + D |{v: c(x v) > 0}| p(w | x without its first)) / c(x .)
// and at the end all ids alike. Contexts x reach beyond the first token as if a token of its own
// stood there. Memory: about 40 bytes for each different n-gram.
class KneserNey {
 public:
  // order >= 1, lowered to what 64 bits hold. Id 0 is never guessed unless zero_is_token.
  KneserNey(int order, int64_t ids, bool zero_is_token);

  // The tokens ids[first .. end) in their contexts.
  void Count(absl::Span<const int32_t> ids, int64_t first = 0);
  // Once, after all counts; then the model can be asked.
  void Fit();

  // The probability of ids[n] after ids[0 .. n); they sum to 1.
  double P(absl::Span<const int32_t> ids, size_t n) const;
  // The likeliest id at place n, the lowest of equals. Not safe for concurrent use.
  int32_t Best(absl::Span<const int32_t> ids, size_t n) const;

 private:
  struct Context {
    int64_t total = 0;      // c(x .)
    int64_t different = 0;  // |{v: c(x v) > 0}|
  };
  using Gram = uint64_t;  // the last tokens, the latest in the lowest bits

  Gram ContextAt(absl::Span<const int32_t> ids, size_t n) const;
  Gram Last(Gram gram, int tokens) const;
  double POf(Gram context, int32_t id) const;

  const int bits_;  // of a token
  const int order_;
  const int64_t ids_;
  const int32_t first_id_;
  // By length - 1.
  std::vector<absl::flat_hash_map<Gram, int64_t>> counts_;
  std::vector<absl::flat_hash_map<Gram, Context>> contexts_;
  std::vector<double> discounts_;
  mutable absl::flat_hash_map<Gram, int32_t> best_;  // by context
};

}  // namespace lra

#endif  // LRA_TASKS_KNESER_NEY_H_
