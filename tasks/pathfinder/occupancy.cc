#include "tasks/pathfinder/occupancy.h"

#include <algorithm>
#include <cstring>

namespace lra::pathfinder {
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
  Chunk above = {};
  const int width = limits.chunks * kChunkBytes;
  for (int row = 0; row < limits.rows; ++row, mask += tables_.layout.stride) {
    for (int i = 0; i < width; i += kChunkBytes, limit += kChunkBytes) {
      above |= static_cast<Chunk>(LoadChunk(mask + i) > LoadChunk(limit));
    }
  }
  return AnyBit(above);
}

void Occupancy::Add(const Paddle& paddle, Point at) {
  AddToMask(paddle.mask, at + paddle.mask.corner);
  AddToSpread(paddle.spread, at + paddle.spread.corner);
  // The dilated mask covers the mask.
  const int first_row = at.y + paddle.spread.corner.y + tables_.layout.padding;
  first_changed_row_ = std::min(first_changed_row_, first_row);
  end_changed_row_ = std::max(end_changed_row_, first_row + paddle.spread.rows);
}

// Outside of the image the mask stays 0: columns there are masked, and rows are left out.
void Occupancy::AddToMask(const Picture& claimed, Point corner) {
  const int first_row = std::max(0, -corner.y);
  const int end_row = std::min(claimed.rows, tables_.layout.side - corner.y);
  const uint8_t* inside = &tables_.inside[corner.x + tables_.layout.padding];
  const ptrdiff_t stride = tables_.layout.stride, width = ptrdiff_t{claimed.chunks} * kChunkBytes;
  const uint8_t* from = claimed.bytes.data() + first_row * width;
  uint8_t* to = mask_ + tables_.layout.IndexOf({corner.y + first_row, corner.x});
  for (int i = 0; i < width; i += kChunkBytes) {
    const Chunk columns = LoadChunk(inside + i);
    for (int row = 0; row < end_row - first_row; ++row) {
      uint8_t* here = to + row * stride + i;
      StoreChunk(Maximum(LoadChunk(here), LoadChunk(from + row * width + i) & columns), here);
    }
  }
}

// Outside of the image the dilated mask is 255 already. What sticks out of the image does not
// spread back into it: the padding of the image is dilated over everything it could reach.
void Occupancy::AddToSpread(const Picture& spread, Point corner) {
  const ptrdiff_t stride = tables_.layout.stride, width = ptrdiff_t{spread.chunks} * kChunkBytes;
  const uint8_t* from = spread.bytes.data();
  uint8_t* to = spread_ + tables_.layout.IndexOf(corner);
  for (int i = 0; i < width; i += kChunkBytes) {
    for (int row = 0; row < spread.rows; ++row) {
      uint8_t* here = to + row * stride + i;
      StoreChunk(Maximum(LoadChunk(here), LoadChunk(from + row * width + i)), here);
    }
  }
}

void Occupancy::CopyChangedRows(const uint8_t* from_mask, const uint8_t* from_spread,
                                uint8_t* to_mask, uint8_t* to_spread) {
  if (end_changed_row_ > first_changed_row_) {
    const size_t stride = tables_.layout.stride, first = first_changed_row_ * stride;
    const size_t bytes = (end_changed_row_ - first_changed_row_) * stride;
    std::memcpy(to_mask + first, from_mask + first, bytes);
    std::memcpy(to_spread + first, from_spread + first, bytes);
  }
  first_changed_row_ = INT_MAX;
  end_changed_row_ = 0;
}

void Occupancy::Commit() { CopyChangedRows(mask_, spread_, saved_mask_, saved_spread_); }

void Occupancy::Rollback() { CopyChangedRows(saved_mask_, saved_spread_, mask_, spread_); }

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
