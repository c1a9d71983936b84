#include "datasets/code_points.h"

#include <algorithm>

namespace lra {

void CodePointDecoder::Decode(absl::string_view bytes, std::vector<char32_t>* code_points) {
  for (const char signed_byte : bytes) {
    const auto byte = static_cast<uint8_t>(signed_byte);
    if (missing_ == 0) {
      Begin(byte, code_points);
    } else if (byte >= low_ && byte <= high_) {
      code_point_ = code_point_ << 6 | (byte & 0x3f);
      low_ = 0x80;
      high_ = 0xbf;
      if (--missing_ == 0) code_points->push_back(code_point_);
    } else {
      Finish(code_points);
      Begin(byte, code_points);
    }
  }
}

void CodePointDecoder::Finish(std::vector<char32_t>* code_points) {
  if (missing_ > 0) code_points->push_back(kReplacementCharacter);
  missing_ = 0;
}

// The bounds of the second byte (Unicode, Table 3-7) exclude overlong forms, surrogates and code
// points above U+10FFFF.
void CodePointDecoder::Begin(uint8_t byte, std::vector<char32_t>* code_points) {
  low_ = 0x80;
  high_ = 0xbf;
  if (byte < 0x80) {
    code_points->push_back(byte);
  } else if (byte >= 0xc2 && byte <= 0xdf) {
    missing_ = 1;
    code_point_ = byte & 0x1f;
  } else if (byte >= 0xe0 && byte <= 0xef) {
    missing_ = 2;
    code_point_ = byte & 0x0f;
    if (byte == 0xe0) low_ = 0xa0;
    if (byte == 0xed) high_ = 0x9f;
  } else if (byte >= 0xf0 && byte <= 0xf4) {
    missing_ = 3;
    code_point_ = byte & 0x07;
    if (byte == 0xf0) low_ = 0x90;
    if (byte == 0xf4) high_ = 0x8f;
  } else {
    code_points->push_back(kReplacementCharacter);
  }
}

std::vector<char32_t> DecodeUtf8(absl::string_view text, size_t limit) {
  std::vector<char32_t> code_points;
  code_points.reserve(std::min(text.size(), limit));
  CodePointDecoder decoder;
  // A code point takes at least one byte, so a block of the missing size gives at most one too
  // many: the one that was unfinished before.
  while (!text.empty() && code_points.size() < limit) {
    const absl::string_view block = text.substr(0, limit - code_points.size());
    decoder.Decode(block, &code_points);
    text.remove_prefix(block.size());
  }
  if (text.empty()) decoder.Finish(&code_points);
  if (code_points.size() > limit) code_points.resize(limit);
  return code_points;
}

bool HasReplacement(absl::string_view text) {
  const std::vector<char32_t> points = DecodeUtf8(text);
  return std::find(points.begin(), points.end(), kReplacementCharacter) != points.end();
}

}  // namespace lra
