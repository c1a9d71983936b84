#include "train/micro_batch.h"

#include <algorithm>

namespace lra {
namespace {

HostBatch Part(const HostBatch& batch, int64_t begin, int64_t end) {
  HostBatch part;
  part.batch = end - begin;
  part.lengths.assign(batch.lengths.begin() + begin, batch.lengths.begin() + end);
  part.labels.assign(batch.labels.begin() + begin, batch.labels.begin() + end);
  part.example_ids.assign(batch.example_ids.begin() + begin, batch.example_ids.begin() + end);
  part.length = *std::max_element(part.lengths.begin(), part.lengths.end());
  for (int64_t row = begin; row < end; ++row) {
    const auto start = batch.tokens.begin() + row * batch.length;
    part.tokens.insert(part.tokens.end(), start, start + part.length);
  }
  return part;
}

}  // namespace

std::vector<HostBatch> SplitBatch(const HostBatch& batch, int64_t examples) {
  if (examples <= 0 || examples >= batch.batch) return {batch};
  std::vector<HostBatch> parts;
  for (int64_t begin = 0; begin < batch.batch; begin += examples) {
    parts.push_back(Part(batch, begin, std::min(begin + examples, batch.batch)));
  }
  return parts;
}

}  // namespace lra
