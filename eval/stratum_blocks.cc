#include "eval/stratum_blocks.h"

#include <numeric>

#include "eval/statistics.h"
#include "lra/check.h"

namespace lra {

std::vector<int64_t> EqualBlocks(int64_t examples, int64_t block_examples) {
  const int64_t blocks = CountBlocks(examples, block_examples);
  if (blocks == examples) return std::vector<int64_t>(examples, 1);
  std::vector<int64_t> sizes(blocks, block_examples);
  sizes.back() = examples - (blocks - 1) * block_examples;
  return sizes;
}

std::vector<int64_t> SizesOfBlocks(absl::Span<const int64_t> places, int64_t block_examples) {
  LRA_CHECK(block_examples >= 1) << block_examples;
  std::vector<int64_t> sizes;
  int64_t last = -1;
  for (const int64_t place : places) {
    const int64_t block = place / block_examples;
    LRA_CHECK(block >= last) << "places fall at " << place;
    if (block != last) sizes.push_back(0);
    ++sizes.back();
    last = block;
  }
  if (sizes.size() < 2) sizes.assign(places.size(), 1);
  return sizes;
}

ExampleValues ValuesOfBlocks(const ExampleValues& run, absl::Span<const int64_t> sizes) {
  const int64_t examples = std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
  LRA_CHECK(examples == static_cast<int64_t>(run.size())) << examples << " of " << run.size();
  if (sizes.size() == run.size()) return run;
  const double mean = Mean(run);
  const double share = static_cast<double>(sizes.size()) / static_cast<double>(run.size());
  ExampleValues values;
  values.reserve(sizes.size());
  auto value = run.begin();
  for (const int64_t size : sizes) {
    double excess = 0;  // T - t a
    for (int64_t i = 0; i < size; ++i, ++value) excess += *value - mean;
    values.push_back(mean + share * excess);
  }
  return values;
}

CrossedMoments MomentsOfBlocks(absl::Span<const ExampleValues> runs,
                               absl::Span<const int64_t> sizes) {
  const CrossedMoments singly = MomentsOf(SumsOf(runs));
  if (static_cast<int64_t>(sizes.size()) == singly.examples) return singly;
  std::vector<ExampleValues> values;
  for (const ExampleValues& run : runs) values.push_back(ValuesOfBlocks(run, sizes));
  CrossedSums sums = SumsOf(values);
  sums.examples = singly.examples;
  const CrossedMoments blocks = MomentsOf(sums);
  return singly.example_variance() > blocks.example_variance() ? singly : blocks;
}

}  // namespace lra
