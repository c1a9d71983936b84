#include "datasets/grey.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

namespace lra {
namespace {

int Grey(GreyRule rule, uint8_t red, uint8_t green, uint8_t blue) {
  uint8_t out = 0;
  ToGrey(rule, &red, &green, &blue, 1, &out);
  return out;
}

TEST(GreyTest, GivesKnownValues) {
  struct Case {
    uint8_t red, green, blue;
    int tensorflow, pillow;
  };
  // Computed by hand: 255.5 / 255 * 0.2989 * 255 = 76.37, and so on.
  const Case table[] = {
      {0, 0, 0, 0, 0},       {255, 255, 255, 255, 255}, {255, 0, 0, 76, 76},
      {0, 255, 0, 149, 150}, {0, 0, 255, 29, 29},       {1, 1, 1, 1, 1},
      {0, 0, 8, 0, 1},       {128, 128, 128, 128, 128}, {254, 254, 254, 254, 254}};
  for (const Case& c : table) {
    EXPECT_EQ(Grey(GreyRule::kTensorflow, c.red, c.green, c.blue), c.tensorflow)
        << int{c.red} << " " << int{c.green} << " " << int{c.blue};
    EXPECT_EQ(Grey(GreyRule::kPillow, c.red, c.green, c.blue), c.pillow)
        << int{c.red} << " " << int{c.green} << " " << int{c.blue};
  }
}

// Calls look(red, green, blue, TensorFlow's grey, Pillow's grey) for every colour.
template <class Look>
void ForEveryColour(Look look) {
  std::array<uint8_t, 256> red, green, blue, tensorflow, pillow;
  for (int b = 0; b < 256; ++b) blue[b] = static_cast<uint8_t>(b);
  for (int r = 0; r < 256; ++r) {
    red.fill(static_cast<uint8_t>(r));
    for (int g = 0; g < 256; ++g) {
      green.fill(static_cast<uint8_t>(g));
      ToGrey(GreyRule::kTensorflow, red.data(), green.data(), blue.data(), 256, tensorflow.data());
      ToGrey(GreyRule::kPillow, red.data(), green.data(), blue.data(), 256, pillow.data());
      for (int b = 0; b < 256; ++b) look(r, g, b, tensorflow[b], pillow[b]);
    }
  }
}

// The formulas computed in double. In the first, an exact value other than 0 differs from the
// nearest integer by at least 2e-7; in the second, values are multiples of 2^-16. So rounding
// errors cannot change the result.
TEST(GreyTest, IsTheFormulaForEveryColour) {
  int wrong = 0, darker = 0, same = 0;
  ForEveryColour([&](int r, int g, int b, int tensorflow, int pillow) {
    wrong += tensorflow != std::floor(255.5 * (0.2989 * r + 0.5870 * g + 0.1140 * b) / 255);
    wrong += pillow != std::floor((19595.0 * r + 38470.0 * g + 7471.0 * b) / 65536 + 0.5);
    darker += tensorflow == pillow - 1;
    same += tensorflow == pillow;
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(darker + same, 1 << 24);
  EXPECT_NEAR(darker / double{1 << 24}, 0.263, 0.001);
}

// The rule as TensorFlow computes it in float32: uint8 * float(1/255), the weighted sum, * 255.5,
// truncated. The order of the sum and whether products are fused are up to Eigen.
TEST(GreyTest, DiffersFromFloatInFewColours) {
  constexpr float kScale = 1.0f / 255, kRed = 0.2989f, kGreen = 0.5870f, kBlue = 0.1140f;
  int in_order = 0, fused = 0, lighter = 0;
  ForEveryColour([&](int r, int g, int b, int tensorflow, int) {
    const float red = static_cast<float>(r) * kScale, green = static_cast<float>(g) * kScale,
                blue = static_cast<float>(b) * kScale;
    const float sum = (red * kRed + green * kGreen) + blue * kBlue;
    const float fused_sum = std::fma(blue, kBlue, std::fma(green, kGreen, red * kRed));
    const int value = static_cast<int>(sum * 255.5f);
    in_order += value != tensorflow;
    lighter += value == tensorflow + 1;
    fused += static_cast<int>(fused_sum * 255.5f) != tensorflow;
  });
  EXPECT_EQ(in_order, 237);
  EXPECT_EQ(lighter, 237);
  EXPECT_EQ(fused, 242);
}

TEST(GreyTest, EveryLengthAndPosition) {
  std::vector<uint8_t> red(100), green(100), blue(100);
  for (int i = 0; i < 100; ++i) {
    red[i] = static_cast<uint8_t>(i * 37);
    green[i] = static_cast<uint8_t>(i * 101);
    blue[i] = static_cast<uint8_t>(i * 59);
  }
  for (const GreyRule rule : {GreyRule::kTensorflow, GreyRule::kPillow}) {
    for (int n = 0; n <= 100; ++n) {
      std::vector<uint8_t> out(101, 77);
      ToGrey(rule, red.data(), green.data(), blue.data(), n, out.data());
      for (int i = 0; i < n; ++i) EXPECT_EQ(out[i], Grey(rule, red[i], green[i], blue[i]));
      EXPECT_EQ(out[n], 77);
    }
  }
}

}  // namespace
}  // namespace lra
