#include "absl/strings/match.h"
#include "tasks/text/halves.h"
#include "tests/fuzz/fuzz_target.h"

LRA_FUZZ_TARGET(halves) {
  const size_t text_bytes = lra::TakeByte(&input) + 1, gap_bytes = lra::TakeByte(&input) + 1;
  const std::string line = lra::text::WithoutLayout(input);
  LRA_CHECK(lra::text::WithoutLayout(line) == line || absl::StrContains(line, "<"));
  LRA_CHECK(line.find_first_of("\t\n\v\f\r") == std::string::npos);
  LRA_CHECK(!absl::StrContains(line, "  ") && !absl::StartsWith(line, " ") &&
            !absl::EndsWith(line, " "));
  const auto halves = lra::text::CutHalves(line, {text_bytes, gap_bytes});
  if (!halves.has_value()) return;
  for (const std::string& text : {halves->first, halves->last})
    LRA_CHECK(text.size() <= text_bytes && 2 * text.size() >= text_bytes);
  LRA_CHECK(absl::StartsWith(line, halves->first + " "));
  LRA_CHECK(absl::EndsWith(line, " " + halves->last));
  LRA_CHECK(halves->first.size() + gap_bytes + halves->last.size() <= line.size());
  lra::text::RepeatFilter filter(3);
  LRA_CHECK(filter.Keep(*halves) && !filter.Keep(*halves));
}
