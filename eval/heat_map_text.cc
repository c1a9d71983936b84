// The only file that includes the font: stb_easy_font (github.com/nothings/stb, public domain)
// turns ASCII text into rectangles.
#include <string>

#include "eval/heat_map.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wsign-compare"
#include <stb/stb_easy_font.h>
#pragma GCC diagnostic pop

namespace lra::internal {
namespace {

constexpr int kScale = 2;
constexpr size_t kMaxTextBytes = 100;

// One corner of a rectangle. Four corners make a rectangle; the first and the third are opposite.
struct Corner {
  float x, y, z;
  unsigned char colour[4];
};

// The font knows only printable ASCII characters, and needs a text that it may change.
std::string Printable(absl::string_view text) {
  std::string printable(text.substr(0, kMaxTextBytes));
  for (char& c : printable) {
    if (c < 32 || c > 126) c = '?';
  }
  return printable;
}

}  // namespace

int TextWidth(absl::string_view text) {
  return kScale * stb_easy_font_width(Printable(text).data());
}

void DrawText(Canvas* canvas, int x, int y, absl::string_view text, bool upwards) {
  std::string printable = Printable(text);
  std::vector<Corner> corners(80 * kMaxTextBytes);
  const int rectangles = stb_easy_font_print(0, 0, printable.data(), nullptr, corners.data(),
                                             static_cast<int>(corners.size() * sizeof(Corner)));
  for (int i = 0; i < rectangles; ++i) {
    const Corner &from = corners[4 * i], &to = corners[4 * i + 2];
    const int dx = static_cast<int>(from.x) * kScale, dy = static_cast<int>(from.y) * kScale;
    const int w = static_cast<int>(to.x) * kScale - dx, h = static_cast<int>(to.y) * kScale - dy;
    if (upwards) {
      canvas->Fill(x + dy, y - dx - w, h, w, {0, 0, 0});
    } else {
      canvas->Fill(x + dx, y + dy, w, h, {0, 0, 0});
    }
  }
}

}  // namespace lra::internal
