// Probabilities of the 256 values of a pixel under a mixture of logistic distributions, in dense
// float32 on the CPU. What it computes stands in models/encoder/logistic_mixture.h.
#ifndef LRA_MODELS_KERNELS_LOGISTIC_MIXTURE_H_
#define LRA_MODELS_KERNELS_LOGISTIC_MIXTURE_H_

#include <cstdint>

namespace lra {

inline constexpr int64_t kPixelValues = 256;
inline constexpr double kPixelStep = 2.0 / (kPixelValues - 1);  // between neighbours in [-1, 1]
inline constexpr double kMinLogScale = -7;

// outputs [rows, 3 components] -> log_p [rows, 256].
void LogisticMixtureRows(const float* outputs, int64_t rows, int64_t components, float* log_p);

// gradient [rows, 3 components] of `upstream` [rows, 256].
void LogisticMixtureBackwardRows(const float* outputs, const float* upstream, int64_t rows,
                                 int64_t components, float* gradient);

}  // namespace lra

#endif  // LRA_MODELS_KERNELS_LOGISTIC_MIXTURE_H_
