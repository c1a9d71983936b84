#include "models/kernels/noise.h"

#include <ATen/core/TensorAccessor.h>
#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include <cmath>

#include "lra/random.h"
#include "models/kernels/dropout_on_device.h"

namespace lra {

at::Tensor GumbelNoise(const DropoutKey& key, int64_t heads, int64_t rows, int64_t columns,
                       at::Device device) {
  TORCH_CHECK(key.example_ids.defined(), "noise in training needs the examples' ids");
  if (!device.is_cpu()) return internal::GumbelNoiseOnDevice(key, heads, rows, columns, device);
  const int64_t batch = key.example_ids.size(0);
  const int64_t* ids = key.example_ids.const_data_ptr<int64_t>();
  const uint32_t domain = key.site << 8 | static_cast<uint32_t>(RandomDomain::kAttentionNoise);
  at::Tensor noise = at::empty({batch, heads, rows, columns}, at::kDouble);
  double* out = noise.mutable_data_ptr<double>();
  for (int64_t i = 0; i < batch * heads * rows; ++i) {
    const auto row = static_cast<uint32_t>(i % rows),
               head = static_cast<uint32_t>(i / rows % heads);
    const auto id = static_cast<uint32_t>(ids[i / rows / heads]);
    std::array<uint32_t, 4> words = {};
    for (int64_t c = 0; c < columns; ++c) {
      if (c % 4 == 0)
        words = Philox({head << 18 | static_cast<uint32_t>(c / 4), row, id, key.step},
                       {key.seed, domain});
      *out++ = -std::log(-std::log((words[c % 4] + 0.5) * 0x1.0p-32));
    }
  }
  return noise;
}

at::Tensor NormalNoise(const DropoutKey& key, const std::vector<int64_t>& shape,
                       at::Device device) {
  if (!device.is_cpu()) return internal::NormalNoiseOnDevice(key, shape, device);
  at::Tensor drawn = at::empty(shape, at::kFloat);
  RandomStream random(key.seed, RandomDomain::kAttentionNoise.AtSite(key.site), {0, 0, key.step});
  float* out = drawn.mutable_data_ptr<float>();
  for (int64_t i = 0; i < drawn.numel(); ++i) out[i] = static_cast<float>(random.Normal());
  return drawn;
}

}  // namespace lra
