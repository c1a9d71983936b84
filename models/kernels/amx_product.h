// The product of models/kernels/bfloat16_product.h on AMX's eight tiles of 16 rows of 64 bytes: a
// tile of 16 x 32 numbers times one of 32 x 16 in one instruction (TDPBF16PS). A row of the result
// has the same bits whatever rows stand beside it.
#ifndef LRA_MODELS_KERNELS_AMX_PRODUCT_H_
#define LRA_MODELS_KERNELS_AMX_PRODUCT_H_

#include "models/kernels/bfloat16_product.h"

namespace lra::internal {

// Needs KernelPath::kAmx and an `inner` above 0. Memory for the transpose of a paired `a` is kept
// for each thread.
void MultiplyTileAmx(const Bfloat16Product& product);

}  // namespace lra::internal

#endif  // LRA_MODELS_KERNELS_AMX_PRODUCT_H_
