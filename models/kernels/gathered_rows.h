// Rows of [B, H, N, D] picked by position, for attentions whose queries work in groups.
//
// A group is of one (example, head); its number is group * B H + example * H + head, so that
// consecutive groups are of different heads and threads can add to them without conflicts.
// positions: [G, L] int64 of consecutive groups from `first_group` on; -1 = none.
#ifndef LRA_MODELS_KERNELS_GATHERED_ROWS_H_
#define LRA_MODELS_KERNELS_GATHERED_ROWS_H_

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "models/kernels/dropout.h"

namespace lra {

// [G, L, D]; zero for none.
at::Tensor GatherRows(const at::Tensor& x, const at::Tensor& positions, int64_t first_group);

// rows [G, L, D] to where GatherRows() would read them; x is contiguous. Set: no position of a head
// occurs twice. Add: any may.
void SetRows(const at::Tensor& rows, const at::Tensor& positions, int64_t first_group,
             at::Tensor* x);
void AddRows(const at::Tensor& rows, const at::Tensor& positions, int64_t first_group,
             at::Tensor* x);

// Those elements of WeightDropoutMask() that belong to pairs of queries [G, Lq] and keys [G, Lk]:
// float32 [G, Lq, Lk] on the CPU; 0 where either is none. Keys in runs are cheapest: eight
// neighbours share a draw.
at::Tensor GatherWeightDropout(const DropoutKey& key, int64_t heads, const at::Tensor& queries,
                               const at::Tensor& keys, int64_t first_group);

}  // namespace lra

#endif  // LRA_MODELS_KERNELS_GATHERED_ROWS_H_
