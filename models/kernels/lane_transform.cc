#include "models/kernels/lane_transform.h"

#include <cmath>
#include <map>
#include <memory>
#include <mutex>
#include <numbers>

#include "models/kernels/simd.h"

namespace lra {
namespace {

// Transforms of at most so many values stay in the first-level cache: all passes go over one before
// the next is begun.
constexpr int64_t kCachedLength = 256;

// Both directions of a pass over `blocks` transforms of `length`, one behind the other.
struct PassView {
  int64_t length, blocks;
  const float* roots;
  float* z;
};

// x = a w, or a times the conjugate of w.
template <bool kConjugate>
inline LRA_ALWAYS_INLINE void Turn(float re, float im, const float* w, float* to_re, float* to_im) {
  const float wi = kConjugate ? -w[1] : w[1];
  *to_re = re * w[0] - im * wi;
  *to_im = re * wi + im * w[0];
}

template <bool kInverse>
inline LRA_ALWAYS_INLINE void RadixTwoBody(const PassView& pass) {
  const int64_t part = pass.length / 2;
  for (int64_t block = 0; block < pass.blocks; ++block) {
    for (int64_t j = 0; j < part; ++j) {
      float* a = pass.z + (block * pass.length + j) * kLaneValue;
      float* b = a + part * kLaneValue;
      const float* w = pass.roots + 2 * j;
      LRA_INDEPENDENT
      for (int64_t l = 0; l < kTransformLanes; ++l) {
        float ar = a[l], ai = a[l + kTransformLanes], br = b[l], bi = b[l + kTransformLanes];
        if (kInverse) Turn<true>(br, bi, w, &br, &bi);
        float dr = ar - br, di = ai - bi;
        if (!kInverse) Turn<false>(dr, di, w, &dr, &di);
        a[l] = ar + br;
        a[l + kTransformLanes] = ai + bi;
        b[l] = dr;
        b[l + kTransformLanes] = di;
      }
    }
  }
}

template <bool kInverse>
inline LRA_ALWAYS_INLINE void RadixThreeBody(const PassView& pass) {
  const int64_t part = pass.length / 3, step = part * kLaneValue;
  // sin(2 pi / 3), the imaginary part of the conjugate of a third root in Forward().
  constexpr float kSine = (kInverse ? -1.0f : 1.0f) * static_cast<float>(std::numbers::sqrt3 / 2);
  for (int64_t block = 0; block < pass.blocks; ++block) {
    for (int64_t j = 0; j < part; ++j) {
      float* a = pass.z + (block * pass.length + j) * kLaneValue;
      const float* w = pass.roots + 4 * j;
      LRA_INDEPENDENT
      for (int64_t l = 0; l < kTransformLanes; ++l) {
        float* re = a + l;
        float* im = re + kTransformLanes;
        float br = re[step], bi = im[step], cr = re[2 * step], ci = im[2 * step];
        if (kInverse) {
          Turn<true>(br, bi, w, &br, &bi);
          Turn<true>(cr, ci, w + 2, &cr, &ci);
        }
        const float sr = br + cr, si = bi + ci;
        const float mr = re[0] - 0.5f * sr, mi = im[0] - 0.5f * si;
        const float tr = kSine * (bi - ci), ti = kSine * (cr - br);
        float pr = mr + tr, pi = mi + ti, qr = mr - tr, qi = mi - ti;
        if (!kInverse) {
          Turn<false>(pr, pi, w, &pr, &pi);
          Turn<false>(qr, qi, w + 2, &qr, &qi);
        }
        re[0] += sr;
        im[0] += si;
        re[step] = pr;
        im[step] = pi;
        re[2 * step] = qr;
        im[2 * step] = qi;
      }
    }
  }
}

// Four values a part apart; kTurns is off where all roots are 1.
template <bool kInverse, bool kTurns>
inline LRA_ALWAYS_INLINE void RadixFourButterfly(float* a, int64_t step, const float* w) {
  LRA_INDEPENDENT
  for (int64_t l = 0; l < kTransformLanes; ++l) {
    float* re = a + l;
    float* im = re + kTransformLanes;
    float br = re[step], bi = im[step], cr = re[2 * step], ci = im[2 * step];
    float dr = re[3 * step], di = im[3 * step];
    if (kInverse && kTurns) {
      Turn<true>(br, bi, w, &br, &bi);
      Turn<true>(cr, ci, w + 2, &cr, &ci);
      Turn<true>(dr, di, w + 4, &dr, &di);
    }
    const float ar = re[0], ai = im[0];
    const float acr = ar + cr, aci = ai + ci, sr = ar - cr, si = ai - ci;
    const float bdr = br + dr, bdi = bi + di;
    // (b - d) times -i, or i in the inverse.
    const float tr = kInverse ? di - bi : bi - di, ti = kInverse ? br - dr : dr - br;
    float pr = sr + tr, pi = si + ti, qr = acr - bdr, qi = aci - bdi, xr = sr - tr, xi = si - ti;
    if (!kInverse && kTurns) {
      Turn<false>(pr, pi, w, &pr, &pi);
      Turn<false>(qr, qi, w + 2, &qr, &qi);
      Turn<false>(xr, xi, w + 4, &xr, &xi);
    }
    re[0] = acr + bdr;
    im[0] = aci + bdi;
    re[step] = pr;
    im[step] = pi;
    re[2 * step] = qr;
    im[2 * step] = qi;
    re[3 * step] = xr;
    im[3 * step] = xi;
  }
}

template <bool kInverse>
inline LRA_ALWAYS_INLINE void RadixFourBody(const PassView& pass) {
  const int64_t part = pass.length / 4, step = part * kLaneValue;
  for (int64_t block = 0; block < pass.blocks; ++block) {
    float* z = pass.z + block * pass.length * kLaneValue;
    RadixFourButterfly<kInverse, false>(z, step, nullptr);  // its roots are 1
    for (int64_t j = 1; j < part; ++j) {
      RadixFourButterfly<kInverse, true>(z + j * kLaneValue, step, pass.roots + 6 * j);
    }
  }
}

template <bool kInverse>
inline LRA_ALWAYS_INLINE void PassOf(int64_t radix, const PassView& pass) {
  if (radix == 4) return RadixFourBody<kInverse>(pass);
  if (radix == 3) return RadixThreeBody<kInverse>(pass);
  RadixTwoBody<kInverse>(pass);
}

inline LRA_ALWAYS_INLINE void ForwardPassBody(int64_t radix, const PassView& pass) {
  PassOf<false>(radix, pass);
}
inline LRA_ALWAYS_INLINE void InversePassBody(int64_t radix, const PassView& pass) {
  PassOf<true>(radix, pass);
}
LRA_MULTIVERSION(ForwardPass, (int64_t radix, const PassView& pass), (radix, pass))
LRA_MULTIVERSION(InversePass, (int64_t radix, const PassView& pass), (radix, pass))

inline LRA_ALWAYS_INLINE void MultiplyLanesBody(int64_t length, const float* by, float* z) {
  for (int64_t j = 0; j < length; ++j, by += kLaneValue, z += kLaneValue) {
    LRA_INDEPENDENT
    for (int64_t l = 0; l < kTransformLanes; ++l) {
      const float re = z[l], im = z[l + kTransformLanes];
      z[l] = re * by[l] - im * by[l + kTransformLanes];
      z[l + kTransformLanes] = re * by[l + kTransformLanes] + im * by[l];
    }
  }
}

inline LRA_ALWAYS_INLINE void MultiplyConjugateLanesBody(int64_t length, const float* by,
                                                         float* z) {
  for (int64_t j = 0; j < length; ++j, by += kLaneValue, z += kLaneValue) {
    LRA_INDEPENDENT
    for (int64_t l = 0; l < kTransformLanes; ++l) {
      const float re = z[l], im = z[l + kTransformLanes];
      z[l] = re * by[l] + im * by[l + kTransformLanes];
      z[l + kTransformLanes] = im * by[l] - re * by[l + kTransformLanes];
    }
  }
}

inline LRA_ALWAYS_INLINE void AddConjugateProductsBody(int64_t length, const float* z,
                                                       const float* w, float* sums) {
  for (int64_t j = 0; j < length; ++j, z += kLaneValue, w += kLaneValue, sums += kLaneValue) {
    LRA_INDEPENDENT
    for (int64_t l = 0; l < kTransformLanes; ++l) {
      const int64_t i = l + kTransformLanes;
      sums[l] += z[l] * w[l] + z[i] * w[i];
      sums[i] += z[l] * w[i] - z[i] * w[l];
    }
  }
}

inline LRA_ALWAYS_INLINE void TurnLanesBody(int64_t length, const float* turns, bool is_conjugate,
                                            float* z) {
  for (int64_t j = 0; j < length; ++j, z += kLaneValue) {
    const float wr = turns[2 * j], wi = is_conjugate ? -turns[2 * j + 1] : turns[2 * j + 1];
    LRA_INDEPENDENT
    for (int64_t l = 0; l < kTransformLanes; ++l) {
      const float re = z[l], im = z[l + kTransformLanes];
      z[l] = re * wr - im * wi;
      z[l + kTransformLanes] = re * wi + im * wr;
    }
  }
}

// The next radix of what is left of the length: a three first, then fours, then at most one two.
int64_t RadixOf(int64_t length) {
  if (length % 3 == 0) return 3;
  return length % 4 == 0 ? 4 : 2;
}

void AppendRoot(double turns, std::vector<float>* roots) {
  const double angle = -2 * std::numbers::pi * turns;
  roots->push_back(static_cast<float>(std::cos(angle)));
  roots->push_back(static_cast<float>(std::sin(angle)));
}

int64_t LengthFor(int64_t at_least) {
  int64_t twos = 1, threes = 3;
  while (twos < at_least) twos *= 2;
  while (threes < at_least) threes *= 2;
  return threes < twos ? threes : twos;
}

}  // namespace

LRA_MULTIVERSION(MultiplyLanes, (int64_t length, const float* by, float* z), (length, by, z))
LRA_MULTIVERSION(MultiplyConjugateLanes, (int64_t length, const float* by, float* z),
                 (length, by, z))
LRA_MULTIVERSION(AddConjugateProducts,
                 (int64_t length, const float* z, const float* w, float* sums),
                 (length, z, w, sums))
LRA_MULTIVERSION(TurnLanes, (int64_t length, const float* turns, bool is_conjugate, float* z),
                 (length, turns, is_conjugate, z))

const LaneTransform& LaneTransform::Of(int64_t at_least) {
  static std::mutex mutex;
  static auto& transforms = *new std::map<int64_t, std::unique_ptr<const LaneTransform>>;
  const int64_t length = LengthFor(at_least);
  const std::lock_guard<std::mutex> lock(mutex);
  std::unique_ptr<const LaneTransform>& transform = transforms[length];
  if (transform == nullptr) transform = std::make_unique<const LaneTransform>(length);
  return *transform;
}

LaneTransform::LaneTransform(int64_t length) : length_(length) {
  for (int64_t rest = length; rest > 1;) {
    Pass pass = {RadixOf(rest), rest, {}};
    for (int64_t j = 0; j < rest / pass.radix; ++j) {
      for (int64_t k = 1; k < pass.radix; ++k) {
        AppendRoot(static_cast<double>(j * k) / static_cast<double>(rest), &pass.roots);
      }
    }
    rest /= pass.radix;
    passes_.push_back(std::move(pass));
  }
  for (int64_t j = 0; j < length; ++j) {
    AppendRoot(static_cast<double>(j) / static_cast<double>(2 * length), &half_turns_);
  }
}

void LaneTransform::Forward(float* z) const { ForwardFrom(0, z); }
void LaneTransform::Inverse(float* z) const { InverseFrom(0, z); }

void LaneTransform::ForwardFrom(size_t first, float* z) const {
  if (first == passes_.size()) return;
  const Pass& pass = passes_[first];
  if (pass.length > kCachedLength) {
    ForwardPass(pass.radix, {pass.length, 1, pass.roots.data(), z});
    for (int64_t part = 0; part < pass.radix; ++part) {
      ForwardFrom(first + 1, z + part * pass.length / pass.radix * kLaneValue);
    }
    return;
  }
  for (size_t i = first; i < passes_.size(); ++i) {
    const Pass& next = passes_[i];
    ForwardPass(next.radix, {next.length, pass.length / next.length, next.roots.data(), z});
  }
}

void LaneTransform::InverseFrom(size_t first, float* z) const {
  if (first == passes_.size()) return;
  const Pass& pass = passes_[first];
  if (pass.length > kCachedLength) {
    for (int64_t part = 0; part < pass.radix; ++part) {
      InverseFrom(first + 1, z + part * pass.length / pass.radix * kLaneValue);
    }
    return InversePass(pass.radix, {pass.length, 1, pass.roots.data(), z});
  }
  for (size_t i = passes_.size(); i-- > first;) {
    const Pass& next = passes_[i];
    InversePass(next.radix, {next.length, pass.length / next.length, next.roots.data(), z});
  }
}

}  // namespace lra
