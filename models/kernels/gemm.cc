#include "models/kernels/gemm.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <array>

#include "lra/check.h"
#include "models/kernels/bfloat16_product.h"
#include "models/kernels/floats.h"
#include "models/kernels/four_by_four.h"
#include "models/kernels/tile_product.h"

namespace lra {
namespace {

// Long sums are cut into slices, so that a panel of b stays in the second-level cache.
constexpr int64_t kInnerSlice = 512;
// Rows of b that lie further apart than this fall into the same few sets of the first-level cache.
constexpr int64_t kNearStride = 256;
constexpr std::array<float, kPanelLanes> kZeros = {};

struct ThreadMemory {
  GrowingScratch<float> panel, block;
  GrowingScratch<BFloat16> left, right;
};

ThreadMemory& Memory() {
  thread_local ThreadMemory memory;
  return memory;
}

// The widths of panels, in lanes: at most `widest`, and as even as can be.
class Panels {
 public:
  explicit Panels(int64_t n, int64_t widest = kPanelLanes)
      : n_(n),
        vectors_((n + kLaneStep - 1) / kLaneStep),
        count_((vectors_ * kLaneStep + widest - 1) / widest) {}
  int64_t count() const { return count_; }
  int64_t First(int64_t panel) const { return vectors_ * panel / count_ * kLaneStep; }
  int64_t Lanes(int64_t panel) const { return First(panel + 1) - First(panel); }
  // Without the lanes behind the last column.
  int64_t Columns(int64_t panel) const { return std::min(Lanes(panel), n_ - First(panel)); }

 private:
  const int64_t n_, vectors_, count_;
};

MatrixView From(MatrixView view, int64_t row, int64_t column) {
  view.data += view.transposed ? column * view.stride + row : row * view.stride + column;
  return view;
}

struct Slice {
  int64_t m, inner;
  MatrixView a, b;  // from the first row of the slice on
  // If set, the panels of b, one behind the other; b is not read.
  const float* packed = nullptr;
  const BFloat16* packed_pairs = nullptr;
};

// What a product is added to: what out holds, or in each row the bias [n], which null makes zeros.
struct Start {
  bool adds;
  const float* bias;
  const float* At(int64_t first) const {
    if (adds) return nullptr;
    return bias == nullptr ? kZeros.data() : bias + first;
  }
};

// rows [count, width] -> [width][lanes], with zeros behind the count.
void TransposeRows(const float* rows, int64_t count, int64_t width, int64_t stride, int64_t lanes,
                   float* out) {
  int64_t r = 0;
  for (; r + 4 <= count; r += 4) {
    int64_t c = 0;
    for (; c + 4 <= width; c += 4)
      StoreFour(Transposed(LoadFour(rows + r * stride + c, stride)), out + c * lanes + r, lanes);
    for (; c < width; ++c) {
      for (int64_t i = r; i < r + 4; ++i) out[c * lanes + i] = rows[i * stride + c];
    }
  }
  for (; r < lanes; ++r) {
    for (int64_t c = 0; c < width; ++c)
      out[c * lanes + r] = r < count ? rows[r * stride + c] : 0.0f;
  }
}

// b [inner, columns] -> [inner][lanes], with zeros behind the columns.
void PackPanel(MatrixView b, int64_t inner, int64_t columns, int64_t lanes, float* out) {
  if (b.transposed) return TransposeRows(b.data, columns, inner, b.stride, lanes, out);
  for (int64_t i = 0; i < inner; ++i, out += lanes) {
    std::copy_n(b.data + i * b.stride, columns, out);
    std::fill_n(out + columns, lanes - columns, 0.0f);
  }
}

// The same as pairs of rows in bfloat16.
void PairPanel(MatrixView b, int64_t inner, int64_t columns, int64_t lanes, BFloat16* out) {
  if (b.transposed) return PairColumns({b.data, columns, inner, b.stride}, lanes, out);
  PairRows({b.data, inner, columns, b.stride}, lanes, out);
}

// The products of one slice in float32.
class FloatSlice {
 public:
  explicit FloatSlice(const Slice& slice) : s_(slice) {}
  static int64_t WidestPanel() { return kPanelLanes; }
  void Multiply(int64_t first, int64_t columns, int64_t lanes, const float* start, float* out,
                int64_t out_stride) const {
    const Panel panel = PanelAt(first, columns, lanes);
    MultiplyTile(TileProduct{s_.m, s_.inner, lanes, s_.a.data, s_.a.stride, s_.a.transposed,
                             panel.data, panel.stride, start, out, out_stride});
  }

 private:
  struct Panel {
    const float* data;
    int64_t stride;
  };
  Panel PanelAt(int64_t first, int64_t columns, int64_t lanes) const {
    if (s_.packed != nullptr) return {s_.packed + s_.inner * first, lanes};
    const MatrixView b = From(s_.b, 0, first);
    if (!b.transposed && columns == lanes && b.stride <= kNearStride) return {b.data, b.stride};
    float* packed = Memory().panel.AtLeast(s_.inner * lanes);
    PackPanel(b, s_.inner, columns, lanes, packed);
    return {packed, lanes};
  }

  const Slice& s_;
};

// The products of one slice in bfloat16. The left side is rounded once for all panels.
class Bfloat16Slice {
 public:
  explicit Bfloat16Slice(const Slice& slice)
      : s_(slice),
        inner_(RoundUp(slice.inner, 2)),
        is_paired_(slice.a.transposed && !TransposesPairs()),
        left_(Memory().left.AtLeast(slice.m * inner_)) {
    if (is_paired_) {
      PairRows({s_.a.data, s_.inner, s_.m, s_.a.stride}, s_.m, left_);
    } else if (s_.a.transposed) {
      RoundColumns({s_.a.data, s_.inner, s_.m, s_.a.stride}, inner_, left_);
    } else {
      RoundRows({s_.a.data, s_.m, s_.inner, s_.a.stride}, inner_, left_);
    }
  }
  static int64_t WidestPanel() { return WidestBfloat16Panel(); }
  void Multiply(int64_t first, int64_t columns, int64_t lanes, const float* start, float* out,
                int64_t out_stride) const {
    MultiplyTile(Bfloat16Product{s_.m, inner_, lanes, left_, is_paired_ ? s_.m : inner_, is_paired_,
                                 PanelAt(first, columns, lanes), lanes, start, out, out_stride});
  }

 private:
  const BFloat16* PanelAt(int64_t first, int64_t columns, int64_t lanes) const {
    if (s_.packed_pairs != nullptr) return s_.packed_pairs + inner_ * first;
    BFloat16* right = Memory().right.AtLeast(inner_ * lanes);
    PairPanel(From(s_.b, 0, first), s_.inner, columns, lanes, right);
    return right;
  }

  const Slice& s_;
  const int64_t inner_;
  const bool is_paired_;  // or rows
  BFloat16* const left_;
};

// out [rows, columns] = block [rows, lanes] + where it starts
void AddBlock(const float* block, int64_t rows, int64_t columns, int64_t lanes, const float* start,
              float* out, int64_t out_stride) {
  for (int64_t r = 0; r < rows; ++r, block += lanes, out += out_stride) {
    const float* from = start == nullptr ? out : start;
    for (int64_t c = 0; c < columns; ++c) out[c] = from[c] + block[c];
  }
}

template <class Products>
void MultiplySlice(const Slice& slice, int64_t n, const Start& start, float* out,
                   int64_t out_stride) {
  const Products products(slice);
  const Panels panels(n, Products::WidestPanel());
  for (int64_t panel = 0; panel < panels.count(); ++panel) {
    const int64_t first = panels.First(panel), lanes = panels.Lanes(panel);
    const int64_t columns = panels.Columns(panel);
    if (columns == lanes) {
      products.Multiply(first, columns, lanes, start.At(first), out + first, out_stride);
      continue;
    }
    float* block = Memory().block.AtLeast(slice.m * lanes);
    products.Multiply(first, columns, lanes, kZeros.data(), block, lanes);
    AddBlock(block, slice.m, columns, lanes, start.At(first), out + first, out_stride);
  }
}

void MultiplySlice(ProductType type, const Slice& slice, int64_t n, const Start& start, float* out,
                   int64_t out_stride) {
  if (type == ProductType::kBfloat16) {
    MultiplySlice<Bfloat16Slice>(slice, n, start, out, out_stride);
  } else {
    MultiplySlice<FloatSlice>(slice, n, start, out, out_stride);
  }
}

int64_t WidestPanelOf(ProductType type) {
  return type == ProductType::kBfloat16 ? Bfloat16Slice::WidestPanel() : FloatSlice::WidestPanel();
}

template <class Body>
void ForSlices(int64_t k, Body body) {
  for (int64_t first = 0; first < k; first += kInnerSlice)
    body(first, std::min(kInnerSlice, k - first));
}

}  // namespace

void Gemm(int64_t m, int64_t n, int64_t k, MatrixView a, MatrixView b, float beta, float* out,
          int64_t out_stride, ProductType type) {
  ForSlices(k, [&](int64_t first, int64_t inner) {
    const Slice slice = {m, inner, From(a, 0, first), From(b, first, 0)};
    MultiplySlice(type, slice, n, {beta != 0.0f || first > 0, nullptr}, out, out_stride);
  });
}

PackedMatrix::PackedMatrix(int64_t n, int64_t k, MatrixView b, ProductType type)
    : n_(n), k_(k), type_(type), widest_panel_(WidestPanelOf(type)) {
  LRA_CHECK(k > 0);
  const bool is_rounded = type == ProductType::kBfloat16;
  // Only the last slice can have an odd number of rows.
  const int64_t size = RoundUp(n, kLaneStep) * (is_rounded ? RoundUp(k, 2) : k);
  memory_ = at::empty({size}, is_rounded ? at::kBFloat16 : at::kFloat);
  float* floats = is_rounded ? nullptr : memory_.mutable_data_ptr<float>();
  BFloat16* pairs = is_rounded ? memory_.mutable_data_ptr<BFloat16>() : nullptr;
  const Panels panels(n, widest_panel_);
  ForSlices(k, [&](int64_t first, int64_t inner) {
    for (int64_t panel = 0; panel < panels.count(); ++panel) {
      const MatrixView from = From(b, first, panels.First(panel));
      const int64_t columns = panels.Columns(panel), lanes = panels.Lanes(panel);
      if (is_rounded) {
        PairPanel(from, inner, columns, lanes, pairs);
        pairs += RoundUp(inner, 2) * lanes;
      } else {
        PackPanel(from, inner, columns, lanes, floats);
        floats += inner * lanes;
      }
    }
  });
}

bool PackedMatrix::IsFor(ProductType type) const {
  return type == type_ && widest_panel_ == WidestPanelOf(type);
}

const float* PackedMatrix::FloatPanels(int64_t first) const {
  return memory_.const_data_ptr<float>() + RoundUp(n_, kLaneStep) * first;
}

const BFloat16* PackedMatrix::PairPanels(int64_t first) const {
  return memory_.const_data_ptr<BFloat16>() + RoundUp(n_, kLaneStep) * first;
}

void Gemm(int64_t m, MatrixView a, const PackedMatrix& b, const float* bias, float beta, float* out,
          int64_t out_stride) {
  LRA_CHECK(b.IsFor(b.type()) && (bias == nullptr || beta == 0.0f));
  const bool is_rounded = b.type() == ProductType::kBfloat16;
  ForSlices(b.k(), [&](int64_t first, int64_t inner) {
    const Slice slice = {m,
                         inner,
                         From(a, 0, first),
                         MatrixView(),
                         is_rounded ? nullptr : b.FloatPanels(first),
                         is_rounded ? b.PairPanels(first) : nullptr};
    const Start start = {beta != 0.0f || first > 0, bias};
    MultiplySlice(b.type(), slice, b.n(), start, out, out_stride);
  });
}

}  // namespace lra
