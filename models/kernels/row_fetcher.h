// Fetches rows ahead of their use, a few at a time between matrix products.
#ifndef LRA_MODELS_KERNELS_ROW_FETCHER_H_
#define LRA_MODELS_KERNELS_ROW_FETCHER_H_

#include <algorithm>
#include <cstdint>

#include "models/kernels/tile_product.h"

namespace lra {

// A list of rows for the second-level cache. Rows of a projection lie kilobytes apart, where no
// hardware prefetcher looks.
class RowFetcher {
 public:
  void Clear() { count_ = next_ = 0; }
  // Lists `rows` rows of `width` floats, a stride of floats apart; at most kMostLists times.
  void Add(const float* first, int64_t stride, int64_t rows, int64_t width) {
    lists_[count_++] = {first, stride, rows, width};
  }
  // Fetches the next `rows` rows of those listed.
  void Fetch(int64_t rows) {
    while (rows > 0 && next_ < count_) {
      List& list = lists_[next_];
      for (; rows > 0 && list.rows > 0; --rows, --list.rows, list.first += list.stride) {
        for (int64_t c = 0; c < list.width; c += kLineFloats)
          __builtin_prefetch(list.first + c, 0, 2);
      }
      if (list.rows == 0) ++next_;
    }
  }

  static constexpr int64_t kMostLists = 6;

 private:
  static constexpr int64_t kLineFloats = 16;
  struct List {
    const float* first;
    int64_t stride, rows, width;
  };
  List lists_[kMostLists];
  int64_t count_ = 0, next_ = 0;
};

// MultiplyTile(), block of rows by block of rows, with `fetched_rows` rows fetched after each.
inline void MultiplyAndFetch(const TileProduct& product, int64_t fetched_rows,
                             RowFetcher* fetcher) {
  constexpr int64_t kBlockRows = 8;
  TileProduct block = product;
  const int64_t step = product.is_transposed ? 1 : product.a_stride;
  for (int64_t row = 0; row < product.rows; row += kBlockRows) {
    block.rows = std::min(kBlockRows, product.rows - row);
    block.a = product.a + row * step;
    block.out = product.out + row * product.out_stride;
    MultiplyTile(block);
    fetcher->Fetch(fetched_rows);
  }
}

}  // namespace lra

#endif  // LRA_MODELS_KERNELS_ROW_FETCHER_H_
