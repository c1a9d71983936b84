#include "tasks/text/review_path.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "lra/excerpt.h"

namespace lra::text {
namespace {

constexpr int kMaxRating = 10;

template <class... Words>
absl::Status PathError(absl::string_view path, const Words&... words) {
  constexpr size_t kShown = 200;
  return absl::InvalidArgumentError(
      absl::StrCat("\"", path.size() > kShown ? "..." : "",
                   absl::CHexEscape(path.substr(path.size() - std::min(path.size(), kShown))),
                   "\": ", words...));
}

// Removes the last part of the path and returns it.
absl::string_view TakeLast(absl::string_view* path) {
  const size_t slash = path->rfind('/');
  const absl::string_view last = path->substr(slash + 1);  // npos + 1 is 0
  *path = path->substr(0, slash == absl::string_view::npos ? 0 : slash);
  return last;
}

// Digits without leading zeros, so that a number has one spelling.
bool ParseNumber(absl::string_view text, int32_t* number) {
  if (text.empty() || (text.size() > 1 && text[0] == '0')) return false;
  return std::all_of(text.begin(), text.end(), absl::ascii_isdigit) &&
         absl::SimpleAtoi(text, number);
}

bool ParseName(absl::string_view name, ReviewPath* review) {
  const size_t underscore = name.find('_');
  return absl::ConsumeSuffix(&name, ".txt") && underscore < name.size() &&
         ParseNumber(name.substr(0, underscore), &review->id) &&
         ParseNumber(name.substr(underscore + 1), &review->rating);
}

absl::StatusOr<std::optional<ReviewPath>> CheckRating(absl::string_view path,
                                                      const ReviewPath& review) {
  const int low = review.label == 1 ? 7 : 1, high = review.label == 1 ? kMaxRating : 4;
  if (review.rating >= low && review.rating <= high) return review;
  return PathError(path, "the rating is ", review.rating, "; ", low, " to ", high,
                   " are expected in ", review.label == 1 ? "pos" : "neg", "/");
}

}  // namespace

absl::StatusOr<std::optional<ReviewPath>> ParseReviewPath(absl::string_view path) {
  absl::string_view rest = path;
  const absl::string_view name = TakeLast(&rest);
  const absl::string_view class_folder = TakeLast(&rest);
  const absl::string_view split_folder = TakeLast(&rest);
  const auto is_split = [](absl::string_view folder) {
    return folder == "train" || folder == "test";
  };
  ReviewPath review;
  const bool is_review_name = ParseName(name, &review);
  if (class_folder == "pos" || class_folder == "neg") {
    review.label = class_folder == "pos" ? 1 : 0;
    review.is_test = split_folder == "test";
    if (is_review_name && is_split(split_folder)) return CheckRating(path, review);
    if (is_review_name) return PathError(path, "train/ or test/ is expected above ", class_folder);
    // Hidden files hold other things (._0_9.txt is written by macOS).
    if (!is_split(split_folder) || !absl::EndsWith(name, ".txt") || name[0] == '.') {
      return std::nullopt;
    }
    return PathError(path, "<id>_<rating>.txt is expected as the file's name");
  }
  if (!is_review_name || class_folder == "unsup") return std::nullopt;
  if (is_split(class_folder)) {
    return PathError(path, "pos/ or neg/ is expected below ", class_folder, "/");
  }
  if (is_split(split_folder)) {
    return PathError(path, "the class is ", Excerpt(class_folder), "; pos or neg is expected");
  }
  return std::nullopt;
}

}  // namespace lra::text
