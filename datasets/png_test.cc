#include "datasets/png.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "lra/random.h"

namespace lra {
namespace {

using testing::ElementsAreArray;
using testing::HasSubstr;

// The test writes PNG files itself, from the specification: checksums and uncompressed deflate
// blocks.
std::string BigEndian32(uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16),
          static_cast<char>(value >> 8), static_cast<char>(value)};
}

uint32_t Crc32(absl::string_view bytes) {
  uint32_t crc = 0xffffffff;
  for (const char byte : bytes) {
    crc ^= static_cast<uint8_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
  }
  return ~crc;
}

std::string Chunk(const std::string& type, const std::string& data) {
  return absl::StrCat(BigEndian32(static_cast<uint32_t>(data.size())), type, data,
                      BigEndian32(Crc32(type + data)));
}

std::string Zlib(const std::string& data) {
  std::string stream = "\x78\x01";
  for (size_t at = 0; at == 0 || at < data.size(); at += 0xffff) {
    const std::string block = data.substr(at, 0xffff);
    const auto low = static_cast<char>(block.size()), high = static_cast<char>(block.size() >> 8);
    stream += {static_cast<char>(at + 0xffff >= data.size()), low, high, static_cast<char>(~low),
               static_cast<char>(~high)};
    stream += block;
  }
  uint32_t a = 1, b = 0;
  for (const char byte : data) {
    a = (a + static_cast<uint8_t>(byte)) % 65521;
    b = (b + a) % 65521;
  }
  return stream + BigEndian32(b << 16 | a);
}

const std::string kSignature = "\x89PNG\r\n\x1a\n";
const std::string kEnd = Chunk("IEND", "");

std::string Header(uint32_t width, uint32_t height, int depth, int color, int interlace = 0) {
  return Chunk("IHDR", absl::StrCat(BigEndian32(width), BigEndian32(height),
                                    std::string{static_cast<char>(depth), static_cast<char>(color),
                                                0, 0, static_cast<char>(interlace)}));
}

// `side` rows of zeros of `row_bytes` each, without filters.
std::string Rows(int side, int row_bytes) {
  return Chunk("IDAT", Zlib(std::string(static_cast<size_t>(side) * (row_bytes + 1), '\0')));
}

std::vector<uint8_t> Noise(int n) {
  std::vector<uint8_t> values(n);
  RandomStream random(8, RandomDomain::kTest, {0, 0, 0});
  for (uint8_t& value : values) value = static_cast<uint8_t>(random.Below(256));
  return values;
}

// Made with Python's zlib; every row of the first has another filter (none, sub, up, average,
// Paeth), and its pixels come in two chunks; the second is interlaced.
TEST(PngTest, DecodesEveryFilterAndInterlace) {
  const std::vector<uint8_t> pixels = {165, 77,  202, 24,  37, 48, 187, 29, 109, 19, 44,  222, 214,
                                       35,  123, 46,  217, 30, 63, 114, 31, 203, 25, 113, 23};
  const absl::string_view filtered =
      "89504e470d0a1a0a0000000d4948445200000005000000050800000000a8047939000000094944415478da6358ea"
      "7b4a4295c668dc110000001e49444154d1a03b296019d31fe59ddb32982582dde545593e7efa6db41400a3b20ba8"
      "dbb831d60000000049454e44ae426082";
  const absl::string_view interlaced =
      "89504e470d0a1a0a0000000d4948445200000005000000050800000001df0349af0000002d4944415478da6358ca"
      "a0ca202fce708a419241e75a3583af04c33d6586d3850c06bb65738519f46ecad917010099ee096162e2555d0000"
      "000049454e44ae426082";
  for (const absl::string_view hex : {filtered, interlaced}) {
    const auto decoded = DecodeGreyPng(absl::HexStringToBytes(hex), 5);
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    EXPECT_THAT(*decoded, ElementsAreArray(pixels));
  }
}

TEST(PngTest, ReadsWhatTheSpecificationSays) {
  const auto decoded =
      DecodeGreyPng(absl::StrCat(kSignature, Header(2, 2, 8, 0), Chunk("gAMA", BigEndian32(45455)),
                                 Chunk("tEXt", std::string("Title\0x", 7)),
                                 Chunk("IDAT", Zlib(std::string("\0\x01\x02\0\xfe\xff", 6))),
                                 Chunk("tIME", std::string("\x07\xe4\1\1\1\1\1", 7)), kEnd),
                    2);
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_THAT(*decoded, ElementsAreArray({1, 2, 254, 255}));
}

TEST(PngTest, ReadsBackWhatItWrote) {
  for (const int side : {1, 28, 32, 64, 128, 256, 300}) {
    const std::vector<uint8_t> pixels = Noise(side * side);
    const auto png = EncodePng(pixels, side, side, 1);
    ASSERT_TRUE(png.ok()) << png.status();
    EXPECT_EQ(png->substr(0, 33), absl::StrCat(kSignature, Header(side, side, 8, 0)));
    EXPECT_EQ(png->substr(png->size() - 12), kEnd);
    const auto decoded = DecodeGreyPng(*png, side);
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    EXPECT_EQ(*decoded, pixels);
  }
}

TEST(PngTest, WritesColourAndAnyShape) {
  const auto png = EncodePng(Noise(7 * 3 * 3), 7, 3, 3);
  ASSERT_TRUE(png.ok()) << png.status();
  EXPECT_EQ(png->substr(0, 33), absl::StrCat(kSignature, Header(7, 3, 8, 2)));
  EXPECT_DEATH(EncodePng(Noise(20), 7, 3, 1).IgnoreError(), "pixels.size");
  EXPECT_DEATH(EncodePng(Noise(42), 7, 3, 2).IgnoreError(), "channels");
  EXPECT_DEATH(EncodePng({}, 0, 3, 1).IgnoreError(), "width");
}

TEST(PngTest, SaysWhatTheImageIsInstead) {
  const auto png = [](uint32_t width, uint32_t height, int depth, int color, int row_bytes) {
    return absl::StrCat(kSignature, Header(width, height, depth, color), Rows(height, row_bytes),
                        kEnd);
  };
  ASSERT_TRUE(DecodeGreyPng(png(32, 32, 8, 0, 32), 32).ok());
  const std::vector<std::pair<std::string, std::string>> table = {
      {"", "is empty: it has 0 bytes"},
      {png(33, 32, 8, 0, 33), "is 33 x 32; 32 x 32 is expected"},
      {png(32, 31, 8, 0, 32), "is 32 x 31;"},
      {absl::StrCat(kSignature, Header(0x7fffffff, 0x7fffffff, 8, 0), Rows(1, 32), kEnd),
       "is 2147483647 x 2147483647; 32 x 32 is expected"},
      {png(32, 32, 16, 0, 64), "has 16 bits a sample; 8 are expected"},
      {png(32, 32, 1, 0, 4), "has 1 bits a sample"},
      {png(32, 32, 8, 2, 96), "is RGB; grey is expected"},
      {png(32, 32, 16, 2, 192), "is RGB; grey is expected"},
      {png(32, 32, 8, 3, 32), "is indexed by a palette; grey"},
      {png(32, 32, 8, 4, 64), "is grey with alpha; grey"},
      {png(32, 32, 8, 6, 128), "is RGB with alpha; grey"},
      {absl::StrCat(kSignature, Header(32, 32, 8, 0), Chunk("tRNS", std::string("\0\x07", 2)),
                    Rows(32, 32), kEnd),
       "calls the value 7 transparent"},
  };
  for (const auto& [bytes, words] : table) {
    const auto decoded = DecodeGreyPng(bytes, 32);
    EXPECT_EQ(decoded.status().code(), absl::StatusCode::kInvalidArgument) << words;
    EXPECT_THAT(std::string(decoded.status().message()), HasSubstr(words));
  }
}

TEST(PngTest, FindsDamageAndNamesTheByte) {
  const std::string header = absl::StrCat(kSignature, Header(4, 4, 8, 0));
  const std::string good = absl::StrCat(header, Rows(4, 4), kEnd);
  ASSERT_TRUE(DecodeGreyPng(good, 4).ok());
  std::string bad_crc = good;
  bad_crc[bad_crc.size() - 13] ^= 1;  // the last byte of the checksum of IDAT
  std::string bad_end = good;
  bad_end.back() ^= 1;
  std::string bad_adler = Zlib(std::string(20, '\0'));
  bad_adler.back() ^= 1;
  std::string bad_text = Chunk("tEXt", std::string("Title\0x", 7));
  bad_text.back() ^= 1;
  const std::vector<std::pair<std::string, std::string>> table = {
      {"GIF89a, and more",
       "no PNG: it begins with \"GIF89a, \", not with \"\\x89PNG\\r\\n\\x1a\\n\""},
      {good.substr(0, 7), "no PNG: it begins"},
      {good.substr(0, 8), "at byte 8 of 8"},
      {good.substr(0, 20), "at byte 20 of 20"},
      {good.substr(0, good.size() - 1), absl::StrCat("at byte ", good.size() - 1)},
      {good.substr(0, good.size() - 12), absl::StrCat("at byte ", good.size() - 12)},
      {good + "x", absl::StrCat("ends at byte ", good.size(), " of ", good.size() + 1)},
      {good + good, absl::StrCat("ends at byte ", good.size(), " of ", 2 * good.size())},
      {bad_crc, absl::StrCat("at byte ", good.size() - 12)},
      {bad_end, absl::StrCat("at byte ", good.size())},
      {absl::StrCat(header, bad_text, Rows(4, 4), kEnd), "at byte 52"},
      {absl::StrCat(header, Rows(4, 4), bad_text, kEnd), "no sound PNG"},
      {absl::StrCat(header, Chunk("IDAT", bad_adler), kEnd), "no sound PNG"},
      {absl::StrCat(header, Rows(3, 4), kEnd), "no sound PNG"},
      {absl::StrCat(header, kEnd), "no sound PNG"},
      {absl::StrCat(header, Chunk("IDAT", "not zlib at all"), kEnd), "no sound PNG"},
      {absl::StrCat(header, Chunk("IDAT", Zlib(std::string(20, '\x05'))), kEnd), "no sound PNG"},
      {absl::StrCat(kSignature, Header(4, 4, 8, 0, 2), Rows(4, 4), kEnd), "interlac"},
      {absl::StrCat(kSignature, Header(0, 4, 8, 0), Rows(4, 4), kEnd), "width"},
      {absl::StrCat(kSignature, Header(4, 4, 8, 1), Rows(4, 4), kEnd), "color type"},
      {absl::StrCat(header, Rows(4, 4), Header(4, 4, 8, 0), kEnd), "no sound PNG"},
  };
  for (const auto& [bytes, words] : table) {
    const auto decoded = DecodeGreyPng(bytes, 4);
    EXPECT_EQ(decoded.status().code(), absl::StatusCode::kInvalidArgument) << words;
    EXPECT_THAT(std::string(decoded.status().message()), HasSubstr(words));
  }
}

// A text chunk of 122 bytes that unpacks to 100,000 zeros, more than the limit.
TEST(PngTest, RefusesBombs) {
  const std::string packed = absl::HexStringToBytes(absl::StrCat(
      "78daedc13101000000c2a0f54f6d0d0fa0", std::string(2 * 99, '0'), "80570386af0001"));
  const std::string header = absl::StrCat(kSignature, Header(4, 4, 8, 0));
  for (const std::string& chunk :
       {Chunk("zTXt", std::string("a\0\0", 3) + packed),
        Chunk("iCCP", std::string("a\0\0", 3) + packed),
        Chunk("tEXt", std::string("a\0", 2) + std::string(70000, 'x'))}) {
    const auto decoded = DecodeGreyPng(absl::StrCat(header, chunk, Rows(4, 4), kEnd), 4);
    EXPECT_THAT(std::string(decoded.status().message()), HasSubstr("no sound PNG"));
  }
  std::string many = header;
  for (int i = 0; i < 3000; ++i) many += Chunk("tEXt", std::string("a\0x", 3));
  EXPECT_FALSE(DecodeGreyPng(absl::StrCat(many, Rows(4, 4), kEnd), 4).ok());
}

TEST(PngTest, SurvivesDamage) {
  const std::string good = *EncodePng(Noise(64), 8, 8, 1);
  RandomStream random(2, RandomDomain::kTest, {0, 0, 0});
  int accepted = 0;
  for (int i = 0; i < 5000; ++i) {
    std::string bytes = good;
    for (int64_t flips = random.Between(1, 3); flips > 0; --flips) {
      bytes[random.Below(static_cast<uint32_t>(bytes.size()))] =
          static_cast<char>(random.Below(256));
    }
    if (bytes == good) continue;
    accepted += DecodeGreyPng(bytes, 8).ok();
  }
  EXPECT_EQ(accepted, 0);  // 32-bit checksums find every change
}

}  // namespace
}  // namespace lra
