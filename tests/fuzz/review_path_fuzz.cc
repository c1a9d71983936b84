#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tasks/text/review_path.h"
#include "tests/fuzz/fuzz_target.h"

LRA_FUZZ_TARGET(review_path) {
  const auto review = lra::text::ParseReviewPath(input);
  LRA_CHECK(review.ok() || review.status().message().size() < 1100);
  if (!review.ok() || !review->has_value()) return;
  const lra::text::ReviewPath& path = **review;
  LRA_CHECK(path.label == 0 || path.label == 1);
  LRA_CHECK(path.label == 1 ? path.rating >= 7 && path.rating <= 10
                            : path.rating >= 1 && path.rating <= 4);
  // Everything that was read must stand in the path.
  const std::string tail =
      absl::StrCat(path.is_test ? "test/" : "train/", path.label == 1 ? "pos/" : "neg/", path.id,
                   "_", path.rating, ".txt");
  LRA_CHECK(input == tail || absl::EndsWith(input, absl::StrCat("/", tail)));
}
