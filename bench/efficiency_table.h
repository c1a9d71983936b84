// What `lra bench efficiency --table` makes of records.
#ifndef LRA_BENCH_EFFICIENCY_TABLE_H_
#define LRA_BENCH_EFFICIENCY_TABLE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/efficiency_series.h"

namespace lra {

struct EfficiencyTableChoice {
  bool is_csv = false;                 // else Markdown
  std::vector<std::string> published;  // names in configs/published_speeds/
  std::string reference = "transformer";
};

// For each panel: time, memory, what was reached of the peaks, crossings, and printed ratios where
// they belong to it; then the machines. The same records give the same bytes.
absl::StatusOr<std::string> EfficiencyText(const std::vector<BenchRecord>& records,
                                           const EfficiencyTableChoice& choice);

// bench/generate_table.cc: a row a method and length of a stream: time of a token, its ratio over
// that at the first length, what it costs where nothing is kept, and bytes of the state.
TextTable StreamTable(const Panel& panel);
// The same of every panel: `lra bench generate`.
std::string GenerateText(const std::vector<BenchRecord>& records);

// Records as JSON: {"machine": ..., "records": [...]}.
std::string RecordsJson(const std::vector<BenchRecord>& records);

}  // namespace lra

#endif  // LRA_BENCH_EFFICIENCY_TABLE_H_
