// Lists of seeds: "0-4,7" stands for 0 1 2 3 4 7.
#ifndef LRA_TRAIN_SEEDS_H_
#define LRA_TRAIN_SEEDS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lra/config.h"

namespace lra {

// InvalidArgument for anything but numbers and ranges of at most 10,000 seeds, in ascending order
// and without repetition.
absl::StatusOr<std::vector<uint32_t>> ParseSeeds(absl::string_view text);

// InvalidArgument if --set names a seed, of runs whose seeds a list names.
absl::Status CheckNoSeedIsSet(const ResolvedConfig& resolved);

}  // namespace lra

#endif  // LRA_TRAIN_SEEDS_H_
