// What tables of measurements have in common.
#ifndef LRA_BENCH_REPORT_H_
#define LRA_BENCH_REPORT_H_

#include <string>

#include "bench/bench.pb.h"
#include "bench/spread.h"
#include "lra/text_table.h"
#include "nlohmann/json_fwd.hpp"

namespace lra {

// "374.8 (370.1 – 381.0)"
std::string WithInterval(const MedianInterval& interval, double scale, int digits);
// "12.3 MB": of tensors, decimal.
std::string Megabytes(double bytes);
// Three significant digits.
std::string Milliseconds(double seconds);
// What stands in a cell without a time: "out of memory", "–", ...
std::string OutcomeText(const BenchResult& result);

nlohmann::ordered_json ToJsonValue(const google::protobuf::Message& message);
nlohmann::ordered_json ToJsonValue(const MedianInterval& interval);

}  // namespace lra

#endif  // LRA_BENCH_REPORT_H_
