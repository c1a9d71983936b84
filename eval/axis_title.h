// What figures and plots call a metric: their titles and axes.
#ifndef LRA_EVAL_AXIS_TITLE_H_
#define LRA_EVAL_AXIS_TITLE_H_

#include <string>

#include "eval/metric.h"

namespace lra {

// "accuracy in %"; the unit alone where it says what is measured: "nats", "bits/byte".
std::string AxisTitle(const Metric& metric);

}  // namespace lra

#endif  // LRA_EVAL_AXIS_TITLE_H_
