#include "tasks/picture.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "datasets/manifest.h"
#include "datasets/png.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

constexpr absl::string_view kRamp = " .:-=+*#%@";
constexpr int kMaxTextColumns = 64;
constexpr int kFramePixels = 2;
constexpr int kMinPicturePixels = 64;
constexpr int64_t kMostPictures = 400;
constexpr int kMaxSheetSide = 4096;

using Colour = std::array<uint8_t, 3>;
constexpr Colour kFrames[] = {{214, 39, 40},   {44, 160, 44},  {31, 119, 180},  {255, 127, 14},
                              {148, 103, 189}, {140, 86, 75},  {227, 119, 194}, {188, 189, 34},
                              {23, 190, 207},  {255, 255, 255}};

Colour PixelAt(const TaskSpec& spec, absl::Span<const uint16_t> pixels, int y, int x) {
  const int side = spec.image_side_pixels(), i = y * side + x, plane = side * side;
  if (spec.content() == TaskSpec::GREY_IMAGE) {
    const auto grey = static_cast<uint8_t>(pixels[i]);
    return {grey, grey, grey};
  }
  return {static_cast<uint8_t>(pixels[i]), static_cast<uint8_t>(pixels[plane + i]),
          static_cast<uint8_t>(pixels[2 * plane + i])};
}

// Mean brightness of the pixels [y0, y1) x [x0, x1).
int Brightness(const TaskSpec& spec, absl::Span<const uint16_t> pixels, int y0, int y1, int x0,
               int x1) {
  int sum = 0;
  for (int y = y0; y < y1; ++y) {
    for (int x = x0; x < x1; ++x) {
      for (uint8_t c : PixelAt(spec, pixels, y, x)) sum += c;
    }
  }
  return sum / (3 * (y1 - y0) * (x1 - x0));
}

// The sheet with all pictures; pixels are set by picture and place.
class Sheet {
 public:
  Sheet(const TaskSpec& spec, int pictures)
      : spec_(spec),
        scale_(std::max(
            1, (kMinPicturePixels + spec.image_side_pixels() - 1) / spec.image_side_pixels())),
        cell_(spec.image_side_pixels() * scale_ + 2 * kFramePixels + 2),
        columns_(std::min(std::max(1, kMaxSheetSide / cell_),
                          static_cast<int>(std::ceil(std::sqrt(pictures * 1.5))))),
        rows_((pictures + columns_ - 1) / columns_) {}

  void Allocate() { rgb_.assign(static_cast<size_t>(3) * width() * height(), 24); }

  int width() const { return columns_ * cell_; }
  int height() const { return rows_ * cell_; }
  const std::vector<uint8_t>& rgb() const { return rgb_; }

  void Draw(int number, const FramedPicture& picture) {
    const int top = number / columns_ * cell_ + 1, left = number % columns_ * cell_ + 1;
    const int inner = spec_.image_side_pixels() * scale_;
    const int outer = inner + 2 * kFramePixels;
    const Colour& frame = kFrames[picture.label % std::size(kFrames)];
    for (int y = 0; y < outer; ++y) {
      for (int x = 0; x < outer; ++x) {
        const int py = y - kFramePixels, px = x - kFramePixels;
        const bool inside = py >= 0 && px >= 0 && py < inner && px < inner;
        const Colour colour =
            inside ? PixelAt(spec_, picture.pixels, py / scale_, px / scale_) : frame;
        std::copy(colour.begin(), colour.end(),
                  rgb_.begin() + (static_cast<int64_t>(top + y) * width() + left + x) * 3);
      }
    }
  }

 private:
  const TaskSpec& spec_;
  const int scale_, cell_, columns_, rows_;
  std::vector<uint8_t> rgb_;
};

}  // namespace

std::string PictureText(const TaskSpec& spec, absl::Span<const uint16_t> pixels) {
  const int side = spec.image_side_pixels();
  const int columns = std::min(side, kMaxTextColumns), lines = std::max(1, columns / 2);
  std::string text;
  for (int line = 0; line < lines; ++line) {
    if (line > 0) text += "\n  ";
    for (int c = 0; c < columns; ++c) {
      const int grey = Brightness(spec, pixels, line * side / lines, (line + 1) * side / lines,
                                  c * side / columns, (c + 1) * side / columns);
      text += kRamp[grey * static_cast<int>(kRamp.size()) / 256];
    }
  }
  return text;
}

absl::Status CheckPicturesFit(int64_t pictures) {
  if (pictures >= 1 && pictures <= kMostPictures) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("a picture of ", pictures, " examples; 1 to ", kMostPictures, " are possible"));
}

absl::StatusOr<std::string> ContactSheetPng(const TaskSpec& spec,
                                            const std::vector<FramedPicture>& pictures) {
  if (!IsImage(spec)) {
    return absl::InvalidArgumentError(absl::StrCat("task ", spec.name(), " is not about images"));
  }
  LRA_RETURN_IF_ERROR(CheckPicturesFit(static_cast<int64_t>(pictures.size())));
  Sheet sheet(spec, static_cast<int>(pictures.size()));
  if (sheet.height() > kMaxSheetSide) {
    return absl::InvalidArgumentError(absl::StrCat(
        pictures.size(), " images of ", spec.image_side_pixels(), " x ", spec.image_side_pixels(),
        " pixels do not fit on ", kMaxSheetSide, " x ", kMaxSheetSide, "; ask for fewer"));
  }
  sheet.Allocate();
  for (size_t i = 0; i < pictures.size(); ++i) sheet.Draw(static_cast<int>(i), pictures[i]);
  return EncodePng(sheet.rgb(), sheet.width(), sheet.height(), 3);
}

}  // namespace lra
