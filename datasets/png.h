// PNG images (libspng): the grey ones that raw data sets hold, and pictures to look at.
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

// The samples, uint8 [side, side], rows from the top, as they are stored (a gamma is not applied).
// `bytes` is the whole file and nothing behind it; side is 1 to kMaxPngSide. The image must be side
// x side, 8-bit, grey without alpha or a transparent value; InvalidArgument says what it is
// instead, or up to which byte the file was read when damage was found: a cut, a wrong checksum
// (also of chunks that are not needed), more than 64 KiB of text or the like. (What the compressed
// pixels hold behind the last row is passed over.) Allocates the result, a row's worth and at most
// 256 KiB, whatever the bytes say.
absl::StatusOr<std::vector<uint8_t>> DecodeGreyPng(absl::string_view bytes, int side);

// `pixels` is uint8 [height, width, channels]; channels is 1 (grey) or 3 (RGB); width and height
// are 1 to kMaxPngSide. Fails only when memory runs out. The bytes depend on the version of zlib.
absl::StatusOr<std::string> EncodePng(absl::Span<const uint8_t> pixels, int width, int height,
                                      int channels);

}  // namespace lra

#endif  // LRA_DATASETS_PNG_H_
