#include "tasks/text/film_addresses.h"

#include <algorithm>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "lra/excerpt.h"
#include "lra/sha256.h"
#include "lra/status_macros.h"
#include "tasks/raw_files.h"

namespace lra::text {
namespace {

constexpr size_t kMaxListBytes = size_t{64} << 20;

struct ListName {
  bool is_test = false;
  int32_t label = 0;
};

std::string ToString(const ListName& list) {
  return absl::StrCat(list.is_test ? "test" : "train", "/urls_", list.label == 1 ? "pos" : "neg",
                      ".txt");
}

std::optional<ListName> ParseListName(absl::string_view path) {
  for (const bool is_test : {false, true}) {
    for (const int32_t label : {0, 1}) {
      const ListName list{is_test, label};
      absl::string_view above = path;
      if (absl::ConsumeSuffix(&above, ToString(list)) && (above.empty() || above.back() == '/'))
        return list;
    }
  }
  return std::nullopt;
}

class SourceWithFilms : public RawSource {
 public:
  SourceWithFilms(std::unique_ptr<RawSource> source, FilmAddresses* films)
      : source_(std::move(source)), films_(films) {}

  absl::StatusOr<std::optional<RawEntry>> Next() override {
    while (true) {
      LRA_ASSIGN_OR_RETURN(std::optional<RawEntry> entry, source_->Next());
      if (!entry.has_value() || !FilmAddresses::IsList(entry->name)) return entry;
      LRA_ASSIGN_OR_RETURN(const std::string bytes,
                           ReadWholeEntry(source_.get(), *entry, kMaxListBytes));
      LRA_RETURN_IF_ERROR(films_->AddList(entry->name, bytes));
    }
  }
  absl::StatusOr<size_t> Read(char* buffer, size_t size_bytes) override {
    return source_->Read(buffer, size_bytes);
  }
  double fraction_read() const override { return source_->fraction_read(); }
  const std::string& name() const override { return source_->name(); }

 private:
  const std::unique_ptr<RawSource> source_;
  FilmAddresses* const films_;
};

}  // namespace

absl::StatusOr<std::string> FilmOfAddress(absl::string_view address) {
  constexpr absl::string_view kBefore = "/title/";
  const size_t at = address.find(kBefore);
  if (at != absl::string_view::npos) {
    absl::string_view film = address.substr(at + kBefore.size());
    film = film.substr(0, film.find('/'));
    absl::string_view digits = film;
    if (absl::ConsumePrefix(&digits, "tt") && !digits.empty() &&
        std::all_of(digits.begin(), digits.end(), absl::ascii_isdigit))
      return std::string(film);
  }
  return absl::InvalidArgumentError(
      absl::StrCat(Excerpt(address),
                   " is not the address of a film; http://.../title/tt<digits>/... is "
                   "expected"));
}

bool FilmAddresses::IsList(absl::string_view path) { return ParseListName(path).has_value(); }

absl::Status FilmAddresses::AddList(absl::string_view path, absl::string_view bytes) {
  const ListName list = ParseListName(path).value();
  std::vector<std::string>& films = films_[{list.is_test, list.label}];
  if (!films.empty()) {
    return absl::DataLossError(absl::StrCat(path, ": there is another ", ToString(list)));
  }
  if (bytes.empty()) return absl::DataLossError(absl::StrCat(path, ": the list is empty"));
  Sha256 hash;
  hash.Update(bytes.data(), bytes.size());
  ManifestSource& source = sources_.emplace_back();
  source.set_name(ToString(list));
  source.set_size_bytes(static_cast<int64_t>(bytes.size()));
  source.set_sha256(ToHex(hash.Finish()));
  absl::ConsumeSuffix(&bytes, "\n");
  for (absl::string_view line : absl::StrSplit(bytes, '\n')) {
    absl::ConsumeSuffix(&line, "\r");
    absl::StatusOr<std::string> film = FilmOfAddress(line);
    if (!film.ok()) {
      return absl::DataLossError(
          absl::StrCat(path, ":", films.size() + 1, ": ", film.status().message()));
    }
    films.push_back(*std::move(film));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> FilmAddresses::FilmOf(const ReviewPath& review) const {
  const std::string name = ToString({review.is_test, review.label});
  const auto films = films_.find({review.is_test, review.label});
  if (films == films_.end()) {
    return absl::NotFoundError(
        absl::StrCat("there is no ", name, ", which names the film of each review"));
  }
  if (static_cast<size_t>(review.id) < films->second.size()) return films->second[review.id];
  return absl::DataLossError(absl::StrCat(name, " has ", films->second.size(),
                                          " lines; line n + 1 is expected to name the film of "
                                          "review n, here ",
                                          review.id));
}

std::unique_ptr<RawSource> ReadFilmsFrom(std::unique_ptr<RawSource> source, FilmAddresses* films) {
  return std::make_unique<SourceWithFilms>(std::move(source), films);
}

}  // namespace lra::text
