// Speeds that papers printed (configs/published_speeds/), beside measured ones.
#ifndef LRA_BENCH_PUBLISHED_SPEEDS_H_
#define LRA_BENCH_PUBLISHED_SPEEDS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/efficiency_series.h"

namespace lra {

// Reads the file of this name in configs/published_speeds/. InvalidArgument with the known names
// for an unknown one, and for a row without as many speeds as there are lengths.
absl::StatusOr<PublishedSpeeds> LoadPublishedSpeeds(const std::string& name);

// The numbers as printed: steps a second in training and in inference and the peak memory at each
// length, as far as the paper has them.
TextTable PrintedSpeedsTable(const PublishedSpeeds& published);

// Speed over that of `reference` (a registered name) at the same length, the printed one and ours:
// "1.71 / 2.30". Lengths match within a thirtieth, so that 1,024 is the paper's 1K. Only of panels
// of whole models, without streaming; no rows otherwise, and where nothing matches.
TextTable PublishedSpeedsTable(const PublishedSpeeds& published, const Panel& panel,
                               const std::string& reference);

}  // namespace lra

#endif  // LRA_BENCH_PUBLISHED_SPEEDS_H_
