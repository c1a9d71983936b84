#include <algorithm>
#include <string>
#include <vector>

#include "datasets/code_points.h"
#include "tests/fuzz/fuzz_target.h"

namespace lra {
namespace {

void AppendUtf8(char32_t c, std::string* text) {
  const auto put = [&](char32_t bits) { text->push_back(static_cast<char>(bits)); };
  if (c < 0x80) return put(c);
  if (c < 0x800) {
    put(0xc0 | c >> 6);
  } else if (c < 0x10000) {
    put(0xe0 | c >> 12);
  } else {
    put(0xf0 | c >> 18);
    put(0x80 | (c >> 12 & 0x3f));
  }
  if (c >= 0x800) put(0x80 | (c >> 6 & 0x3f));
  put(0x80 | (c & 0x3f));
}

void Check(absl::string_view text, size_t block_bytes, size_t limit) {
  const std::vector<char32_t> whole = DecodeUtf8(text);
  LRA_CHECK(whole.size() <= text.size() && (whole.empty() == text.empty()));
  std::vector<char32_t> blocks;
  CodePointDecoder decoder;
  for (size_t at = 0; at < text.size(); at += block_bytes) {
    decoder.Decode(text.substr(at, block_bytes), &blocks);
  }
  decoder.Finish(&blocks);
  LRA_CHECK(blocks == whole);
  std::string back;
  for (const char32_t c : whole) {
    LRA_CHECK(c <= 0x10ffff && (c < 0xd800 || c > 0xdfff));
    AppendUtf8(c, &back);
  }
  // Encoded code points decode to themselves, and valid text equals the encoding of its code
  // points.
  LRA_CHECK(DecodeUtf8(back) == whole);
  const bool is_sound = std::find(whole.begin(), whole.end(), kReplacementCharacter) == whole.end();
  LRA_CHECK(!is_sound || back == text);
  const std::vector<char32_t> first = DecodeUtf8(text, limit);
  LRA_CHECK(first.size() == std::min(limit, whole.size()));
  LRA_CHECK(std::equal(first.begin(), first.end(), whole.begin()));
}

}  // namespace
}  // namespace lra

LRA_FUZZ_TARGET(code_points) {
  const size_t block_bytes = 1 + lra::TakeByte(&input) % 8;
  const size_t limit = lra::TakeByte(&input) % 16;
  lra::Check(input, block_bytes, limit);
}
