// The films of the Large Movie Review Dataset: aclImdb/{train,test}/urls_{neg,pos}.txt, in which
// line n (counted from 0) is the address of the film of review n of that folder.
#ifndef LRA_TASKS_TEXT_FILM_ADDRESSES_H_
#define LRA_TASKS_TEXT_FILM_ADDRESSES_H_

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "datasets/archive.h"
#include "datasets/manifest.pb.h"
#include "tasks/text/review_path.h"

namespace lra::text {

// The film's identifier in an address, e.g. "tt0064354" of
// http://www.imdb.com/title/tt0064354/usercomments. InvalidArgument if there is none.
absl::StatusOr<std::string> FilmOfAddress(absl::string_view address);

// The films that were seen so far.
class FilmAddresses {
 public:
  // Whether a path is that of a list of films of labelled reviews.
  static bool IsList(absl::string_view path);
  // DataLoss names path and line.
  absl::Status AddList(absl::string_view path, absl::string_view bytes);
  // NotFound if the review's folder has no list; DataLoss if the list is too short.
  absl::StatusOr<std::string> FilmOf(const ReviewPath& review) const;
  const std::vector<ManifestSource>& sources() const { return sources_; }

 private:
  std::map<std::pair<bool, int32_t>, std::vector<std::string>> films_;  // by is_test and label
  std::vector<ManifestSource> sources_;
};

// The entries of `source` that are no lists of films; the lists are read into `films`, which
// outlives the result, when they are passed.
std::unique_ptr<RawSource> ReadFilmsFrom(std::unique_ptr<RawSource> source, FilmAddresses* films);

}  // namespace lra::text

#endif  // LRA_TASKS_TEXT_FILM_ADDRESSES_H_
