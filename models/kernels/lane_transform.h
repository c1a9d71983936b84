// Discrete Fourier transforms of kTransformLanes complex sequences side by side: a value is a row
// of real parts and a row of imaginary parts, [length][2][kTransformLanes] floats, so that a
// butterfly is a loop over lanes and channels that lie side by side need no transposing.
#ifndef LRA_MODELS_KERNELS_LANE_TRANSFORM_H_
#define LRA_MODELS_KERNELS_LANE_TRANSFORM_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lra {

constexpr int64_t kTransformLanes = 16;
constexpr int64_t kLaneValue = 2 * kTransformLanes;  // floats of one value of all lanes

// The transforms of one length, with its roots of unity (rounded from float64). Frequencies stand
// in an order of their own, which Forward() leaves and Inverse() expects: enough for convolutions,
// and no pass over the memory is spent on sorting.
class LaneTransform {
 public:
  // Returns the transform of the smallest length 2^a or 3 2^a that is at least `at_least`. It lives
  // as long as the process.
  static const LaneTransform& Of(int64_t at_least);

  explicit LaneTransform(int64_t length);
  int64_t length() const { return length_; }
  // z [length] becomes its transform, sum_j z_j e^(-2 pi i j k / length), in place.
  void Forward(float* z) const;
  // The inverse without its factor: Inverse(Forward(z)) = length z.
  void Inverse(float* z) const;
  // e^(-pi i j / length) as (re, im), j < length: what doubles a transform's length.
  const float* half_turns() const { return half_turns_.data(); }

 private:
  // Passes of Forward() in order; each cuts transforms of `length` into `radix` shorter ones.
  struct Pass {
    int64_t radix, length;
    std::vector<float> roots;  // [length / radix][radix - 1][2]
  };
  void ForwardFrom(size_t pass, float* z) const;
  void InverseFrom(size_t pass, float* z) const;

  const int64_t length_;
  std::vector<Pass> passes_;
  std::vector<float> half_turns_;
};

// The loops over values that convolutions need beside transforms, on [length] values each.
// z *= by; z *= the conjugate of by; sums += the conjugate of z times w.
void MultiplyLanes(int64_t length, const float* by, float* z);
void MultiplyConjugateLanes(int64_t length, const float* by, float* z);
void AddConjugateProducts(int64_t length, const float* z, const float* w, float* sums);
// z_j *= turns_j, or its conjugate: turns [length] as (re, im), the same for all lanes.
void TurnLanes(int64_t length, const float* turns, bool is_conjugate, float* z);

}  // namespace lra

#endif  // LRA_MODELS_KERNELS_LANE_TRANSFORM_H_
