#include "tasks/pathfinder/tables.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "lra/check.h"
#include "tasks/pathfinder/exact_trig.h"

namespace lra::pathfinder {
namespace {

int RoundUpToChunks(int bytes) { return (bytes + kChunkBytes - 1) / kChunkBytes * kChunkBytes; }

// Cuts out the rectangle of a square picture that holds all bytes other than `empty`.
Picture CutOut(const std::vector<uint8_t>& bytes, int side, uint8_t empty) {
  Point low{side, side}, high{-1, -1};
  for (int y = 0; y < side; ++y) {
    for (int x = 0; x < side; ++x) {
      if (bytes[y * side + x] == empty) continue;
      low = {std::min(low.y, y), std::min(low.x, x)};
      high = {std::max(high.y, y), std::max(high.x, x)};
    }
  }
  if (high.y < 0) return {};
  Picture picture;
  picture.corner = {low.y - side / 2, low.x - side / 2};
  picture.rows = high.y - low.y + 1;
  picture.chunks = RoundUpToChunks(high.x - low.x + 1) / kChunkBytes;
  picture.bytes.assign(static_cast<size_t>(picture.rows) * picture.chunks * kChunkBytes, empty);
  for (int y = low.y; y <= high.y; ++y) {
    std::copy(&bytes[y * side + low.x], &bytes[y * side + high.x] + 1,
              &picture.bytes[static_cast<size_t>(y - low.y) * picture.chunks * kChunkBytes]);
  }
  return picture;
}

// Adds an empty border around a picture.
std::vector<uint8_t> WithBorder(const std::vector<uint8_t>& bytes, int side, int border) {
  const int large = side + 2 * border;
  std::vector<uint8_t> framed(static_cast<size_t>(large) * large, 0);
  for (size_t y = 0; y < static_cast<size_t>(side); ++y) {
    std::copy_n(&bytes[y * side], side, &framed[(y + border) * large + border]);
  }
  return framed;
}

// Bytes a and b collide if a + b >= sum_limit, that is if a > sum_limit - 1 - b.
std::vector<uint8_t> CollisionLimits(const std::vector<uint8_t>& mask, int sum_limit) {
  std::vector<uint8_t> limits(mask.size());
  std::transform(mask.begin(), mask.end(), limits.begin(), [&](int byte) {
    return static_cast<uint8_t>(std::clamp(sum_limit - 1 - byte, 0, 255));
  });
  return limits;
}

Paddle MakePaddle(const PaddleShape& shape, int sum_limit, const PaddleStamp& stamp) {
  const int margin = shape.margin_pixels, framed_side = stamp.side + 2 * margin;
  Paddle paddle;
  paddle.line = CutOut(stamp.line, stamp.side, 0);
  paddle.mask = CutOut(stamp.mask, stamp.side, 0);
  paddle.spread =
      CutOut(DilateByDisc(WithBorder(stamp.mask, stamp.side, margin), framed_side, margin),
             framed_side, 0);
  paddle.limits = CutOut(CollisionLimits(stamp.mask, sum_limit), stamp.side, 255);
  paddle.checked = CheckedPixels(stamp, shape.Reach());
  if (!paddle.checked.empty()) paddle.checked_low = paddle.checked_high = paddle.checked[0];
  for (const Point p : paddle.checked) {
    paddle.checked_low = {std::min(paddle.checked_low.y, p.y), std::min(paddle.checked_low.x, p.x)};
    paddle.checked_high = {std::max(paddle.checked_high.y, p.y),
                           std::max(paddle.checked_high.x, p.x)};
  }
  return paddle;
}

}  // namespace

uint32_t TurnWeight(double turn_rad, double continuity) {
  const double scaled = continuity * turn_rad;
  if (scaled >= std::numbers::pi / 2) return 0;
  const double cosine = ExactCos(scaled);
  return static_cast<uint32_t>(std::lround(cosine * cosine * MarginTables::kTurnUnit));
}

PlaneLayout::PlaneLayout(int side_pixels, int padding_pixels)
    : side(side_pixels),
      padding(padding_pixels),
      stride(RoundUpToChunks(side_pixels + 2 * padding_pixels)),
      bytes(stride * (side_pixels + 2 * padding_pixels) + 4 * kChunkBytes) {}

MarginTables::MarginTables(const PathfinderOptions& options, int margin) : margin_pixels(margin) {
  const PaddleShape shape{options.paddle_length_pixels(), options.paddle_thickness_pixels(), margin,
                          options.antialias_scale()};
  // Room for a dilated mask around any pixel of the image, and for the circle around a pivot one
  // step away from a pivot whose own circle still touched the image.
  const int circle = shape.Reach() + 1, step = shape.length_pixels + 2 * margin + 1;
  layout = PlaneLayout(options.side_pixels(),
                       std::max(shape.HalfSide() + margin + 1, 2 * circle + step));
  // The limit is a decimal fraction; the integer it stands for must not depend on its last bit.
  const int sum_limit = static_cast<int>(std::ceil(255 * options.collision_limit() - 1e-9));
  const PaddlePainter painter(shape);
  AddFirstPaddles(painter, sum_limit, options.border_artifact());
  if (!options.border_artifact()) AddUncheckedTails();
  AddNextPaddles(painter, sum_limit);
  stamps_ = {};
  AddTurns(options.continuity(), shape.length_pixels + 2 * margin);
  AddSeedCircle(options.seed_distance_pixels());
  AddEmptyPlanes(options.padding_pixels());
}

// Neighbouring directions often look the same, so equal paddles are stored once.
int MarginTables::AddPaddle(const PaddlePainter& painter, int sum_limit, double angle_rad) {
  PaddleStamp stamp = painter.Paint(angle_rad);
  const auto same = std::find_if(stamps_.begin(), stamps_.end(), [&](const PaddleStamp& s) {
    return s.line == stamp.line && s.mask == stamp.mask;
  });
  if (same != stamps_.end()) return static_cast<int>(same - stamps_.begin());
  paddles.push_back(MakePaddle(painter.shape(), sum_limit, stamp));
  stamps_.push_back(std::move(stamp));
  return static_cast<int>(paddles.size()) - 1;
}

void MarginTables::AddFirstPaddles(const PaddlePainter& painter, int sum_limit,
                                   bool border_artifact) {
  for (int i = 0; i < kFirstPaddles; ++i) {
    const double angle = Radians(i - 180);
    FirstPaddle paddle;
    paddle.paddle = AddPaddle(painter, sum_limit, angle);
    const std::vector<Point>& checked = paddles[paddle.paddle].checked;
    paddle.usable = border_artifact ? SeesTheImageFromEveryCorner(checked) : !checked.empty();
    paddle.head = MakeStep(angle, painter.shape().length_pixels);
    paddle.pivot = MakeStep(Opposite(angle), painter.shape().Reach());
    first.push_back(paddle);
    angles_rad.push_back(angle);
  }
}

void MarginTables::AddUncheckedTails() {
  for (Paddle& paddle : paddles) {
    for (int i = 0; i < layout.side * layout.side; ++i) {
      const Point tail{i / layout.side, i % layout.side};
      const bool is_checked = std::any_of(paddle.checked.begin(), paddle.checked.end(),
                                          [&](Point p) { return layout.Contains(tail + p); });
      if (!is_checked) paddle.unchecked_tails.push_back(tail);
    }
  }
}

void MarginTables::AddNextPaddles(const PaddlePainter& painter, int sum_limit) {
  for (const Point offset : HeadOffsets(painter.shape().Reach())) {
    const double angle = ExactAtan2(offset.y, offset.x);
    next.push_back({offset, AddPaddle(painter, sum_limit, Opposite(angle))});
    angles_rad.push_back(angle);
  }
}

void MarginTables::AddTurns(double continuity, double step_pixels) {
  for (const double angle : angles_rad) {
    advance.push_back(MakeStep(angle, step_pixels));
    turn_begin.push_back(static_cast<int>(turns.size()));
    for (size_t i = 0; i < next.size(); ++i) {
      const double turn = TurnBetween(angles_rad[kFirstPaddles + i], angle);
      const uint32_t weight = TurnWeight(turn, continuity);
      if (weight > 0)
        turns.push_back({layout.ShiftOf(next[i].offset), weight, static_cast<int>(i)});
    }
  }
  turn_begin.push_back(static_cast<int>(turns.size()));
}

void MarginTables::AddSeedCircle(double radius_pixels) {
  for (int degrees = 0; degrees < 360; ++degrees) {
    const double angle = Radians(degrees);
    seed_circle.push_back({radius_pixels * ExactSin(angle), radius_pixels * ExactCos(angle)});
  }
}

void MarginTables::AddEmptyPlanes(int padding_pixels) {
  const int side = layout.side;
  inside.assign(layout.stride + kChunkBytes * 2, 0);
  std::fill_n(inside.begin() + layout.padding, side, 255);
  std::vector<uint8_t> mask(static_cast<size_t>(side) * side, 255);
  for (int y = padding_pixels; y < side - padding_pixels; ++y) {
    std::fill_n(&mask[static_cast<size_t>(y) * side + padding_pixels], side - 2 * padding_pixels,
                0);
  }
  const std::vector<uint8_t> spread = DilateByDisc(mask, side, margin_pixels);
  empty_mask.assign(layout.bytes, 0);
  empty_spread.assign(layout.bytes, 255);
  for (int y = 0; y < side; ++y) {
    const size_t row = static_cast<size_t>(y) * side;
    std::copy_n(&mask[row], side, &empty_mask[layout.IndexOf({y, 0})]);
    std::copy_n(&spread[row], side, &empty_spread[layout.IndexOf({y, 0})]);
  }
}

}  // namespace lra::pathfinder
