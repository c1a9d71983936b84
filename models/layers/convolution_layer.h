// One convolution with what stands around it, norm in front: the form that most models have.
#ifndef LRA_MODELS_LAYERS_CONVOLUTION_LAYER_H_
#define LRA_MODELS_LAYERS_CONVOLUTION_LAYER_H_

#include <ATen/core/Tensor.h>

#include "models/kernels/dilated_convolution.h"
#include "models/kernels/dropout.h"
#include "models/kernels/linear_map.h"
#include "models/kernels/rows.h"
#include "models/layers/norm.h"

namespace lra {

struct ConvolutionLayerParameters {
  NormMap norm;
  LinearMap map;  // [E, taps E]
  DilatedTaps taps;
  ActivationKind activation = ActivationKind::kGeluErf;
};

// Which tokens of a batch there are.
struct TokenMask {
  at::Tensor keep;     // [B, N] bool; undefined: all
  at::Tensor lengths;  // of DilatedConvolution()
};

// x + drop(f(conv(norm(x)))) for x [B, N, E], where norm(x) is 0 at tokens that are not kept:
// whatever they hold gets no further, nor its gradient. The tiled form, for float32 on the CPU,
// keeps x and what enters the GELU; all else is made again in the backward.
at::Tensor ConvolutionLayer(const at::Tensor& x, const TokenMask& mask,
                            const ConvolutionLayerParameters& parameters,
                            const DropoutKey& dropout);

namespace internal {

at::Tensor ConvolutionLayerGeneric(const at::Tensor& x, const TokenMask& mask,
                                   const ConvolutionLayerParameters& parameters,
                                   const DropoutKey& dropout);
at::Tensor ConvolutionLayerTiled(const at::Tensor& x, const TokenMask& mask,
                                 const ConvolutionLayerParameters& parameters,
                                 const DropoutKey& dropout);

}  // namespace internal
}  // namespace lra

#endif  // LRA_MODELS_LAYERS_CONVOLUTION_LAYER_H_
