// Entropies of the tokens of a split: what a model that predicts tokens is held against. A loss at
// the unigram's entropy says that the model knows how often each token occurs and nothing else.
#ifndef LRA_DATASETS_TOKEN_ENTROPY_H_
#define LRA_DATASETS_TOKEN_ENTROPY_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "datasets/split_view.h"

namespace lra {

// Counts tokens and pairs of neighbouring tokens of the same sequence.
class TokenCounts {
 public:
  // Ids are 0 .. vocabulary_size - 1.
  explicit TokenCounts(int64_t vocabulary_size);

  void Add(absl::Span<const int32_t> sequence);
  void Merge(const TokenCounts& other);

  int64_t tokens() const { return tokens_; }
  // H(X) = -sum p(x) ln p(x), in nats a token; 0 without tokens.
  double UnigramNats() const;
  // H(Y|X) of a token Y after a token X, in nats a token; 0 without pairs.
  double BigramNats() const;

 private:
  int64_t vocabulary_size_, tokens_ = 0, pairs_ = 0;
  std::vector<int64_t> unigrams_, firsts_;
  // By x * vocabulary_size + y: a table while it is small, otherwise what occurs.
  std::vector<int64_t> table_;
  absl::flat_hash_map<int64_t, int64_t> sparse_;
};

struct TokenEntropy {
  double unigram_nats = 0;
  double bigram_nats = 0;
  int64_t tokens = 0;
  // How many of the split's examples were counted.
  int64_t examples = 0;
};

// More examples than these are not counted; there are then at least so many tokens that entropies
// stand to three digits.
inline constexpr int64_t kEntropyExamples = 50000;

// Counts the ids of the split as its view shows them, both texts of pairs, the end mark too. Of
// more than `most_examples` examples, so many are counted, evenly spread over the split. The same
// for any number of threads. The view must not be one of real numbers.
TokenEntropy MeasureTokenEntropy(const SplitView& split, int threads,
                                 int64_t most_examples = kEntropyExamples);

}  // namespace lra

#endif  // LRA_DATASETS_TOKEN_ENTROPY_H_
