// Shapes, masks and options that forms of softmax attention are compared on.
#ifndef LRA_MODELS_KERNELS_SOFTMAX_CASES_TEST_UTIL_H_
#define LRA_MODELS_KERNELS_SOFTMAX_CASES_TEST_UTIL_H_

#include <cstdint>
#include <string>
#include <vector>

namespace lra {

struct SoftmaxCase {
  std::string name;
  int64_t batch, heads, queries, keys, width, value_width;
  bool causal = false;
  double dropout = 0;
  enum { kAll, kLengths, kScattered } mask = kAll;
  bool has_bias = false;
  double stretch = 1;         // a factor on q, which makes rows peaked
  int64_t stretch_every = 1;  // only every n-th query is stretched
  bool has_slopes = false;
};

// The sizes lie around the tiles of 48 queries and 64 keys, and around chunks of up to 8 tiles of
// queries.
inline const std::vector<SoftmaxCase>& PlainCases() {
  static const std::vector<SoftmaxCase> cases = {
      {"one token", 1, 1, 1, 1, 3, 5},
      {"tiny", 2, 2, 5, 5, 5, 3},
      {"whole tiles", 1, 2, 96, 128, 16, 16},
      {"ragged tiles", 2, 2, 131, 131, 24, 24},
      {"odd widths", 1, 2, 50, 70, 72, 13},
      {"width 64", 1, 2, 130, 200, 64, 64},
      {"several chunks", 1, 1, 900, 260, 8, 8},
      {"split queries", 1, 1, 1100, 70, 5, 3},
      {"width 128", 1, 1, 100, 70, 128, 130},
      {"more queries than keys", 1, 2, 150, 40, 8, 8},
      {"lengths", 4, 2, 100, 100, 8, 8, false, 0, SoftmaxCase::kLengths},
      {"scattered", 3, 2, 77, 150, 8, 8, false, 0, SoftmaxCase::kScattered},
      {"causal", 2, 2, 200, 200, 8, 8, true},
      {"causal, more keys", 1, 2, 60, 200, 8, 8, true},
      {"causal, rows without keys", 1, 2, 150, 60, 8, 8, true},
      {"causal, lengths", 3, 2, 130, 130, 8, 8, true, 0, SoftmaxCase::kLengths},
      {"causal, scattered", 2, 2, 130, 130, 8, 8, true, 0, SoftmaxCase::kScattered},
      {"dropout", 2, 3, 101, 133, 8, 8, false, 0.25},
      {"dropout, scattered", 2, 2, 60, 133, 8, 8, false, 0.25, SoftmaxCase::kScattered},
      {"dropout, causal, lengths", 3, 2, 130, 130, 8, 8, true, 0.1, SoftmaxCase::kLengths},
      {"bias", 3, 2, 100, 77, 8, 8, false, 0, SoftmaxCase::kAll, true},
      {"bias, causal, scattered, dropout", 2, 2, 90, 90, 8, 5, true, 0.1, SoftmaxCase::kScattered,
       true},
      {"bias, split queries", 2, 1, 1100, 20, 4, 4, false, 0, SoftmaxCase::kAll, true},
      {"peaked rows", 1, 2, 100, 300, 8, 8, false, 0, SoftmaxCase::kAll, false, 40},
      {"peaked among flat", 2, 2, 101, 300, 8, 8, false, 0, SoftmaxCase::kAll, false, 40, 7},
      {"peaked, lengths", 3, 2, 100, 300, 8, 8, false, 0, SoftmaxCase::kLengths, false, 40, 7},
      {"peaked, causal", 2, 2, 130, 130, 8, 8, true, 0, SoftmaxCase::kScattered, false, 40, 7},
      {"peaked, dropout", 2, 2, 101, 133, 8, 8, false, 0.25, SoftmaxCase::kScattered, false, 40, 7},
  };
  return cases;
}

inline const std::vector<SoftmaxCase>& CasesOfDistances() {
  static const std::vector<SoftmaxCase> cases = {
      {.name = "distances",
       .batch = 2,
       .heads = 3,
       .queries = 131,
       .keys = 131,
       .width = 8,
       .value_width = 8,
       .has_slopes = true},
      {.name = "distances, causal, scattered, dropout, more keys",
       .batch = 2,
       .heads = 2,
       .queries = 60,
       .keys = 200,
       .width = 8,
       .value_width = 5,
       .causal = true,
       .dropout = 0.1,
       .mask = SoftmaxCase::kScattered,
       .has_slopes = true},
      {.name = "distances and bias, lengths, split queries",
       .batch = 2,
       .heads = 1,
       .queries = 1100,
       .keys = 1100,
       .width = 4,
       .value_width = 4,
       .mask = SoftmaxCase::kLengths,
       .has_bias = true,
       .has_slopes = true},
  };
  return cases;
}

inline const std::vector<SoftmaxCase>& Cases() {
  static const std::vector<SoftmaxCase> cases = [] {
    std::vector<SoftmaxCase> all = PlainCases();
    all.insert(all.end(), CasesOfDistances().begin(), CasesOfDistances().end());
    return all;
  }();
  return cases;
}

}  // namespace lra

#endif  // LRA_MODELS_KERNELS_SOFTMAX_CASES_TEST_UTIL_H_
