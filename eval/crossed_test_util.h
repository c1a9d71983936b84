// Data set P: outcomes of four methods and a baseline on 2,000 examples. The expected values of
// tests on it were computed by an independent program (NumPy and SciPy), not by this one.
#ifndef LRA_EVAL_CROSSED_TEST_UTIL_H_
#define LRA_EVAL_CROSSED_TEST_UTIL_H_

#include <string>
#include <vector>

#include "eval/crossed.h"

namespace lra::testing {

// So many examples with these outcomes: 1 = right, of runs 0 to 2 of each method.
struct OutcomePattern {
  int count;
  const char *a, *b, *c, *d, *baseline;
};

inline constexpr OutcomePattern kOutcomePatterns[] = {
    {590, "111", "111", "111", "111", "1"}, {1060, "000", "000", "000", "000", "0"},
    {45, "111", "000", "111", "000", "0"},  {20, "000", "111", "000", "110", "1"},
    {30, "110", "110", "100", "110", "0"},  {25, "011", "001", "011", "000", "1"},
    {20, "101", "111", "111", "101", "0"},  {40, "001", "000", "001", "000", "0"},
    {35, "000", "100", "000", "010", "1"},  {15, "100", "101", "110", "100", "0"},
    {20, "010", "011", "000", "011", "1"},  {60, "111", "011", "110", "010", "0"},
    {40, "000", "000", "010", "001", "0"}};

// The runs of 'A', 'B', 'C' or 'D', or the one of the baseline 'Z': each 2,000 values 0 or 1.
inline std::vector<ExampleValues> RunsOf(char row) {
  std::vector<ExampleValues> runs(row == 'Z' ? 1 : 3);
  for (const OutcomePattern& p : kOutcomePatterns) {
    const char* const outcomes = row == 'A'   ? p.a
                                 : row == 'B' ? p.b
                                 : row == 'C' ? p.c
                                 : row == 'D' ? p.d
                                              : p.baseline;
    for (size_t s = 0; s < runs.size(); ++s)
      runs[s].insert(runs[s].end(), p.count, outcomes[s] == '1' ? 1.0 : 0.0);
  }
  return runs;
}

}  // namespace lra::testing

#endif  // LRA_EVAL_CROSSED_TEST_UTIL_H_
