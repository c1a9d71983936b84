#include "tasks/pathfinder/contour_placer.h"

#include <algorithm>
#include <cmath>

#include "lra/check.h"

namespace lra::pathfinder {
namespace {

// Candidates are first drawn from all pixels, which is cheap while many are free.
constexpr int kDrawsBeforeListing = 8;
// More than the number of pixels of the largest circle, which has radius 28.
constexpr int kMaxTurns = 192;
// A pivot whose turn weights add up to less than 1e-4 is a dead end (with bytes for 0 .. 1, weights
// are multiplied by 255).
constexpr uint32_t kLeastWeight = static_cast<uint32_t>(1e-4 * 255 * MarginTables::kTurnUnit) + 1;

std::vector<double> ListOf(const google::protobuf::RepeatedField<double>& values) {
  return {values.begin(), values.end()};
}

}  // namespace

ContourPlacer::ContourPlacer(const PathfinderOptions& options, const MarginTables& tables,
                             RandomStream* random)
    : options_(options),
      tables_(tables),
      random_(random),
      contour_contrasts_(ListOf(options.contour_contrasts())),
      paddle_contrasts_(ListOf(options.paddle_contrasts())),
      free_byte_(static_cast<int>(std::floor(255 * options.free_threshold() + 1e-9))),
      occupancy_(tables),
      worst_(tables.layout.side) {
  LRA_CHECK(tables.next.size() <= kMaxTurns) << tables.next.size();
  placed_.reserve(2 * options.contour_paddles() +
                  options.distractors() * options.distractor_paddles());
}

bool ContourPlacer::TryTargets() {
  placed_.clear();
  if (PlaceTargets()) {
    occupancy_.Commit();
    return true;
  }
  occupancy_.Rollback();
  return false;
}

bool ContourPlacer::PlaceTargets() {
  const std::array<double, 2> contrasts = DrawTargetContrasts();
  Contour &a = targets_[0], &b = targets_[1];
  if (!BeginInMiddle(DrawFrom(paddle_contrasts_) * contrasts[0], &a)) return false;
  if (!BeginNear(a.origin, DrawFrom(paddle_contrasts_) * contrasts[1], &b)) return false;
  for (int i = 1; i < options_.contour_paddles(); ++i) {
    const double contrast = DrawFrom(paddle_contrasts_);
    if (!Extend(contrast * contrasts[0], &a) || !Extend(contrast * contrasts[1], &b)) return false;
  }
  // The original forgets the last paddle of contour 0, so distractors may touch it.
  occupancy_.Add(*b.latest, b.latest_at);
  return true;
}

bool ContourPlacer::TryDistractor() {
  const size_t before = placed_.size();
  if (PlaceDistractor()) {
    occupancy_.Commit();
    free_pixels_.reset();
    return true;
  }
  placed_.resize(before);
  occupancy_.Rollback();
  return false;
}

bool ContourPlacer::PlaceDistractor() {
  const double contrast = DrawFrom(contour_contrasts_);
  if (!free_pixels_.has_value()) free_pixels_ = occupancy_.CountFree(free_byte_);
  const int64_t pixels = int64_t{tables_.layout.side} * tables_.layout.side;
  if (static_cast<double>(*free_pixels_) < options_.min_free_fraction() * pixels) return false;
  Contour contour;
  if (!BeginAnywhere(contrast, &contour)) return false;
  for (int i = 1; i < options_.distractor_paddles(); ++i) {
    if (!Extend(DrawFrom(contour_contrasts_), &contour)) return false;
  }
  occupancy_.Add(*contour.latest, contour.latest_at);
  return true;
}

// Draws two contrasts from the list written twice, without replacement.
std::array<double, 2> ContourPlacer::DrawTargetContrasts() {
  const auto count = static_cast<uint32_t>(contour_contrasts_.size());
  if (count == 1) return {contour_contrasts_[0], contour_contrasts_[0]};
  const uint32_t first = random_->Below(2 * count);
  uint32_t second = random_->Below(2 * count - 1);
  if (second >= first) ++second;
  return {contour_contrasts_[first % count], contour_contrasts_[second % count]};
}

double ContourPlacer::DrawFrom(const std::vector<double>& values) {
  if (values.size() == 1) return values[0];
  return values[random_->Below(static_cast<uint32_t>(values.size()))];
}

// Draws from all pixels of an empty image whose outer rows and columns, twice the seed distance
// wide, are taken: a rectangle of tails whose checked pixels are all in the middle, and the tails
// without checked pixels.
std::optional<Point> ContourPlacer::DrawMiddleTail(const FirstPaddle& first) {
  const Paddle& paddle = tables_.paddles[first.paddle];
  const int border = std::max(2 * options_.seed_distance_pixels(), options_.padding_pixels());
  const int last = tables_.layout.side - 1 - border;
  const Point low{border - paddle.checked_low.y, border - paddle.checked_low.x};
  const int rows = std::max(0, last - paddle.checked_high.y - low.y + 1);
  const int columns = std::max(0, last - paddle.checked_high.x - low.x + 1);
  const int count = rows * columns + static_cast<int>(paddle.unchecked_tails.size());
  if (count == 0) return std::nullopt;
  const int drawn = static_cast<int>(random_->Below(count));
  if (drawn >= rows * columns) return paddle.unchecked_tails[drawn - rows * columns];
  return low + Point{drawn / columns, drawn % columns};
}

bool ContourPlacer::BeginInMiddle(double contrast, Contour* contour) {
  for (int attempt = 0; attempt < options_.paddle_tries(); ++attempt) {
    const int direction = static_cast<int>(random_->Below(MarginTables::kFirstPaddles));
    if (!tables_.first[direction].usable) return false;
    const std::optional<Point> tail = DrawMiddleTail(tables_.first[direction]);
    if (!tail.has_value()) return false;
    if (Begin(direction, *tail, contrast, contour)) return true;
  }
  return false;
}

bool ContourPlacer::BeginNear(Point other_origin, double contrast, Contour* contour) {
  for (int attempt = 0; attempt < options_.paddle_tries(); ++attempt) {
    const int direction = static_cast<int>(random_->Below(MarginTables::kFirstPaddles));
    const Displacement& away = tables_.seed_circle[random_->Below(360)];
    const Point tail{static_cast<int>(std::nearbyint(other_origin.y + away.y)),
                     static_cast<int>(std::nearbyint(other_origin.x + away.x))};
    if (Begin(direction, tail, contrast, contour)) return true;
  }
  return false;
}

bool ContourPlacer::BeginAnywhere(double contrast, Contour* contour) {
  for (int attempt = 0; attempt < options_.paddle_tries(); ++attempt) {
    const int direction = static_cast<int>(random_->Below(MarginTables::kFirstPaddles));
    if (!tables_.first[direction].usable) return false;
    const std::optional<Point> tail = DrawFreeTail(tables_.first[direction]);
    if (!tail.has_value()) return false;
    if (Begin(direction, *tail, contrast, contour)) return true;
  }
  return false;
}

bool ContourPlacer::Begin(int direction, Point tail, double contrast, Contour* contour) {
  const FirstPaddle& first = tables_.first[direction];
  const Point head = first.head.From(tail), pivot = first.pivot.From(head);
  for (const Point point : {tail, head, pivot})
    if (!tables_.layout.Contains(point)) return false;
  const Paddle* paddle = &tables_.paddles[first.paddle];
  *contour = {tail, head, pivot, direction, paddle, tail};
  placed_.push_back({paddle, tail, contrast, direction});
  return true;
}

bool ContourPlacer::Extend(double contrast, Contour* contour) {
  const Point pivot = tables_.advance[contour->direction].From(contour->pivot);
  const uint8_t* spread = occupancy_.SpreadAt(pivot);
  const int begin = tables_.turn_begin[contour->direction];
  const int count = tables_.turn_begin[contour->direction + 1] - begin;
  const Turn* turns = &tables_.turns[begin];
  uint32_t cumulative[kMaxTurns];
  uint32_t total = 0;
  for (int i = 0; i < count; ++i) {
    total += turns[i].weight * (255u - spread[turns[i].shift]);
    cumulative[i] = total;
  }
  if (total < kLeastWeight) return false;
  for (int attempt = 0; attempt < options_.paddle_tries(); ++attempt) {
    const uint32_t drawn = random_->Below(total);
    int i = 0;
    while (cumulative[i] <= drawn) ++i;
    const NextPaddle& next = tables_.next[turns[i].next];
    const Paddle& paddle = tables_.paddles[next.paddle];
    const Point head = pivot + next.offset;
    if (occupancy_.Collides(paddle, head)) continue;
    occupancy_.Add(*contour->latest, contour->latest_at);
    const int direction = MarginTables::kFirstPaddles + turns[i].next;
    *contour = {contour->origin, head, pivot, direction, &paddle, head};
    placed_.push_back({&paddle, head, contrast, direction});
    return true;
  }
  return false;
}

// Outside of the image the mask is 0, so nothing is in the way there.
bool ContourPlacer::IsFreeTail(const Paddle& paddle, Point tail) const {
  return std::all_of(paddle.checked.begin(), paddle.checked.end(),
                     [&](Point offset) { return occupancy_.MaskAt(tail + offset) <= free_byte_; });
}

std::optional<Point> ContourPlacer::DrawFreeTail(const FirstPaddle& first) {
  const Paddle& paddle = tables_.paddles[first.paddle];
  const int side = tables_.layout.side;
  const auto point = [side](int index) { return Point{index / side, index % side}; };
  for (int i = 0; i < kDrawsBeforeListing; ++i) {
    const Point tail = point(static_cast<int>(random_->Below(side * side)));
    if (IsFreeTail(paddle, tail)) return tail;
  }
  ListFreeTails(paddle);
  if (free_tails_.empty()) return std::nullopt;
  return point(free_tails_[random_->Below(static_cast<uint32_t>(free_tails_.size()))]);
}

void ContourPlacer::ListFreeTails(const Paddle& paddle) {
  const int side = tables_.layout.side;
  free_tails_.clear();
  for (int y = 0; y < side; ++y) {
    std::fill(worst_.begin(), worst_.end(), 0);
    for (const Point offset : paddle.checked) {
      const uint8_t* row = occupancy_.MaskRow(y + offset.y) + offset.x;
      for (int x = 0; x < side; ++x) worst_[x] = std::max(worst_[x], row[x]);
    }
    for (int x = 0; x < side; ++x) {
      if (worst_[x] <= free_byte_) free_tails_.push_back(y * side + x);
    }
  }
}

}  // namespace lra::pathfinder
