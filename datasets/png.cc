#include "datasets/png.h"

#include <spng.h>

#include <cstdlib>
#include <cstring>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "lra/check.h"
#include "lra/excerpt.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

constexpr absl::string_view kSignature = "\x89PNG\r\n\x1a\n";
// Limit for chunks other than pixels: compressed text and colour profiles are unpacked up to this
// size.
constexpr size_t kMaxChunkBytes = size_t{1} << 16;

struct FreeContext {
  void operator()(spng_ctx* context) const { spng_ctx_free(context); }
};
using Context = std::unique_ptr<spng_ctx, FreeContext>;

struct Reader {
  absl::string_view bytes;
  size_t at = 0;
  bool missed = false;  // the decoder asked for more bytes than there are
};

int ReadBytes(spng_ctx* /*context*/, void* user, void* target, size_t size_bytes) {
  auto* reader = static_cast<Reader*>(user);
  if (size_bytes > reader->bytes.size() - reader->at) {
    reader->at = reader->bytes.size();
    reader->missed = true;
    return SPNG_IO_EOF;
  }
  std::memcpy(target, reader->bytes.data() + reader->at, size_bytes);
  reader->at += size_bytes;
  return 0;
}

absl::string_view ColorName(int type) {
  switch (type) {
    case SPNG_COLOR_TYPE_GRAYSCALE:
      return "grey";
    case SPNG_COLOR_TYPE_TRUECOLOR:
      return "RGB";
    case SPNG_COLOR_TYPE_INDEXED:
      return "indexed by a palette";
    case SPNG_COLOR_TYPE_GRAYSCALE_ALPHA:
      return "grey with alpha";
    default:
      return "RGB with alpha";
  }
}

absl::Status CheckHeader(const spng_ihdr& header, int side) {
  const auto expected = static_cast<uint32_t>(side);
  if (header.width != expected || header.height != expected) {
    return absl::InvalidArgumentError(absl::StrCat("the PNG is ", header.width, " x ",
                                                   header.height, "; ", side, " x ", side,
                                                   " is expected"));
  }
  if (header.color_type != SPNG_COLOR_TYPE_GRAYSCALE) {
    return absl::InvalidArgumentError(
        absl::StrCat("the PNG is ", ColorName(header.color_type), "; grey is expected"));
  }
  if (header.bit_depth != 8) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the PNG has ", static_cast<int>(header.bit_depth), " bits a sample; 8 are expected"));
  }
  return absl::OkStatus();
}

absl::Status Damage(const Reader& reader, int code) {
  return absl::InvalidArgumentError(absl::StrCat("no sound PNG: at byte ", reader.at, " of ",
                                                 reader.bytes.size(), ": ", spng_strerror(code)));
}

// Decodes only what is needed, but checks every checksum.
Context NewDecoder(Reader* reader) {
  Context context(spng_ctx_new(0));
  LRA_CHECK(context != nullptr) << "out of memory";
  LRA_CHECK(spng_set_crc_action(context.get(), SPNG_CRC_ERROR, SPNG_CRC_ERROR) == 0);
  LRA_CHECK(spng_set_chunk_limits(context.get(), kMaxChunkBytes, kMaxChunkBytes) == 0);
  LRA_CHECK(spng_set_png_stream(context.get(), ReadBytes, reader) == 0);
  return context;
}

}  // namespace

absl::StatusOr<std::vector<uint8_t>> DecodeGreyPng(absl::string_view bytes, int side) {
  LRA_CHECK(side >= 1 && side <= kMaxPngSide) << side;
  if (bytes.empty()) return absl::InvalidArgumentError("the PNG is empty: it has 0 bytes");
  if (!absl::StartsWith(bytes, kSignature)) {
    return absl::InvalidArgumentError(absl::StrCat("no PNG: it begins with ",
                                                   Excerpt(bytes.substr(0, kSignature.size())),
                                                   ", not with ", Excerpt(kSignature)));
  }
  Reader reader{bytes};
  const Context context = NewDecoder(&reader);
  spng_ihdr header;
  if (const int code = spng_get_ihdr(context.get(), &header); code != 0) {
    return Damage(reader, code);
  }
  LRA_RETURN_IF_ERROR(CheckHeader(header, side));
  std::vector<uint8_t> pixels(static_cast<size_t>(side) * side);
  int code = spng_decode_image(context.get(), pixels.data(), pixels.size(), SPNG_FMT_PNG, 0);
  // Reads to the end of the file to check all checksums.
  if (code == 0) code = spng_decode_chunks(context.get());
  // libspng accepts a file that was cut off inside its last checksum.
  if (code == 0 && reader.missed) code = SPNG_EOF;
  if (code != 0) return Damage(reader, code);
  spng_trns transparent;
  if (spng_get_trns(context.get(), &transparent) == 0) {
    return absl::InvalidArgumentError(absl::StrCat("the PNG calls the value ", transparent.gray,
                                                   " transparent; plain grey is expected"));
  }
  if (reader.at != bytes.size()) {
    return absl::InvalidArgumentError(absl::StrCat("the PNG ends at byte ", reader.at, " of ",
                                                   bytes.size(), "; nothing may follow"));
  }
  return pixels;
}

absl::StatusOr<std::string> EncodePng(absl::Span<const uint8_t> pixels, int width, int height,
                                      int channels) {
  LRA_CHECK(width >= 1 && width <= kMaxPngSide && height >= 1 && height <= kMaxPngSide)
      << width << " x " << height;
  LRA_CHECK(channels == 1 || channels == 3) << channels;
  LRA_CHECK(pixels.size() == static_cast<size_t>(width) * height * channels) << pixels.size();
  const Context context(spng_ctx_new(SPNG_CTX_ENCODER));
  LRA_CHECK(context != nullptr) << "out of memory";
  spng_ihdr header = {};
  header.width = static_cast<uint32_t>(width);
  header.height = static_cast<uint32_t>(height);
  header.bit_depth = 8;
  header.color_type = channels == 1 ? SPNG_COLOR_TYPE_GRAYSCALE : SPNG_COLOR_TYPE_TRUECOLOR;
  int code = spng_set_option(context.get(), SPNG_ENCODE_TO_BUFFER, 1);
  if (code == 0) code = spng_set_ihdr(context.get(), &header);
  if (code == 0) {
    code = spng_encode_image(context.get(), pixels.data(), pixels.size(), SPNG_FMT_PNG,
                             SPNG_ENCODE_FINALIZE);
  }
  size_t size_bytes = 0;
  void* buffer = code == 0 ? spng_get_png_buffer(context.get(), &size_bytes, &code) : nullptr;
  if (buffer == nullptr) {
    return absl::InternalError(absl::StrCat("cannot write a PNG: ", spng_strerror(code)));
  }
  const std::unique_ptr<void, decltype(&std::free)> owned(buffer, &std::free);
  return std::string(static_cast<const char*>(buffer), size_bytes);
}

}  // namespace lra
