#include "tasks/pathfinder/occupancy.h"

#include <algorithm>
#include <cstring>

namespace lra::pathfinder {
namespace {

// The innermost loops have a fixed length, so that compilers make them one vector instruction.
void TakeMaximum(const uint8_t* from, uint8_t* to) {
  for (int i = 0; i < kChunkBytes; ++i) to[i] = std::max(to[i], from[i]);
}

void TakeMaximumInside(const uint8_t* from, const uint8_t* inside, uint8_t* to) {
  for (int i = 0; i < kChunkBytes; ++i) {
    to[i] = std::max(to[i], static_cast<uint8_t>(from[i] & inside[i]));
  }
}

}  // namespace

Occupancy::Occupancy(const MarginTables& tables)
    : tables_(tables), planes_(4 * static_cast<size_t>(tables.layout.bytes)) {
  const size_t bytes = tables.layout.bytes;
  mask_ = planes_.data();
  spread_ = mask_ + bytes;
  saved_mask_ = spread_ + bytes;
  saved_spread_ = saved_mask_ + bytes;
  for (uint8_t* plane : {mask_, saved_mask_}) {
    std::memcpy(plane, tables.empty_mask.data(), bytes);
  }
  for (uint8_t* plane : {spread_, saved_spread_}) {
    std::memcpy(plane, tables.empty_spread.data(), bytes);
  }
}

bool Occupancy::Collides(const Paddle& paddle, Point at) const {
  const Picture& limits = paddle.limits;
  const uint8_t* mask = mask_ + tables_.layout.IndexOf(at + limits.corner);
  const uint8_t* limit = limits.bytes.data();
  for (int row = 0; row < limits.rows; ++row, mask += tables_.layout.stride) {
    for (int chunk = 0; chunk < limits.chunks; ++chunk, limit += kChunkBytes) {
      uint8_t above = 0;
      for (int i = 0; i < kChunkBytes; ++i) {
        above |= static_cast<uint8_t>(mask[chunk * kChunkBytes + i] > limit[i]);
      }
      if (above) return true;
    }
  }
  return false;
}

void Occupancy::Add(const Paddle& paddle, Point at) {
  const int stride = tables_.layout.stride;
  const Picture& claimed = paddle.mask;
  const Point corner = at + claimed.corner;
  // Outside of the image the mask stays 0; columns are masked, rows left out.
  const int first_row = std::max(0, -corner.y);
  const int end_row = std::min(claimed.rows, tables_.layout.side - corner.y);
  const int width = claimed.chunks * kChunkBytes;
  const uint8_t* inside = &tables_.inside[corner.x + tables_.layout.padding];
  for (int row = first_row; row < end_row; ++row) {
    uint8_t* to = mask_ + tables_.layout.IndexOf({corner.y + row, corner.x});
    for (int i = 0; i < width; i += kChunkBytes) {
      TakeMaximumInside(&claimed.bytes[row * width + i], inside + i, to + i);
    }
  }
  // Here the outside is 255 already. Nor does what sticks out spread back into the image: the
  // padding of the image is dilated over everything it could reach.
  const Picture& spread = paddle.spread;
  uint8_t* to = spread_ + tables_.layout.IndexOf(at + spread.corner);
  const uint8_t* from = spread.bytes.data();
  for (int row = 0; row < spread.rows; ++row, to += stride) {
    for (int chunk = 0; chunk < spread.chunks; ++chunk, from += kChunkBytes) {
      TakeMaximum(from, to + chunk * kChunkBytes);
    }
  }
  added_.push_back({&paddle, at});
}

template <class Function>
void Occupancy::ForEachAdded(Function copy_rectangle) {
  const auto copy_rows = [&](const Picture& picture, Point at, const auto& copy) {
    int index = tables_.layout.IndexOf(at + picture.corner);
    for (int row = 0; row < picture.rows; ++row, index += tables_.layout.stride) {
      for (int chunk = 0; chunk < picture.chunks; ++chunk) copy(index + chunk * kChunkBytes);
    }
  };
  for (const Added& added : added_) {
    copy_rows(added.paddle->mask, added.at,
              [&](int index) { copy_rectangle(mask_ + index, saved_mask_ + index); });
    copy_rows(added.paddle->spread, added.at,
              [&](int index) { copy_rectangle(spread_ + index, saved_spread_ + index); });
  }
  added_.clear();
}

void Occupancy::Commit() {
  ForEachAdded([](const uint8_t* now, uint8_t* saved) { std::memcpy(saved, now, kChunkBytes); });
}

void Occupancy::Rollback() {
  ForEachAdded([](uint8_t* now, const uint8_t* saved) { std::memcpy(now, saved, kChunkBytes); });
}

int64_t Occupancy::CountFree(int free_byte) const {
  int64_t free = 0;
  for (int y = 0; y < tables_.layout.side; ++y) {
    const uint8_t* row = MaskRow(y);
    int in_row = 0;
    for (int x = 0; x < tables_.layout.side; ++x) in_row += row[x] <= free_byte;
    free += in_row;
  }
  return free;
}

}  // namespace lra::pathfinder
