#include "datasets/token_entropy.h"

#include <algorithm>
#include <cmath>

#include "absl/synchronization/mutex.h"
#include "lra/check.h"
#include "lra/parallel.h"

namespace lra {
namespace {

// Pairs of up to this many ids are counted in a table of 8 MiB.
constexpr int64_t kTableIds = 1024;

// Sum of c ln c, smallest counts first, so that the order of a hash table makes no difference.
double SumOfLogs(std::vector<int64_t> counts) {
  std::erase(counts, 0);
  std::sort(counts.begin(), counts.end());
  double sum = 0;
  for (const int64_t count : counts)
    sum += static_cast<double>(count) * std::log(static_cast<double>(count));
  return sum;
}

void AddTo(const std::vector<int64_t>& from, std::vector<int64_t>* to) {
  for (size_t i = 0; i < from.size(); ++i) (*to)[i] += from[i];
}

}  // namespace

TokenCounts::TokenCounts(int64_t vocabulary_size)
    : vocabulary_size_(vocabulary_size), unigrams_(vocabulary_size), firsts_(vocabulary_size) {
  if (vocabulary_size <= kTableIds) table_.resize(vocabulary_size * vocabulary_size);
}

void TokenCounts::Add(absl::Span<const int32_t> sequence) {
  for (size_t i = 0; i < sequence.size(); ++i) {
    LRA_CHECK(sequence[i] >= 0 && sequence[i] < vocabulary_size_) << "token " << sequence[i];
    ++unigrams_[sequence[i]];
    if (i == 0) continue;
    ++firsts_[sequence[i - 1]];
    const int64_t pair = sequence[i - 1] * vocabulary_size_ + sequence[i];
    ++(table_.empty() ? sparse_[pair] : table_[pair]);
  }
  tokens_ += static_cast<int64_t>(sequence.size());
  pairs_ += std::max<int64_t>(0, static_cast<int64_t>(sequence.size()) - 1);
}

void TokenCounts::Merge(const TokenCounts& other) {
  LRA_CHECK(other.vocabulary_size_ == vocabulary_size_);
  tokens_ += other.tokens_;
  pairs_ += other.pairs_;
  AddTo(other.unigrams_, &unigrams_);
  AddTo(other.firsts_, &firsts_);
  AddTo(other.table_, &table_);
  for (const auto& [pair, count] : other.sparse_) sparse_[pair] += count;
}

double TokenCounts::UnigramNats() const {
  if (tokens_ == 0) return 0;
  const double n = static_cast<double>(tokens_);
  return std::max(0.0, std::log(n) - SumOfLogs(unigrams_) / n);
}

double TokenCounts::BigramNats() const {
  if (pairs_ == 0) return 0;
  std::vector<int64_t> counts = table_;
  for (const auto& [pair, count] : sparse_) counts.push_back(count);
  return std::max(
      0.0, (SumOfLogs(firsts_) - SumOfLogs(std::move(counts))) / static_cast<double>(pairs_));
}

TokenEntropy MeasureTokenEntropy(const SplitView& split, int threads, int64_t most_examples) {
  LRA_CHECK(!split.spec().is_real() && threads > 0 && most_examples > 0);
  const int64_t examples = std::min(split.size(), most_examples);
  const int columns = split.spec().is_pair() ? 2 : 1;
  TokenCounts all(split.spec().vocabulary_size());
  absl::Mutex mutex;
  const auto count_part = [&](int64_t part) {
    TokenCounts counts(split.spec().vocabulary_size());
    std::vector<int32_t> ids;
    for (int64_t i = part; i < examples; i += threads) {
      for (int column = 0; column < columns; ++column) {
        split.Read(i * split.size() / examples, &ids, column);
        counts.Add(ids);
      }
    }
    const absl::MutexLock lock(&mutex);
    all.Merge(counts);
    return absl::OkStatus();
  };
  LRA_CHECK(ParallelFor(threads, threads, count_part).ok());
  return {all.UnigramNats(), all.BigramNats(), all.tokens(), examples};
}

}  // namespace lra
