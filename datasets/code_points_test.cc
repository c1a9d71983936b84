#include "datasets/code_points.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace lra {
namespace {

using testing::ElementsAreArray;

struct Decoded {
  std::string bytes;
  std::vector<char32_t> code_points;
};

// The expected code points are those of bytes.decode("utf-8", "replace") of Python 3.11.
const std::vector<Decoded>& DecodedTexts() {
  static const auto* const kTable = new std::vector<Decoded>{
      {{"", 0}, {}},
      {{"plain", 5}, {0x70, 0x6c, 0x61, 0x69, 0x6e}},
      {{"h\303\251llo \342\202\254 \360\237\230\200", 15},
       {0x68, 0xe9, 0x6c, 0x6c, 0x6f, 0x20, 0x20ac, 0x20, 0x1f600}},
      {{"\000\177", 2}, {0x0, 0x7f}},
      {{"\302\200\337\277\340\240\200\357\277\277\360\220\200\200\364\217\277\277", 18},
       {0x80, 0x7ff, 0x800, 0xffff, 0x10000, 0x10ffff}},
      {{"\355\237\277\356\200\200", 6}, {0xd7ff, 0xe000}},
      {{"\200", 1}, {0xfffd}},
      {{"\277\277", 2}, {0xfffd, 0xfffd}},
      {{"\300\200", 2}, {0xfffd, 0xfffd}},
      {{"\301\277", 2}, {0xfffd, 0xfffd}},
      {{"\302", 1}, {0xfffd}},
      {{"\302A", 2}, {0xfffd, 0x41}},
      {{"\340\200\200", 3}, {0xfffd, 0xfffd, 0xfffd}},
      {{"\340\237\277", 3}, {0xfffd, 0xfffd, 0xfffd}},
      {{"\342\202", 2}, {0xfffd}},
      {{"\342\202A", 3}, {0xfffd, 0x41}},
      {{"\342A", 2}, {0xfffd, 0x41}},
      {{"\355\240\200", 3}, {0xfffd, 0xfffd, 0xfffd}},
      {{"\355\277\277", 3}, {0xfffd, 0xfffd, 0xfffd}},
      {{"\360\200\200\200", 4}, {0xfffd, 0xfffd, 0xfffd, 0xfffd}},
      {{"\360\217\277\277", 4}, {0xfffd, 0xfffd, 0xfffd, 0xfffd}},
      {{"\360\237\230", 3}, {0xfffd}},
      {{"\360\237\230A", 4}, {0xfffd, 0x41}},
      {{"\360\237", 2}, {0xfffd}},
      {{"\360\237A", 3}, {0xfffd, 0x41}},
      {{"\364\220\200\200", 4}, {0xfffd, 0xfffd, 0xfffd, 0xfffd}},
      {{"\365\200\200\200", 4}, {0xfffd, 0xfffd, 0xfffd, 0xfffd}},
      {{"\377\376", 2}, {0xfffd, 0xfffd}},
      {{"a\361\200\200\341\200\302b\200c\200\277d", 13},
       {0x61, 0xfffd, 0xfffd, 0xfffd, 0x62, 0xfffd, 0x63, 0xfffd, 0xfffd, 0x64}},
      {{"\341\360\237\230\200", 5}, {0xfffd, 0x1f600}},
      {{"\357\277\275", 3}, {0xfffd}},
      {{"\357\273\277a", 4}, {0xfeff, 0x61}},
      {{"\237\357\365\217", 4}, {0xfffd, 0xfffd, 0xfffd, 0xfffd}},
      {{"A\365\340\302\277\365\365", 7}, {0x41, 0xfffd, 0xfffd, 0xbf, 0xfffd, 0xfffd}},
      {{"\237\302\237\360A\217", 6}, {0xfffd, 0x9f, 0xfffd, 0x41, 0xfffd}},
      {{"\200\342A\340", 4}, {0xfffd, 0xfffd, 0x41, 0xfffd}},
      {{"\360\361\360\364\237\357", 6}, {0xfffd, 0xfffd, 0xfffd, 0xfffd, 0xfffd, 0xfffd}},
      {{"\200\237\365", 3}, {0xfffd, 0xfffd, 0xfffd}},
      {{"\340\361\342\361", 4}, {0xfffd, 0xfffd, 0xfffd, 0xfffd}},
      {{"\360\357\361\302\355A\340", 7}, {0xfffd, 0xfffd, 0xfffd, 0xfffd, 0xfffd, 0x41, 0xfffd}},
      {{"\240\355\220\277\340\342\220", 7}, {0xfffd, 0xd43f, 0xfffd, 0xfffd}},
      {{"\365\365\217", 3}, {0xfffd, 0xfffd, 0xfffd}},
      {{"\217\361\237A\342", 5}, {0xfffd, 0xfffd, 0x41, 0xfffd}},
      {{"\361\220\200\200\360\355", 6}, {0x50000, 0xfffd, 0xfffd}},
      {{"\340\302\200\342A\217\220", 7}, {0xfffd, 0x80, 0xfffd, 0x41, 0xfffd, 0xfffd}},
      {{"\200\277\361\342\340\237\200", 7},
       {0xfffd, 0xfffd, 0xfffd, 0xfffd, 0xfffd, 0xfffd, 0xfffd}},
      {{"\355\357\237\360\360", 5}, {0xfffd, 0xfffd, 0xfffd, 0xfffd}},
      {{"\360\220\340\361\302\342", 6}, {0xfffd, 0xfffd, 0xfffd, 0xfffd, 0xfffd}},
      {{"\340\342\355A\361\355", 6}, {0xfffd, 0xfffd, 0xfffd, 0x41, 0xfffd, 0xfffd}},
      {{"\360\237\200", 3}, {0xfffd}},
      {{"\355\364\357\357\340\365A\200", 8},
       {0xfffd, 0xfffd, 0xfffd, 0xfffd, 0xfffd, 0xfffd, 0x41, 0xfffd}},
      {{"A\357\340\364\342\355\240\357", 8},
       {0x41, 0xfffd, 0xfffd, 0xfffd, 0xfffd, 0xfffd, 0xfffd, 0xfffd}},
      {{"\355\357\340\342", 4}, {0xfffd, 0xfffd, 0xfffd, 0xfffd}},
      {{"\220A\237\342\302\340", 6}, {0xfffd, 0x41, 0xfffd, 0xfffd, 0xfffd, 0xfffd}},
      {{"\355\240\361\220", 4}, {0xfffd, 0xfffd, 0xfffd}},
      {{"\355\355\302", 3}, {0xfffd, 0xfffd, 0xfffd}},
  };
  return *kTable;
}

TEST(CodePointsTest, DecodesAsPythonDoes) {
  for (const Decoded& golden : DecodedTexts()) {
    EXPECT_THAT(DecodeUtf8(golden.bytes), ElementsAreArray(golden.code_points))
        << testing::PrintToString(golden.bytes);
  }
}

TEST(CodePointsTest, BlocksMakeNoDifference) {
  CodePointDecoder decoder;
  for (const Decoded& golden : DecodedTexts()) {
    for (size_t block_bytes = 1; block_bytes < 4; ++block_bytes) {
      std::vector<char32_t> code_points;
      for (size_t at = 0; at < golden.bytes.size(); at += block_bytes) {
        decoder.Decode(absl::string_view(golden.bytes).substr(at, block_bytes), &code_points);
        EXPECT_LE(code_points.size(), at + block_bytes);
      }
      decoder.Finish(&code_points);
      EXPECT_THAT(code_points, ElementsAreArray(golden.code_points))
          << testing::PrintToString(golden.bytes);
    }
  }
}

TEST(CodePointsTest, ALimitGivesTheFirst) {
  for (const Decoded& golden : DecodedTexts()) {
    for (size_t limit = 0; limit <= golden.code_points.size() + 1; ++limit) {
      std::vector<char32_t> first = golden.code_points;
      first.resize(std::min(limit, first.size()));
      EXPECT_THAT(DecodeUtf8(golden.bytes, limit), ElementsAreArray(first))
          << testing::PrintToString(golden.bytes) << " limit " << limit;
    }
  }
}

// Every code point except surrogates survives encoding to UTF-8 and decoding.
TEST(CodePointsTest, DecodesEveryCodePoint) {
  std::string text;
  std::vector<char32_t> expected;
  for (char32_t c = 0; c <= 0x10ffff; ++c) {
    if (c >= 0xd800 && c <= 0xdfff) continue;
    expected.push_back(c);
    const auto put = [&](char32_t bits) { text.push_back(static_cast<char>(bits)); };
    if (c < 0x80) {
      put(c);
    } else if (c < 0x800) {
      put(0xc0 | c >> 6);
    } else if (c < 0x10000) {
      put(0xe0 | c >> 12);
    } else {
      put(0xf0 | c >> 18);
    }
    if (c >= 0x10000) put(0x80 | (c >> 12 & 0x3f));
    if (c >= 0x800) put(0x80 | (c >> 6 & 0x3f));
    if (c >= 0x80) put(0x80 | (c & 0x3f));
  }
  EXPECT_EQ(DecodeUtf8(text), expected);
}

TEST(CodePointsTest, SeesWhatIsNoUtf8) {
  EXPECT_FALSE(HasReplacement(""));
  EXPECT_FALSE(HasReplacement("caf\xc3\xa9"));
  for (const char* text : {"caf\xe9", "caf\xc3", "caf\xef\xbf\xbd"})
    EXPECT_TRUE(HasReplacement(text));
}

}  // namespace
}  // namespace lra
