// What stands beside a record in a run's folder: pictures of attention, the profile of the score.
#ifndef LRA_REPORT_RUN_FILES_H_
#define LRA_REPORT_RUN_FILES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "nlohmann/json_fwd.hpp"

namespace lra {

// A run's further pictures, and larger ones, stay where they are. A map of 32 x 32 pixels takes up
// to 1.6 MB.
inline constexpr int kMostPictures = 8;
inline constexpr int64_t kMostPictureBytes = 2 << 20;

// "maps": pictures of the averages over heads that `lra attend RUN --out RUN/maps` wrote (any
// folder of the run that holds a maps.json), as data: addresses, those over all layers first;
// "profile": the tables of `lra profile RUN --json`, kept as profile.json. Empty without either.
// What cannot be read, and pictures beyond the limits, are named in `not_shown`.
nlohmann::ordered_json RunFilesJson(absl::string_view directory,
                                    std::vector<std::string>* not_shown);

}  // namespace lra

#endif  // LRA_REPORT_RUN_FILES_H_
