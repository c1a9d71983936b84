// How local attention weights are: how far away what a query sees is, how much of it is near, and
// of how many independent patterns the rows are made.
//
// Each query's weights count as shares of their sum. Where weights have both signs, their absolute
// values stand for them, because a sum near 0 has no shares; singular values need no such rule.
#ifndef LRA_EVAL_LOCALITY_H_
#define LRA_EVAL_LOCALITY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"

namespace lra {

// For each of some queries, sums over the keys j that query i sees, one row after the other:
//   w_ij, |i - j| w_ij, and for each window the w_ij with |i - j| <= window.
struct LocalitySums {
  int64_t windows = 0;
  std::vector<double> values;  // [queries, 2 + windows]
};

// The weights of one head as products of features (models/interface/attention.h), which are not
// negative: w_ij = query_i . key_j prod_s g_s, s from min(i, j) + 1 to max(i, j).
struct HeadFeatures {
  int64_t tokens = 0, width = 0;
  const double* query = nullptr;      // [tokens, width]
  const double* key = nullptr;        // [tokens, width]; 0 at masked keys
  const double* log_decay = nullptr;  // [tokens], log g; nullptr = 0
  bool is_causal = false;
};

// The sums of all queries in time linear in the number of tokens: keys are summed over prefixes,
// suffixes and windows.
LocalitySums SumLinearly(const HeadFeatures& head, absl::Span<const int64_t> windows);

// The sums of the queries first, first + 1, ... with these rows of weights [queries, keys].
LocalitySums SumRows(absl::Span<const double> rows, int64_t keys, int64_t first,
                     absl::Span<const int64_t> windows);

// Means over queries, then over examples, heads and layers.
struct Locality {
  double mean_distance_tokens = 0;
  std::vector<double> mass_within;  // shares, of each window
  // exp of the entropy of the singular values of W, divided by their sum: Roy and Vetterli 2007
  // ("The effective rank: a measure of effective dimensionality"). 1 where all rows are multiples
  // of one, N where they are orthogonal and equally long. Unset where it was not computed.
  std::optional<double> effective_rank;
};

// From singular values >= 0; 0 where all are 0.
double EffectiveRank(absl::Span<const double> singular_values);

// The mean over queries. Those that are masked, and those without any weight, do not count; nullopt
// if none does. An empty `is_counted` counts all.
std::optional<Locality> MeanOverQueries(const LocalitySums& sums,
                                        absl::Span<const bool> is_counted);

// The mean of at least one; of effective ranks, that of those that have one.
Locality MeanLocality(const std::vector<Locality>& all);

// --- of trained models ---

struct HeadLocality {
  int64_t layer = 0, head = 0;
  Locality locality;
};

// What a model's attention does on some examples.
struct ModelLocality {
  std::string run, method;
  int64_t examples = 0, passed_over = 0;  // the latter were longer than the limit
  double mean_tokens = 0;                 // of a sequence
  std::vector<int64_t> windows;
  bool is_absolute = false;  // weights have both signs
  Locality mean;             // over heads and layers
  Locality uniform;          // of equal weights on the same examples: what to hold it against
  std::vector<HeadLocality> heads;
};

// The columns of a table's measures, and their cells: "-" for what is not known.
std::vector<std::string> LocalityColumns(absl::Span<const int64_t> windows);
std::vector<std::string> LocalityCells(const std::optional<Locality>& locality, size_t windows,
                                       int digits);

// A line for each model, all of the same windows, and for equal weights, or with `by_head` for each
// head as well. Padded Markdown.
std::string LocalityText(const std::vector<ModelLocality>& models, bool by_head);
std::string LocalityCsv(const std::vector<ModelLocality>& models, bool by_head);
std::string LocalityJson(const std::vector<ModelLocality>& models);

}  // namespace lra

#endif  // LRA_EVAL_LOCALITY_H_
