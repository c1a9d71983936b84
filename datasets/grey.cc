#include "datasets/grey.h"

namespace lra {
namespace {

// 255.5 * S / (255 * 10000) with S in units of 1e-4 is 511 S / 5,100,000. The two have no common
// divisor, so for S > 0 it is never an integer; S is at most 9999 * 255, which 32 bits hold.
uint8_t TensorflowGrey(uint32_t red, uint32_t green, uint32_t blue) {
  return static_cast<uint8_t>(511 * (2989 * red + 5870 * green + 1140 * blue) / 5'100'000);
}

uint8_t PillowGrey(uint32_t red, uint32_t green, uint32_t blue) {
  return static_cast<uint8_t>((19595 * red + 38470 * green + 7471 * blue + 32768) >> 16);
}

// The arithmetic of one pixel has no branches, so the compiler can vectorise the loop.
template <uint8_t (*Grey)(uint32_t, uint32_t, uint32_t)>
void Convert(const uint8_t* __restrict red, const uint8_t* __restrict green,
             const uint8_t* __restrict blue, int n, uint8_t* __restrict out) {
  for (int i = 0; i < n; ++i) out[i] = Grey(red[i], green[i], blue[i]);
}

}  // namespace

void ToGrey(GreyRule rule, const uint8_t* red, const uint8_t* green, const uint8_t* blue, int n,
            uint8_t* out) {
  if (rule == GreyRule::kTensorflow) {
    Convert<TensorflowGrey>(red, green, blue, n, out);
  } else {
    Convert<PillowGrey>(red, green, blue, n, out);
  }
}

}  // namespace lra
