#include "tasks/text/halves.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "lra/random.h"

namespace lra::text {
namespace {

TEST(HalvesTest, LayoutIsOneSpace) {
  EXPECT_EQ(WithoutLayout(" \tOne.  Two\r\n\r\nthree<br /><br />four <BR/> five<br>"),
            "One. Two three four five");
  EXPECT_EQ(WithoutLayout("a <b>bold</b> word < br"), "a <b>bold</b> word < br");
  EXPECT_EQ(WithoutLayout(absl::string_view("caf\xc3\xa9 \0x", 8)),
            absl::string_view("caf\xc3\xa9 \0x", 8));
  EXPECT_EQ(WithoutLayout("<br /> \n<br />"), "");
  EXPECT_EQ(WithoutLayout(""), "");
}

// "first|last", or "none".
std::string Cut(absl::string_view line, size_t text_bytes, size_t gap_bytes) {
  const std::optional<Halves> halves = CutHalves(line, {text_bytes, gap_bytes});
  return halves.has_value() ? absl::StrCat(halves->first, "|", halves->last) : "none";
}

TEST(HalvesTest, TextsAreWholeWordsOfBothEnds) {
  const std::string line = "one two three four five six seven";  // 33 bytes
  EXPECT_EQ(Cut(line, 13, 7), "one two three|six seven");
  EXPECT_EQ(Cut(line, 12, 9),
            "one two|six seven");  // "three" goes through one cut, "five" the other
  EXPECT_EQ(Cut(line, 14, 5), "one two three|five six seven");
  EXPECT_EQ(Cut(line, 9, 3), "one two|six seven");
  EXPECT_EQ(Cut(line, 8, 3), "one two|seven");
}

TEST(HalvesTest, WhatIsTooShortOrHasNoSpaceIsLeftOut) {
  const std::string line = "one two three four five six seven";
  EXPECT_EQ(Cut(line, 13, 8), "none");
  EXPECT_EQ(Cut("", 1, 1), "none");
  EXPECT_EQ(Cut("word", 8, 1), "none");
  EXPECT_EQ(Cut(std::string(100, 'x'), 16, 1), "none");
  EXPECT_EQ(Cut(absl::StrCat("a ", std::string(60, 'x'), " b"), 16, 1), "none");
  EXPECT_EQ(Cut(absl::StrCat("12345678 ", std::string(60, 'x'), " 12345678"), 16, 1),
            "12345678|12345678");
  EXPECT_EQ(Cut(absl::StrCat("1234567 ", std::string(60, 'x'), " 12345678"), 16, 1), "none");
}

TEST(HalvesTest, ReviewsThatShareARunOfWordsAreRepetitions) {
  RepeatFilter filter(3);
  EXPECT_TRUE(filter.Keep({"a film that I like", "and saw twice"}));
  EXPECT_FALSE(filter.Keep({"never again", "(A FILM, that)..."}));
  // What was not kept is no earlier review.
  EXPECT_TRUE(filter.Keep({"never again", "please"}));
  EXPECT_TRUE(filter.Keep({"it is a film", "that and saw"}));  // two words in a row
  // Texts of fewer words are compared whole.
  EXPECT_FALSE(filter.Keep({"something else altogether", "Please!"}));
  EXPECT_TRUE(filter.Keep({"something else altogether", "if you please"}));
}

// All runs of so many words, as words.
std::vector<std::vector<std::string>> RunsOf(absl::string_view text, size_t words_in_run) {
  const std::vector<std::string> words = absl::StrSplit(text, ' ');
  const size_t length = std::min(words_in_run, words.size());
  std::vector<std::vector<std::string>> runs;
  for (size_t i = 0; i + length <= words.size(); ++i)
    runs.emplace_back(words.begin() + i, words.begin() + i + length);
  return runs;
}

// The filter beside the obvious way, on texts of two words in which runs often meet.
TEST(HalvesTest, TheFilterFindsEveryRun) {
  RandomStream random(0, RandomDomain::kTest, {0, 0, 0});
  const auto draw = [&random] {
    std::string text = "x";
    for (int64_t words = random.Between(1, 24); words > 0; --words)
      absl::StrAppend(&text, random.Below(2) == 0 ? " a" : " bc");
    return text;
  };
  RepeatFilter filter(9);
  std::set<std::vector<std::string>> kept;
  int repetitions = 0;
  for (int i = 0; i < 300; ++i) {
    const Halves halves{draw(), draw()};
    std::vector<std::vector<std::string>> runs = RunsOf(halves.first, 9);
    for (auto& run : RunsOf(halves.last, 9)) runs.push_back(std::move(run));
    const bool repeats =
        std::any_of(runs.begin(), runs.end(), [&](const auto& run) { return kept.count(run) > 0; });
    ASSERT_EQ(filter.Keep(halves), !repeats) << halves.first << " | " << halves.last;
    if (!repeats) kept.insert(runs.begin(), runs.end());
    repetitions += repeats ? 1 : 0;
  }
  EXPECT_GT(repetitions, 30);
  EXPECT_LT(repetitions, 270);
}

}  // namespace
}  // namespace lra::text
