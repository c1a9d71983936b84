// Paths of the Large Movie Review Dataset (Maas et al. 2011, aclImdb_v1.tar.gz):
// aclImdb/{train,test}/{pos,neg}/<id>_<rating>.txt, one review in each file.
#ifndef LRA_TASKS_TEXT_REVIEW_PATH_H_
#define LRA_TASKS_TEXT_REVIEW_PATH_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace lra::text {

struct ReviewPath {
  bool is_test = false;
  int32_t label = 0;   // 0 negative (ratings 1 to 4), 1 positive (7 to 10)
  int32_t id = 0;      // unique within its folder
  int32_t rating = 0;  // 1 to 10
};

// Only the last three parts count, so the folder above may have any name or be missing. nullopt for
// files that are not labelled reviews: the vocabulary, lists of addresses, unlabelled reviews
// (unsup/), leftovers of file managers. InvalidArgument, with the path and the part that is wrong,
// for a .txt file in pos/ or neg/ whose name is not <id>_<rating>.txt or whose rating does not fit
// its folder, and for a file named like a review that lies elsewhere in or under train/ or test/,
// or in pos/ or neg/ without train/ or test/ above.
absl::StatusOr<std::optional<ReviewPath>> ParseReviewPath(absl::string_view path);

}  // namespace lra::text

#endif  // LRA_TASKS_TEXT_REVIEW_PATH_H_
