#include "tasks/text/halves.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace lra::text {
namespace {

// The bytes of the line break or white space that `rest` begins with; 0 if it begins with neither.
size_t BreakBytes(absl::string_view rest) {
  for (const absl::string_view tag : {"<br />", "<br/>", "<br>"}) {
    if (absl::StartsWithIgnoreCase(rest, tag)) return tag.size();
  }
  return absl::ascii_isspace(rest[0]) ? 1 : 0;
}

bool IsWordByte(unsigned char c) { return absl::ascii_isalnum(c) || c == '\'' || c >= 0x80; }

// The words of a text, each with one space behind it, and where they begin; the last place is the
// end.
struct Words {
  std::string bytes;
  std::vector<size_t> places;
};

Words WordsOf(absl::string_view text) {
  Words words;
  bool in_word = false;
  for (const char c : text) {
    const bool is_word = IsWordByte(c);
    if (is_word && !in_word) words.places.push_back(words.bytes.size());
    if (is_word) words.bytes += absl::ascii_tolower(c);
    if (!is_word && in_word) words.bytes += ' ';
    in_word = is_word;
  }
  if (in_word) words.bytes += ' ';
  words.places.push_back(words.bytes.size());
  return words;
}

// FNV-1a (Fowler, Noll, Vo): equal on every machine, so that the data is, too.
uint64_t Hash(absl::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const unsigned char c : bytes) hash = (hash ^ c) * 0x100000001b3u;
  return hash;
}

// The hashes of all runs of so many words; of the whole text where it has fewer.
void AddRuns(absl::string_view text, size_t words_in_run, std::vector<uint64_t>* runs) {
  const Words words = WordsOf(text);
  const size_t length = std::min(words_in_run, words.places.size() - 1);
  for (size_t i = 0; i + length < words.places.size(); ++i) {
    const size_t begin = words.places[i], end = words.places[i + length];
    runs->push_back(Hash(absl::string_view(words.bytes).substr(begin, end - begin)));
  }
}

}  // namespace

std::string WithoutLayout(absl::string_view review) {
  std::string line;
  line.reserve(review.size());
  bool is_after_break = false;
  while (!review.empty()) {
    if (const size_t count = BreakBytes(review); count > 0) {
      review.remove_prefix(count);
      is_after_break = true;
      continue;
    }
    if (std::exchange(is_after_break, false) && !line.empty()) line += ' ';
    line += review[0];
    review.remove_prefix(1);
  }
  return line;
}

std::optional<Halves> CutHalves(absl::string_view line, const CutRule& rule) {
  const size_t size = rule.text_bytes;
  if (line.size() < 2 * size + rule.gap_bytes) return std::nullopt;
  absl::string_view first = line.substr(0, size), last = line.substr(line.size() - size);
  // A word that the cut goes through is left out.
  if (line[size] != ' ') first = first.substr(0, first.rfind(' ') + 1);
  if (line[line.size() - size - 1] != ' ') last.remove_prefix(std::min(last.find(' '), size));
  first = absl::StripTrailingAsciiWhitespace(first);
  last = absl::StripLeadingAsciiWhitespace(last);
  if (2 * std::min(first.size(), last.size()) < size) return std::nullopt;
  return Halves{std::string(first), std::string(last)};
}

bool RepeatFilter::Keep(const Halves& halves) {
  std::vector<uint64_t> runs;
  AddRuns(halves.first, words_, &runs);
  AddRuns(halves.last, words_, &runs);
  const bool repeats =
      std::any_of(runs.begin(), runs.end(), [this](uint64_t run) { return runs_.contains(run); });
  if (!repeats) runs_.insert(runs.begin(), runs.end());
  return !repeats;
}

}  // namespace lra::text
