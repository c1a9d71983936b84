// Converts RGB to grey by the two rules that published results on CIFAR-10 as a sequence used.
#ifndef LRA_DATASETS_GREY_H_
#define LRA_DATASETS_GREY_H_

#include <cstdint>

namespace lra {

enum class GreyRule {
  // tf.image.rgb_to_grayscale (google-research/long-range-arena):
  // floor(255.5 (0.2989 R + 0.5870 G + 0.1140 B) / 255), here exactly. TensorFlow computes in
  // float32, which makes 237 to 244 of the 2^24 colours one lighter, depending on the order of the
  // sum (see grey_test.cc).
  kTensorflow,
  // Pillow's convert("L") (torchvision, state-spaces/s4):
  // (19595 R + 38470 G + 7471 B + 32768) >> 16.
  kPillow,
};

// Computes out[i] from red[i], green[i] and blue[i], each uint8 [n]; `out` must not overlap them.
void ToGrey(GreyRule rule, const uint8_t* red, const uint8_t* green, const uint8_t* blue, int n,
            uint8_t* out);

}  // namespace lra

#endif  // LRA_DATASETS_GREY_H_
