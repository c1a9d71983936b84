#include <algorithm>

#include "tasks/text/film_addresses.h"
#include "tests/fuzz/fuzz_target.h"

LRA_FUZZ_TARGET(film_addresses) {
  lra::text::FilmAddresses films;
  const absl::Status status = films.AddList("train/urls_pos.txt", input);
  LRA_CHECK(status.ok() || status.message().size() < 400);
  if (!status.ok()) return;
  // There are as many films as lines, and each stands in the list.
  const auto ends = static_cast<int32_t>(std::count(input.begin(), input.end(), '\n'));
  const int32_t lines = ends + (input.back() == '\n' ? 0 : 1);
  for (int32_t id = 0; id <= lines; ++id) {
    const auto film = films.FilmOf({.is_test = false, .label = 1, .id = id});
    LRA_CHECK(film.ok() == (id < lines));
    LRA_CHECK(!film.ok() || input.find("/title/" + *film) != absl::string_view::npos);
  }
}
