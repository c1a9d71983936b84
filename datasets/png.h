// PNG images (libspng): reads the grey ones that raw data sets hold, and writes pictures to look
// at.
#ifndef LRA_DATASETS_PNG_H_
#define LRA_DATASETS_PNG_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace lra {

inline constexpr int kMaxPngSide = 4096;

// Decodes a grey image to uint8 [side, side], rows from the top; values are as stored (gamma is not
// applied). `bytes` must be exactly one file. The image must be side x side with side 1 to
// kMaxPngSide, 8-bit, grey, without alpha or a transparent value. InvalidArgument says what the
// image is instead or, if it is damaged, up to which byte it was read: a cut, a wrong checksum
// (also of chunks that are not needed), more than 64 KiB of text or the like. (Compressed data
// behind the last row is ignored.) Memory is bounded by the result, one row and 256 KiB, whatever
// the bytes say.
absl::StatusOr<std::vector<uint8_t>> DecodeGreyPng(absl::string_view bytes, int side);

// Encodes `pixels`, uint8 [height, width, channels], where channels is 1 (grey) or 3 (RGB) and
// width and height are 1 to kMaxPngSide. It fails only if memory runs out. The bytes depend on the
// version of zlib.
absl::StatusOr<std::string> EncodePng(absl::Span<const uint8_t> pixels, int width, int height,
                                      int channels);

}  // namespace lra

#endif  // LRA_DATASETS_PNG_H_
