#include "tasks/text/half_pairs.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lra/random.h"
#include "lra/status_macros.h"
#include "tasks/text/film_addresses.h"
#include "tasks/text/matching.h"
#include "tasks/text/review_path.h"
#include "tasks/text/review_reader.h"

namespace lra::text {
namespace {

// The longest review of the task `text` may be as long.
constexpr size_t kMaxReviewBytes = size_t{1} << 16;
constexpr const char* kPairSplits[] = {"train", "validation", "test"};

const RandomDomain& Domain() {
  static const RandomDomain* const domain = new RandomDomain("review_halves");
  return *domain;
}
// What is drawn, the third part of a stream's key.
enum Draws : uint32_t { kSplitOfFilm = 0, kPartners = 1 };

struct Review {
  int split = 0;
  uint64_t key = 0;  // ReviewReader's, the order of the reviews
  ReviewPath path;
  std::string where, film;
  Halves halves;
  int64_t partner = -1;
};

class HalfPairReader : public RawReader {
 public:
  HalfPairReader(std::unique_ptr<RawSource> source, const ReviewHalvesOptions& options)
      : options_(options),
        reader_(MakeReviewReader(ReadFilmsFrom(std::move(source), &films_), kMaxReviewBytes)) {}

  absl::StatusOr<std::optional<RawExample>> Next() override {
    if (!is_matched_) {
      LRA_RETURN_IF_ERROR(ReadReviews());
      LRA_RETURN_IF_ERROR(FindFilms());
      LeaveOutRepetitions();
      MatchReviews();
      LRA_RETURN_IF_ERROR(CheckPairSplits());
      is_matched_ = true;
    }
    if (next_ == 2 * reviews_.size()) return std::nullopt;
    const Review& review = reviews_[next_ / 2];
    const bool is_own = next_++ % 2 == 0;
    const Review& other = is_own ? review : reviews_[review.partner];
    RawExample raw;
    raw.split = review.split;
    raw.label = is_own ? 1 : 0;
    raw.where = is_own ? review.where : absl::StrCat(review.where, " and ", other.where);
    raw.bytes = JoinPair(review.halves.first, other.halves.last);
    return raw;
  }

  const std::vector<ManifestSource>& sources() const override { return sources_; }

  std::vector<SkippedExamples> skipped() const override {
    std::vector<SkippedExamples> skipped;
    for (const auto& [reason, count] : left_out_) {
      if (count == 0) continue;
      SkippedExamples& entry = skipped.emplace_back();
      entry.set_reason(reason);
      entry.set_count(count);
    }
    return skipped;
  }

 private:
  void LeaveOut(absl::string_view reason, size_t count) {
    left_out_.emplace_back(reason, static_cast<int64_t>(count));
  }

  absl::Status ReadReviews() {
    const CutRule rule{static_cast<size_t>(options_.text_bytes()),
                       static_cast<size_t>(options_.gap_bytes())};
    size_t short_ones = 0;
    while (true) {
      LRA_ASSIGN_OR_RETURN(std::optional<RawExample> raw, reader_->Next());
      if (!raw.has_value()) break;
      LRA_ASSIGN_OR_RETURN(const std::optional<ReviewPath> path, ParseReviewPath(raw->where));
      if (!path.has_value()) {
        return absl::DataLossError(
            absl::StrCat(raw->where,
                         ": tables do not say which film a review is about; the tree "
                         "of aclImdb_v1.tar.gz is expected"));
      }
      std::optional<Halves> halves = CutHalves(WithoutLayout(raw->bytes), rule);
      if (halves.has_value()) {
        reviews_.push_back({.key = raw->key,
                            .path = *path,
                            .where = std::move(raw->where),
                            .film = "",
                            .halves = *std::move(halves)});
      } else {
        ++short_ones;
      }
    }
    LeaveOut(absl::StrCat("shorter than ", 2 * rule.text_bytes + rule.gap_bytes,
                          " bytes, or one word over most of a text"),
             short_ones);
    sources_ = reader_->sources();
    sources_.insert(sources_.end(), films_.sources().begin(), films_.sources().end());
    return absl::OkStatus();
  }

  // The order of the source ends here.
  absl::Status FindFilms() {
    std::sort(reviews_.begin(), reviews_.end(),
              [](const Review& a, const Review& b) { return a.key < b.key; });
    for (Review& review : reviews_) {
      absl::StatusOr<std::string> film = films_.FilmOf(review.path);
      if (!film.ok()) return Annotate(film.status(), review.where);
      review.film = *std::move(film);
      review.split = SplitOfFilm(review.film, static_cast<uint32_t>(options_.seed()));
    }
    return absl::OkStatus();
  }

  void LeaveOutRepetitions() {
    RepeatFilter filter(options_.duplicate_words());
    LeaveOut(
        absl::StrCat("sharing ", options_.duplicate_words(),
                     " words in a row with an earlier review"),
        std::erase_if(reviews_, [&](const Review& review) { return !filter.Keep(review.halves); }));
  }

  // Films of their own for reviews of one film that are to be matched with each other.
  std::vector<Matchable> Matchables() const {
    const bool same_film = options_.negatives() == ReviewHalvesOptions::SAME_FILM;
    std::map<std::string, int64_t> films;
    std::map<std::array<int64_t, 3>, int64_t> groups;
    std::vector<Matchable> matchables;
    for (const Review& review : reviews_) {
      const int64_t film = films.try_emplace(review.film, films.size()).first->second;
      const std::array<int64_t, 3> group =
          same_film ? std::array<int64_t, 3>{review.split, review.path.label, film}
                    : std::array<int64_t, 3>{review.split, review.path.rating, 0};
      matchables.push_back({.group = groups.try_emplace(group, groups.size()).first->second,
                            .kind = same_film ? static_cast<int64_t>(matchables.size()) : film});
    }
    return matchables;
  }

  void MatchReviews() {
    const std::vector<int64_t> partners =
        Match(Matchables(),
              RandomStream(static_cast<uint32_t>(options_.seed()), Domain(), {0, 0, kPartners}));
    // Where each goes when those without a partner are gone, and all are sorted by split.
    std::vector<int64_t> order;
    for (size_t i = 0; i < reviews_.size(); ++i)
      if (partners[i] >= 0) order.push_back(static_cast<int64_t>(i));
    LeaveOut("without a review to be paired with", reviews_.size() - order.size());
    std::stable_sort(order.begin(), order.end(), [this](int64_t a, int64_t b) {
      return reviews_[a].split < reviews_[b].split;
    });
    std::vector<int64_t> place(reviews_.size(), -1);
    for (size_t i = 0; i < order.size(); ++i) place[order[i]] = static_cast<int64_t>(i);
    std::vector<Review> ordered;
    for (const int64_t i : order) {
      reviews_[i].partner = place[partners[i]];
      ordered.push_back(std::move(reviews_[i]));
    }
    reviews_ = std::move(ordered);
  }

  absl::Status CheckPairSplits() const {
    for (int split = 0; split < 3; ++split) {
      const bool has_some =
          std::any_of(reviews_.begin(), reviews_.end(),
                      [split](const Review& review) { return review.split == split; });
      if (has_some) continue;
      std::string reasons;
      for (const auto& [reason, count] : left_out_)
        absl::StrAppend(&reasons, "; ", count, " left out: ", reason);
      return absl::DataLossError(absl::StrCat("no pairs for split ", kPairSplits[split], " from ",
                                              reviews_.size(), " reviews", reasons));
    }
    return absl::OkStatus();
  }

  const ReviewHalvesOptions options_;
  FilmAddresses films_;
  const std::unique_ptr<RawReader> reader_;
  std::vector<Review> reviews_;
  std::vector<ManifestSource> sources_;
  std::vector<std::pair<std::string, int64_t>> left_out_;
  bool is_matched_ = false;
  size_t next_ = 0;
};

}  // namespace

int SplitOfFilm(absl::string_view film, uint32_t seed) {
  const uint64_t name = HashName(film);
  RandomStream random(
      seed, Domain(),
      {static_cast<uint32_t>(name), static_cast<uint32_t>(name >> 32), kSplitOfFilm});
  const double share = random.Uniform();
  return share < kTestShare ? 2 : share < kTestShare + kValidationShare ? 1 : 0;
}

std::unique_ptr<RawReader> MakeHalfPairReader(std::unique_ptr<RawSource> source,
                                              const ReviewHalvesOptions& options) {
  return std::make_unique<HalfPairReader>(std::move(source), options);
}

std::string JoinPair(absl::string_view first, absl::string_view last) {
  return absl::StrCat(first, "\n", last);
}

absl::StatusOr<Halves> SplitPair(absl::string_view pair) {
  const size_t end = pair.find('\n');
  if (end == absl::string_view::npos || pair.find('\n', end + 1) != absl::string_view::npos)
    return absl::InvalidArgumentError("two texts with one line end between them are expected");
  return Halves{std::string(pair.substr(0, end)), std::string(pair.substr(end + 1))};
}

}  // namespace lra::text
