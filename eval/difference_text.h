// How values with intervals, differences and their p are written, wherever they stand.
#ifndef LRA_EVAL_DIFFERENCE_TEXT_H_
#define LRA_EVAL_DIFFERENCE_TEXT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "eval/metric.h"
#include "eval/statistics.h"

namespace lra {

// "-0.5 points [-1.9, +0.9]", with decimals that give the half width two digits.
std::string SignedText(const Metric& metric, double mean, const Interval& interval);

// "38.5 [36.2, 40.8]", with decimals that give the half width two digits; "38.50" without interval.
std::string ValueText(const Metric& metric, double value, const std::optional<Interval>& interval);

// Decimals in excess of the metric's that tell the ends of a narrow interval apart; 0 of a wide
// one, and without one.
int MoreDecimals(const Metric& metric, const std::optional<Interval>& interval);

// "538 blocks of 80 examples": how the statistics take examples whose neighbours depend on each
// other (CountBlocks in eval/crossed.h); empty where they take each by itself.
std::string BlocksText(int64_t examples, int64_t block_examples);

// Says that blocks of so many neighbours take the place of examples, as a sentence; empty of 1.
std::string NeighboursText(int64_t block_examples);

// "p = 0.032", "p = 0.00047", "p < 1e-10".
std::string PText(double p);

}  // namespace lra

#endif  // LRA_EVAL_DIFFERENCE_TEXT_H_
