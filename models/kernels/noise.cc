#include "models/kernels/noise.h"

#include <ATen/core/TensorAccessor.h>
#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include <cmath>

#include "lra/random.h"

namespace lra {

at::Tensor GumbelNoise(const DropoutKey& key, int64_t heads, int64_t rows, int64_t columns) {
  TORCH_CHECK(key.example_ids.defined(), "noise in training needs the examples' ids");
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

}  // namespace lra
