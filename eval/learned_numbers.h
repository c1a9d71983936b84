// How what attentions learn of their own choices, such as cosFormer's M, develops in training.
#ifndef LRA_EVAL_LEARNED_NUMBERS_H_
#define LRA_EVAL_LEARNED_NUMBERS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "eval/curve_values.h"
#include "eval/run_record.pb.h"

namespace lra {

// One number of all layers and heads over training.
struct LearnedCurve {
  struct Point {
    int64_t step = 0;
    double mean = 0, low = 0, high = 0;  // over layers and heads
  };
  std::string name;  // "scale_tokens": what stands behind the last dot in CurvePoint.learned
  std::vector<Point> points;
};

// Sorted by name; empty where nothing of that kind is learned.
std::vector<LearnedCurve> LearnedCurves(const Curve& curve);

}  // namespace lra

#endif  // LRA_EVAL_LEARNED_NUMBERS_H_
