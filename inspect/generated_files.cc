// How generated texts and pictures are shown.
#include <algorithm>
#include <array>
#include <cstdint>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "datasets/id_content.h"
#include "datasets/png.h"
#include "datasets/token_text.h"
#include "inspect/generate.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

constexpr int kMinPicturePixels = 84, kGapPixels = 4, kMaxPictures = 64;
constexpr uint8_t kBackground = 255, kUnknown = 110;

// A sheet of cells, white between them, grey or of three channels.
class Sheet {
 public:
  Sheet(int side, int channels, int columns, int rows)
      : side_(side),
        channels_(channels),
        scale_(std::max(1, (kMinPicturePixels + side - 1) / side)),
        cell_(side * scale_ + kGapPixels),
        width_(columns * cell_ + kGapPixels),
        height_(rows * cell_ + kGapPixels),
        pixels_(static_cast<size_t>(width_) * height_ * channels, kBackground) {}

  // The pixels of `ids` that are there, `first_id` black; the rest is unknown.
  void Draw(int column, int row, const std::vector<int32_t>& ids, size_t known, int32_t first_id) {
    const int left = column * cell_ + kGapPixels, top = row * cell_ + kGapPixels;
    for (int y = 0; y < side_ * scale_; ++y) {
      for (int x = 0; x < side_ * scale_; ++x) {
        const size_t token = static_cast<size_t>(y / scale_ * side_ + x / scale_) * channels_;
        const size_t place = (static_cast<size_t>(top + y) * width_ + left + x) * channels_;
        for (int c = 0; c < channels_; ++c) {
          const bool is_known = token + c < std::min(known, ids.size());
          pixels_[place + c] =
              is_known ? static_cast<uint8_t>(ids[token + c] - first_id) : kUnknown;
        }
      }
    }
  }

  absl::StatusOr<std::string> Png() const { return EncodePng(pixels_, width_, height_, channels_); }

 private:
  const int side_, channels_, scale_, cell_, width_, height_;
  std::vector<uint8_t> pixels_;
};

// Appends what a name like "U+00E9" stands for, in UTF-8; false for other names.
bool AppendCodePoint(absl::string_view name, std::string* text) {
  uint32_t c = 0;
  if (!absl::ConsumePrefix(&name, "U+") || !absl::SimpleHexAtoi(name, &c)) return false;
  // A first byte with the upper bits, then six bits each.
  const int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  constexpr uint32_t kMarks[] = {0, 0xc0, 0xe0, 0xf0};
  text->push_back(static_cast<char>(kMarks[more] | (c >> (6 * more))));
  for (int i = more - 1; i >= 0; --i)
    text->push_back(static_cast<char>(0x80 | ((c >> (6 * i)) & 0x3f)));
  return true;
}

}  // namespace

std::vector<StateSize> FirstHalfAndLast(const std::vector<StateSize>& sizes) {
  std::vector<StateSize> shown;
  if (sizes.empty()) return shown;
  const auto half = std::find_if(sizes.begin(), sizes.end(), [&](const StateSize& size) {
    return 2 * size.tokens >= sizes.back().tokens;
  });
  for (const StateSize& size : {sizes.front(), *half, sizes.back()})
    if (shown.empty() || shown.back().tokens < size.tokens) shown.push_back(size);
  return shown;
}

double StateGrowth(const std::vector<StateSize>& sizes) {
  if (sizes.size() < 2) return 0;
  const StateSize &first = sizes.front(), &last = sizes.back();
  return static_cast<double>(last.bytes - first.bytes) /
         static_cast<double>(last.tokens - first.tokens);
}

absl::Status CheckPictures(const TaskSpec& spec, int64_t count) {
  if (spec.image_side_pixels() < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("--png: tokens of task ", spec.name(), " are no pixels"));
  }
  if (count <= kMaxPictures) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--png: ", count, " pictures; at most ", kMaxPictures, " fit on one"));
}

std::string TextOfIds(const TaskSpec& spec, const std::vector<int32_t>& ids) {
  constexpr int32_t kBytes = 256;
  const bool is_text = spec.content() == TaskSpec::TEXT;
  const bool is_bytes = is_text && spec.token_names().empty();
  std::string text;
  for (const int32_t id : ids) {
    if (is_bytes && id >= 1 && id <= kBytes) {
      text.push_back(static_cast<char>(id - 1));
      continue;
    }
    const std::string name = TokenText(spec, id);
    if (is_text && AppendCodePoint(name, &text)) continue;
    if (!text.empty() && !is_text) text.push_back(' ');
    absl::StrAppend(&text, name.empty() ? absl::StrCat(id) : name);
  }
  return text;
}

absl::StatusOr<std::string> GeneratedPng(const Generated& generated) {
  const int side = generated.spec.image_side_pixels();
  const auto count = static_cast<int>(generated.texts.size());
  LRA_RETURN_IF_ERROR(CheckPictures(generated.spec, count));
  const bool has_original = !generated.texts[0].original.empty();
  const int cells = has_original ? 3 : 1, sheets = count <= 4 ? 1 : count <= 24 ? 3 : 4;
  const int32_t first_id = FirstId(generated.spec);
  Sheet sheet(side, std::max(1, generated.spec.pixel_tokens()), cells * sheets,
              (count + sheets - 1) / sheets);
  for (int i = 0; i < count; ++i) {
    const GeneratedText& text = generated.texts[i];
    const int column = i % sheets * cells, row = i / sheets;
    if (has_original) {
      sheet.Draw(column, row, text.ids, text.given_tokens, first_id);
      sheet.Draw(column + 2, row, text.original, text.original.size(), first_id);
    }
    sheet.Draw(column + (has_original ? 1 : 0), row, text.ids, text.ids.size(), first_id);
  }
  return sheet.Png();
}

}  // namespace lra
