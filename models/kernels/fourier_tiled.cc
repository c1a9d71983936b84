// The two-dimensional transform for float32 on the CPU, by transforms of 16 sequences side by side
// (lane_transform.h). For real numbers, frequencies k and N - k of the tokens are each other's
// conjugates. So two channels go through the transform of the tokens as real and imaginary part,
// and the transform of the channels is taken for k <= N / 2 only: its real part at channel c
// belongs to token k, that at channel -c to token N - k.
#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "models/kernels/floats.h"
#include "models/kernels/fourier.h"
#include "models/kernels/lane_tiles.h"
#include "models/kernels/lane_transform.h"

namespace lra::internal {
namespace {

constexpr int64_t kLanes = kTransformLanes;

// Where the frequencies of a transform stand: slots[k] is the place of frequency k. The transform
// of an impulse at 1 turns by k at frequency k.
std::vector<int32_t> SlotsOf(const LaneTransform& transform) {
  const int64_t n = transform.length();
  std::vector<float> z(n * kLaneValue, 0.0f);
  z[n > 1 ? kLaneValue : 0] = 1.0f;
  transform.Forward(z.data());
  std::vector<int32_t> slots(n);
  for (int64_t i = 0; i < n; ++i) {
    const float re = z[i * kLaneValue], im = z[i * kLaneValue + kLanes];
    const double turns = -std::atan2(im, re) / (2 * std::numbers::pi);
    const int64_t k = std::lround(turns * static_cast<double>(n));
    slots[(k + n) % n] = static_cast<int32_t>(i);
  }
  return slots;
}

class FourierMixer {
 public:
  FourierMixer(int64_t tokens, int64_t channels, double scale)
      : n_(tokens),
        channels_(channels),
        groups_(tokens / 2 / kLanes + 1),
        scale_(static_cast<float>(scale)),
        over_tokens_(LaneTransform::Of(tokens)),
        over_channels_(LaneTransform::Of(channels)),
        token_slots_(SlotsOf(over_tokens_)),
        channel_slots_(SlotsOf(over_channels_)),
        mirrored_slots_(channels),
        half_(groups_ * channels * kLaneValue) {
    for (int64_t c = 0; c < channels; ++c)
      mirrored_slots_[c] = channel_slots_[(channels - c) % channels];
  }

  // x and y [N, C], dense.
  void Mix(const float* x, float* y) const {
    at::parallel_for(0, channels_ / (2 * kLanes), 1, [&](int64_t begin, int64_t end) {
      Floats z(n_ * kLaneValue);
      for (int64_t i = begin; i < end; ++i) TransformTokens(x, i * 2 * kLanes, z.get());
    });
    at::parallel_for(0, groups_, 1, [&](int64_t begin, int64_t end) {
      Floats rows(kLanes * channels_);
      for (int64_t g = begin; g < end; ++g) TransformChannels(g, rows.get(), y);
    });
  }

 private:
  // half_ [group of 16 frequencies][channel][re, im][frequency] of the 32 channels from `first` on.
  void TransformTokens(const float* x, int64_t first, float* z) const {
    for (int64_t j = 0; j < n_; ++j)
      std::copy_n(x + j * channels_ + first, kLaneValue, z + j * kLaneValue);
    over_tokens_.Forward(z);
    for (int64_t g = 0; g < groups_; ++g) Part(z, g, first);
  }

  // Parts the transform of the first 16 channels, a, from that of the other 16, b, of a + i b.
  void Part(const float* z, int64_t group, int64_t first) const {
    alignas(64) float parts[4][kLanes * kLanes] = {}, turned[kLanes * kLanes];
    for (int64_t i = 0; i < kLanes; ++i) {
      const int64_t k = group * kLanes + i;
      if (k > n_ / 2) break;
      const float* at = z + token_slots_[k] * kLaneValue;
      const float* mirrored = z + token_slots_[(n_ - k) % n_] * kLaneValue;
      for (int64_t lane = 0; lane < kLanes; ++lane) {
        const float re = at[lane], im = at[kLanes + lane];
        const float other_re = mirrored[lane], other_im = mirrored[kLanes + lane];
        parts[0][i * kLanes + lane] = re + other_re;
        parts[1][i * kLanes + lane] = im - other_im;
        parts[2][i * kLanes + lane] = im + other_im;
        parts[3][i * kLanes + lane] = other_re - re;
      }
    }
    float* to = half_.get() + (group * channels_ + first) * kLaneValue;
    for (int64_t p = 0; p < 4; ++p) {
      PackLanes({kLanes, kLanes, kLanes}, parts[p], kLanes, nullptr, 0.5f * scale_, turned);
      float* out = to + (p / 2 * kLanes) * kLaneValue + p % 2 * kLanes;
      for (int64_t c = 0; c < kLanes; ++c)
        std::copy_n(turned + c * kLanes, kLanes, out + c * kLaneValue);
    }
  }

  void TransformChannels(int64_t group, float* rows, float* y) const {
    float* z = half_.get() + group * channels_ * kLaneValue;
    over_channels_.Forward(z);
    const int64_t count = std::min(kLanes, n_ / 2 + 1 - group * kLanes);
    for (const bool is_mirrored : {false, true}) {
      const std::vector<int32_t>& slots = is_mirrored ? mirrored_slots_ : channel_slots_;
      PackLanes({channels_, channels_, kLanes}, z, kLaneValue, slots.data(), 1.0f, rows);
      for (int64_t i = 0; i < count; ++i) {
        const int64_t k = group * kLanes + i, token = is_mirrored ? (n_ - k) % n_ : k;
        if (is_mirrored && token == k) continue;
        std::copy_n(rows + i * channels_, channels_, y + token * channels_);
      }
    }
  }

  const int64_t n_, channels_, groups_;
  const float scale_;
  const LaneTransform &over_tokens_, &over_channels_;
  const std::vector<int32_t> token_slots_, channel_slots_;
  std::vector<int32_t> mirrored_slots_;
  const Floats half_;
};

}  // namespace

bool HasTiledFourierMixing(int64_t tokens, int64_t channels) {
  return channels % (2 * kLanes) == 0 && LaneTransform::Of(tokens).length() == tokens &&
         LaneTransform::Of(channels).length() == channels;
}

at::Tensor FourierMixingTiled(const at::Tensor& x, bool is_orthonormal) {
  const at::Tensor dense = x.contiguous(), y = at::empty(dense.sizes(), dense.options());
  const int64_t tokens = x.size(1), channels = x.size(2);
  const double scale =
      is_orthonormal ? 1 / std::sqrt(static_cast<double>(tokens) * static_cast<double>(channels))
                     : 1;
  const float* from = dense.const_data_ptr<float>();
  float* to = y.mutable_data_ptr<float>();
  // Threads take examples or, where there is one only, share its transforms.
  at::parallel_for(0, x.size(0), 1, [&](int64_t begin, int64_t end) {
    const FourierMixer mixer(tokens, channels, scale);
    for (int64_t first = begin * tokens * channels; begin < end;
         ++begin, first += tokens * channels)
      mixer.Mix(from + first, to + first);
  });
  return y;
}

}  // namespace lra::internal
