// Rows of [B, H, N, D] picked by position, for attentions whose queries work in groups.
//
// A group belongs to one (example, head); its number is group * B H + example * H + head. So
// consecutive groups have different heads, and threads can add to them without conflicts.
// `positions` is [G, L] int64, for consecutive groups from `first_group` on; -1 means no position.
#ifndef LRA_MODELS_KERNELS_GATHERED_ROWS_H_
#define LRA_MODELS_KERNELS_GATHERED_ROWS_H_

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "models/kernels/dropout.h"

namespace lra {

// [G, L, D]; rows without a position are zero.
at::Tensor GatherRows(const at::Tensor& x, const at::Tensor& positions, int64_t first_group);

// Writes rows [G, L, D] to where GatherRows() would read them; x must be contiguous. For Set, no
// position of a head may occur twice; for Add, any may.
void SetRows(const at::Tensor& rows, const at::Tensor& positions, int64_t first_group,
             at::Tensor* x);
void AddRows(const at::Tensor& rows, const at::Tensor& positions, int64_t first_group,
             at::Tensor* x);

// The elements of WeightDropoutMask() that belong to pairs of queries [G, Lq] and keys [G, Lk]:
// float32 [G, Lq, Lk] where the positions are; 0 without a position. On the CPU keys in runs are
// cheapest, because eight neighbours share a draw.
at::Tensor GatherWeightDropout(const DropoutKey& key, int64_t heads, const at::Tensor& queries,
                               const at::Tensor& keys, int64_t first_group);

}  // namespace lra

#endif  // LRA_MODELS_KERNELS_GATHERED_ROWS_H_
