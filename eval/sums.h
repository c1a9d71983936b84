// Named sums (lra.Sums): what scorers make and metrics read. Parts are merged as sums; a ratio is
// taken once, at the end.
#ifndef LRA_EVAL_SUMS_H_
#define LRA_EVAL_SUMS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "eval/run_record.pb.h"

namespace lra {

// Counts.
inline constexpr char kTargets[] = "targets";  // what was guessed: labels or tokens
inline constexpr char kCorrect[] = "correct";  // of these, guessed rightly
inline constexpr char kTokens[] = "tokens";    // of these, the tokens of a text
// Totals.
inline constexpr char kNats[] = "nats";  // -log p(target)

bool HasSum(const Sums& sums, absl::string_view name);
// 0 where there is none of this name.
int64_t CountOf(const Sums& sums, absl::string_view name);
double TotalOf(const Sums& sums, absl::string_view name);
// Sorted names of all counts and totals.
std::vector<std::string> NamesOf(const Sums& sums);

// The same sums of each of E examples, in data-set order: each vector has E elements.
struct ExampleSums {
  std::map<std::string, std::vector<int64_t>> counts;
  std::map<std::string, std::vector<double>> totals;

  // Adds each sum of `other`, of as many examples, to that of the same name and example.
  void Add(const ExampleSums& other);
  // The sums of these examples, in this order.
  ExampleSums Pick(absl::Span<const int64_t> examples) const;
  // Those of example i, in place of what *one has of these names.
  void Get(size_t i, Sums* one) const;
  // Over all examples, added in their order.
  Sums Total() const;
};

}  // namespace lra

#endif  // LRA_EVAL_SUMS_H_
