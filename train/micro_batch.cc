#include "train/micro_batch.h"

#include <algorithm>
#include <numeric>

namespace lra {
namespace {

template <class T>
std::vector<T> Rows(const std::vector<T>& values, int64_t begin, int64_t end) {
  if (values.empty()) return {};
  return {values.begin() + begin, values.begin() + end};
}

// The first `to` of the `from` columns of each row.
template <class T>
std::vector<T> Columns(const std::vector<T>& values, int64_t begin, int64_t end, int64_t from,
                       int64_t to) {
  std::vector<T> result;
  if (values.empty()) return result;
  result.reserve((end - begin) * to);
  for (int64_t row = begin; row < end; ++row) {
    const auto start = values.begin() + row * from;
    result.insert(result.end(), start, start + to);
  }
  return result;
}

int64_t Longest(const std::vector<int32_t>& lengths) {
  return lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end());
}

HostBatch Part(const HostBatch& batch, int64_t begin, int64_t end, bool keeps_length) {
  keeps_length = keeps_length || batch.fixed_length > 0;
  HostBatch part;
  part.batch = end - begin;
  part.fixed_length = batch.fixed_length;
  part.lengths = Rows(batch.lengths, begin, end);
  part.lengths_b = Rows(batch.lengths_b, begin, end);
  part.labels = Rows(batch.labels, begin, end);
  part.example_ids = Rows(batch.example_ids, begin, end);
  part.length = keeps_length ? batch.length : Longest(part.lengths);
  part.length_b = keeps_length ? batch.length_b : Longest(part.lengths_b);
  part.tokens = Columns(batch.tokens, begin, end, batch.length, part.length);
  part.tokens_b = Columns(batch.tokens_b, begin, end, batch.length_b, part.length_b);
  part.values = Columns(batch.values, begin, end, batch.length, part.length);
  return part;
}

}  // namespace

int64_t CountTokens(const HostBatch& batch) {
  int64_t tokens = 0;
  for (const std::vector<int32_t>* lengths : {&batch.lengths, &batch.lengths_b})
    tokens += std::accumulate(lengths->begin(), lengths->end(), int64_t{0});
  return tokens;
}

HostBatch TrimPadding(HostBatch batch) {
  batch.fixed_length = 0;
  return Part(batch, 0, batch.batch, false);
}

std::vector<HostBatch> SplitBatch(const HostBatch& batch, int64_t examples, bool keeps_length) {
  if (examples <= 0 || examples >= batch.batch) return {batch};
  std::vector<HostBatch> parts;
  for (int64_t begin = 0; begin < batch.batch; begin += examples) {
    parts.push_back(Part(batch, begin, std::min(begin + examples, batch.batch), keeps_length));
  }
  return parts;
}

}  // namespace lra
