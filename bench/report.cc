#include "bench/report.h"

#include "absl/strings/str_format.h"
#include "bench/cell.h"
#include "nlohmann/json.hpp"

namespace lra {

std::string WithInterval(const MedianInterval& interval, double scale, int digits) {
  return absl::StrFormat("%.*f (%.*f – %.*f)", digits, interval.median * scale, digits,
                         interval.low * scale, digits, interval.high * scale);
}

std::string Megabytes(double bytes) {
  return absl::StrFormat("%.*f", bytes < 1e7 ? 2 : bytes < 1e8 ? 1 : 0, bytes / 1e6);
}

std::string Milliseconds(double seconds) {
  const double ms = seconds * 1e3;
  return absl::StrFormat("%.*f", ms < 0.1 ? 4 : ms < 1 ? 3 : ms < 10 ? 2 : ms < 1000 ? 1 : 0, ms);
}

std::string OutcomeText(const BenchResult& result) {
  switch (result.outcome()) {
    case BenchResult::OUT_OF_MEMORY:
      return "out of memory";
    case BenchResult::SKIPPED:
      return "skipped";
    case BenchResult::FAILED:
      return "failed";
    default:
      return "–";
  }
}

nlohmann::ordered_json ToJsonValue(const google::protobuf::Message& message) {
  return nlohmann::ordered_json::parse(ToJsonLine(message));
}

nlohmann::ordered_json ToJsonValue(const MedianInterval& interval) {
  return {{"median", interval.median},
          {"low", interval.low},
          {"high", interval.high},
          {"coverage", interval.coverage}};
}

}  // namespace lra
