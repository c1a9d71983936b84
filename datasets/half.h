// IEEE 754's binary16 (NumPy's "<f2"): how predictions can be stored in half the bytes.
#ifndef LRA_DATASETS_HALF_H_
#define LRA_DATASETS_HALF_H_

#include <cstdint>

namespace lra {

// A number of 11 significant bits. Comparisons and arithmetic are those of float.
struct Half {
  static constexpr float kLargest = 65504;

  // The nearest number, of two equally near ones the even one. Finite values from 65,520 on become
  // infinite; infinities and NaN stay what they are.
  static Half Nearest(float value);

  operator float() const;  // exact; not explicit, so that arrays of any type convert alike

  uint16_t bits = 0;
};

// The largest number below a finite one; of -65,504 it is minus infinity.
Half NextBelow(Half value);

}  // namespace lra

#endif  // LRA_DATASETS_HALF_H_
