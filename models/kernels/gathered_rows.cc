#include "models/kernels/gathered_rows.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "lra/check.h"
#include "lra/random.h"
#include "models/kernels/dispatch.h"
#include "models/kernels/dropout_on_device.h"

namespace lra {
namespace {

constexpr int64_t kGrainRows = 512;

constexpr KernelNeeds kReadNeeds = {.types = kFloat32And64Tiles};
constexpr KernelNeeds kWriteNeeds = {.types = kFloat32And64Tiles, .is_contiguous = true};

// Row numbers in x flattened to [B H N, D]; 0 for none.
at::Tensor FlatRows(const at::Tensor& x, const at::Tensor& positions, int64_t first_group) {
  const int64_t count = positions.size(0), tables = x.size(0) * x.size(1);
  const at::Tensor table =
      at::arange(first_group, first_group + count, positions.options()).remainder(tables);
  return (table.unsqueeze(1) * x.size(2) + positions.clamp_min(0)).flatten();
}

// Calls use(position, row of `rows`, row of x) for each position there is. Threads share out the
// (example, head) pairs.
template <class Use>
void ForEachRow(const at::Tensor& rows, const at::Tensor& positions, int64_t first_group,
                at::Tensor* x, Use use) {
  LRA_CHECK(x->is_contiguous() && rows.is_contiguous() && positions.is_contiguous());
  const int64_t tables = x->size(0) * x->size(1), tokens = x->size(2), width = x->size(3);
  const int64_t groups = positions.size(0), length = positions.size(1);
  const int64_t* place = positions.const_data_ptr<int64_t>();
  const int64_t grain = std::max<int64_t>(1, kGrainRows * tables / (groups * length + 1));
  at::parallel_for(0, tables, grain, [&](int64_t begin, int64_t end) {
    for (int64_t table = begin; table < end; ++table) {
      const int64_t skip = (table - first_group % tables + tables) % tables;
      for (int64_t g = skip; g < groups; g += tables) {
        for (int64_t i = g * length; i < (g + 1) * length; ++i) {
          if (place[i] >= 0) use(i * width, (table * tokens + place[i]) * width);
        }
      }
    }
  });
}

template <class T>
void AddAll(const at::Tensor& rows, const at::Tensor& positions, int64_t first_group,
            at::Tensor* x) {
  const T* from = rows.const_data_ptr<T>();
  T* to = x->mutable_data_ptr<T>();
  const int64_t width = x->size(3);
  ForEachRow(rows, positions, first_group, x, [=](int64_t at, int64_t target) {
    for (int64_t c = 0; c < width; ++c) to[target + c] += from[at + c];
  });
}

at::Tensor GatherTiled(const at::Tensor& any, const at::Tensor& positions, int64_t first_group) {
  const at::Tensor x = any.stride(3) == 1 || any.size(3) == 1 ? any : any.contiguous();
  const int64_t heads = x.size(1), tables = x.size(0) * heads, length = positions.size(1);
  const int64_t bytes = x.element_size(), row_bytes = x.size(3) * bytes;
  at::Tensor rows = at::empty({positions.size(0), length, x.size(3)}, x.options());
  const int64_t* place = positions.const_data_ptr<int64_t>();
  const char* from = static_cast<const char*>(x.const_data_ptr());
  char* to = static_cast<char*>(rows.mutable_data_ptr());
  at::parallel_for(0, positions.numel(), kGrainRows, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (place[i] < 0) {
        std::memset(to + i * row_bytes, 0, row_bytes);
        continue;
      }
      const int64_t table = (first_group + i / length) % tables;
      const int64_t offset =
          table / heads * x.stride(0) + table % heads * x.stride(1) + place[i] * x.stride(2);
      std::memcpy(to + i * row_bytes, from + offset * bytes, row_bytes);
    }
  });
  return rows;
}

// The host does not know how many rows there are: those without a position go to one more row.
void SetRowsOnDevice(const at::Tensor& rows, const at::Tensor& positions, int64_t first_group,
                     at::Tensor* x) {
  const at::Tensor flat = x->reshape({-1, x->size(3)});
  at::Tensor longer = at::cat({flat, flat.narrow(0, 0, 1)});
  const at::Tensor target =
      FlatRows(*x, positions, first_group).masked_fill_(positions.flatten().lt(0), flat.size(0));
  longer.index_copy_(0, target, rows.reshape({-1, x->size(3)}));
  x->copy_(longer.narrow(0, 0, flat.size(0)).view(x->sizes()));
}

}  // namespace

at::Tensor GatherRows(const at::Tensor& x, const at::Tensor& positions, int64_t first_group) {
  if (DispatchKernel(kReadNeeds, {x}) != KernelPath::kGeneric)
    return GatherTiled(x, positions.contiguous(), first_group);
  const at::Tensor rows =
      x.reshape({-1, x.size(3)}).index_select(0, FlatRows(x, positions, first_group));
  return rows.view({positions.size(0), positions.size(1), x.size(3)})
      .masked_fill(positions.lt(0).unsqueeze(2), 0);
}

void SetRows(const at::Tensor& rows, const at::Tensor& positions, int64_t first_group,
             at::Tensor* x) {
  if (DispatchKernel(kWriteNeeds, {*x}) != KernelPath::kGeneric) {
    const at::Tensor dense = rows.contiguous();
    const int64_t bytes = x->element_size(), row_bytes = x->size(3) * bytes;
    const char* from = static_cast<const char*>(dense.const_data_ptr());
    char* to = static_cast<char*>(x->mutable_data_ptr());
    return ForEachRow(dense, positions.contiguous(), first_group, x,
                      [=](int64_t at, int64_t target) {
                        std::memcpy(to + target * bytes, from + at * bytes, row_bytes);
                      });
  }
  if (!x->is_cpu()) return SetRowsOnDevice(rows, positions, first_group, x);
  const at::Tensor there = positions.flatten().ge(0).nonzero().flatten();
  const at::Tensor dense = x->contiguous();
  dense.view({-1, x->size(3)})
      .index_copy_(0, FlatRows(*x, positions, first_group).index_select(0, there),
                   rows.reshape({-1, x->size(3)}).index_select(0, there));
  x->copy_(dense);  // nothing where that is x itself
}

void AddRows(const at::Tensor& rows, const at::Tensor& positions, int64_t first_group,
             at::Tensor* x) {
  if (DispatchKernel(kWriteNeeds, {*x}) != KernelPath::kGeneric) {
    const auto add = x->scalar_type() == at::kFloat ? AddAll<float> : AddAll<double>;
    return add(rows.contiguous(), positions.contiguous(), first_group, x);
  }
  const at::Tensor there = rows.masked_fill(positions.lt(0).unsqueeze(2), 0);
  const at::Tensor dense = x->contiguous();
  dense.view({-1, x->size(3)})
      .index_add_(0, FlatRows(*x, positions, first_group), there.flatten(0, 1));
  x->copy_(dense);
}

at::Tensor GatherWeightDropout(const DropoutKey& key, int64_t heads, const at::Tensor& any_queries,
                               const at::Tensor& any_keys, int64_t first_group) {
  if (!any_queries.is_cpu()) {
    return internal::ScaledMask(internal::KeptPairs(key, heads, any_queries, any_keys, first_group),
                                key, at::kFloat);
  }
  const at::Tensor queries = any_queries.contiguous(), keys = any_keys.contiguous();
  const int64_t rows = queries.size(1), columns = keys.size(1);
  at::Tensor mask = at::empty({queries.size(0), rows, columns}, at::kFloat);
  const int64_t* query = queries.const_data_ptr<int64_t>();
  const int64_t* ids = key.example_ids.const_data_ptr<int64_t>();
  const int64_t tables = key.example_ids.size(0) * heads;
  float* out = mask.mutable_data_ptr<float>();
  const DropoutRows words(key, 1);
  at::parallel_for(0, queries.numel(), 1 + kGrainRows / columns, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const int64_t group = r / rows, table = (first_group + group) % tables;
      const int64_t* places = keys.const_data_ptr<int64_t>() + group * columns;
      std::array<uint32_t, 4> bits = {};
      int64_t drawn = -1;  // the block of eight keys that `bits` are of
      for (int64_t c = 0; c < columns; ++c) {
        out[r * columns + c] = 0;
        if (places[c] < 0 || query[r] < 0) continue;
        if (places[c] / 8 != drawn) {
          drawn = places[c] / 8;
          const int64_t block = table % heads << 18 | drawn;
          bits = Philox({static_cast<uint32_t>(block), static_cast<uint32_t>(query[r]),
                         static_cast<uint32_t>(ids[table / heads]), words.step},
                        {words.seed, words.site_word});
        }
        const uint32_t half = bits[places[c] % 8 / 2] >> 16 * (places[c] % 2) & 0xFFFF;
        if (half >= words.threshold) out[r * columns + c] = words.scale;
      }
    }
  });
  return mask;
}

}  // namespace lra
