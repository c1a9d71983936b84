#include <string>
#include <vector>

#include "datasets/png.h"
#include "tests/fuzz/fuzz_target.h"

namespace lra {
namespace {

constexpr int kSide = 4;

uint32_t Crc32(absl::string_view bytes) {
  uint32_t crc = 0xffffffff;
  for (const char byte : bytes) {
    crc ^= static_cast<uint8_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
  }
  return ~crc;
}

// Corrects the checksums of the chunks; otherwise the fuzzer would never get past them.
std::string Repaired(std::string png) {
  size_t at = 8;
  while (at + 12 <= png.size()) {
    size_t length = 0;
    for (int i = 0; i < 4; ++i) length = length << 8 | static_cast<uint8_t>(png[at + i]);
    if (length > png.size() - at - 12) break;
    const uint32_t crc = Crc32(absl::string_view(png).substr(at + 4, length + 4));
    for (int i = 0; i < 4; ++i) png[at + 8 + length + i] = static_cast<char>(crc >> (24 - 8 * i));
    at += length + 12;
  }
  return png;
}

void CheckDecoded(absl::string_view png) {
  const auto pixels = DecodeGreyPng(png, kSide);
  if (!pixels.ok()) {
    LRA_CHECK(!pixels.status().message().empty());
    return;
  }
  LRA_CHECK(pixels->size() == kSide * kSide);
  LRA_CHECK(*DecodeGreyPng(*EncodePng(*pixels, kSide, kSide, 1), kSide) == *pixels);
  LRA_CHECK(!DecodeGreyPng(png, kSide + 1).ok());
  LRA_CHECK(!DecodeGreyPng(png.substr(0, png.size() - 1), kSide).ok());
}

}  // namespace
}  // namespace lra

LRA_FUZZ_TARGET(png) {
  lra::CheckDecoded(input);
  lra::CheckDecoded(lra::Repaired(std::string(input)));
}
