// Golden values of the three attentions: fp64 numbers made by an independent implementation.
//
// Inputs (zero-based; H = 2, D = 4, Dv = 3, one example):
//   q[h,i,c] = sin(1 + 0.9i + 1.7c + 0.6h)          k[h,j,c] = cos(0.5 + 1.1j - 0.8c + 0.4h)
//   v[h,j,c] = sin(0.3 + 0.7j + 1.9c - 0.5h)        G[h,i,c] = cos(0.2 + 0.5i + 1.3c + 0.9h)
// L = sum(O G). "key 4 masked": keep = 1 1 1 1 0 1, and the query of the masked token counts.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "models/attention/attention.h"
#include "models/attention/cosformer.pb.h"
#include "models/conformance/comparison.h"

namespace lra {
namespace {

struct Golden {
  const char* label;
  const char* attention;
  int64_t queries, keys;
  bool masks_key_4;
  int scale_tokens;                 // cosFormer's M
  std::array<double, 3> first_row;  // O[0, 0, :]
  std::array<double, 3> last_row;   // O[0, N - 1, :]
  std::array<double, 5> sums;       // sum O, L, sum dQ^2, sum dK^2, sum dV^2
};

// clang-format off
const Golden kGolden[] = {
    {"softmax", "transformer", 6, 6, false, 0, {0.10881900, -0.32058849, 0.09846683}, {0.33555482, -0.17303866, -0.22367163}, {-0.8944976236, -0.0892590791, 1.53910518, 1.77257699, 7.59602138}},
    {"softmax, key 4 masked", "transformer", 6, 6, true, 0, {0.12913747, -0.12769253, -0.04657414}, {0.38122676, -0.05094317, -0.34828797}, {-0.3242631609, -0.4292582062, 1.70352320, 2.39230536, 9.01356190}},
    {"softmax cross Nq=3 Nk=6", "transformer", 3, 6, false, 0, {0.10881900, -0.32058849, 0.09846683}, {0.52469706, -0.42581184, -0.24937601}, {-0.5763668546, 1.7544647245, 0.72327571, 0.57738157, 3.91160633}},
    {"linear elu+1 (+eps 1e-6)", "linear", 6, 6, false, 0, {0.31516617, -0.11340010, -0.24184403}, {0.39767679, -0.05692852, -0.36086799}, {-0.1103269917, -0.1773809369, 0.09043457, 0.51186447, 7.79415847}},
    {"linear elu+1 key 4 masked", "linear", 6, 6, true, 0, {0.35114133, -0.00221779, -0.34970735}, {0.43010653, 0.02521642, -0.44641094}, {0.3571621244, -0.5928903176, 0.08976326, 0.58621007, 9.09661814}},
    {"cosFormer M=6", "cosformer", 6, 6, false, 6, {0.23932647, 0.43805518, -0.52256381}, {0.34281439, 0.04291427, -0.37056186}, {0.7577308773, -0.3071099920, 2.47099801, 10.01062436, 13.10895253}},
    {"cosFormer M=16", "cosformer", 6, 6, false, 16, {0.02027925, 0.14910238, -0.11668574}, {0.43761715, 0.26093329, -0.60633117}, {0.7981667296, -1.8876840716, 2.30048379, 8.69028480, 12.56901017}},
    {"cosFormer M=6, key 4 masked", "cosformer", 6, 6, true, 6, {0.24847975, 0.50271872, -0.57352718}, {0.34281439, 0.04291427, -0.37056186}, {0.9240560255, -0.3840295378, 2.66453716, 9.68204451, 13.47422712}},
    {"cosFormer cross Nq=3 Nk=6 M=6", "cosformer", 3, 6, false, 6, {0.23932647, 0.43805518, -0.52256381}, {0.67096903, -0.16461764, -0.56453070}, {0.4411747220, 1.8359386517, 1.46132448, 2.19787961, 5.67748515}},
    {"cosFormer cross Nq=6 Nk=3 M=6", "cosformer", 6, 3, false, 6, {0.40499190, 0.69435344, -0.85394634}, {0.71936492, 0.27704731, -0.89849793}, {1.9590569364, -1.7325072842, 1.13854396, 3.23458876, 17.20016803}},
};
// clang-format on

template <class Formula>
at::Tensor Make(int64_t tokens, int64_t width, Formula formula) {
  at::Tensor t = at::empty({1, 2, tokens, width}, at::kDouble);
  auto values = t.accessor<double, 4>();
  for (int64_t h = 0; h < 2; ++h) {
    for (int64_t i = 0; i < tokens; ++i) {
      for (int64_t c = 0; c < width; ++c) values[0][h][i][c] = formula(h, i, c);
    }
  }
  return t;
}

AttentionCase MakeCase(const Golden& golden) {
  AttentionCase c(0, 1, 2, golden.queries, golden.keys, 4);
  c.input.q = Make(golden.queries, 4,
                   [](int h, int i, int d) { return std::sin(1 + 0.9 * i + 1.7 * d + 0.6 * h); });
  c.input.k = Make(golden.keys, 4,
                   [](int h, int j, int d) { return std::cos(0.5 + 1.1 * j - 0.8 * d + 0.4 * h); });
  c.input.v = Make(golden.keys, 3,
                   [](int h, int j, int d) { return std::sin(0.3 + 0.7 * j + 1.9 * d - 0.5 * h); });
  c.upstream = Make(golden.queries, 3, [](int h, int i, int d) {
    return std::cos(0.2 + 0.5 * i + 1.3 * d + 0.9 * h);
  });
  if (golden.masks_key_4) {
    c.input.keep = at::ones({1, golden.keys}, at::kBool);
    c.input.keep[0][4] = false;
  }
  return c;
}

void ExpectGolden(const Golden& golden, const AttentionCase& c, const AttentionOutcome& outcome) {
  const auto near = [&](const at::Tensor& actual, double expected, const char* what) {
    EXPECT_NEAR(actual.item<double>(), expected, 1e-8 + 1e-7 * std::abs(expected))
        << golden.label << ": " << what;
  };
  for (int d = 0; d < 3; ++d) {
    near(outcome.output[0][0][0][d], golden.first_row[d], "first row");
    near(outcome.output[0][0][-1][d], golden.last_row[d], "last row");
  }
  near(outcome.output.sum(), golden.sums[0], "sum of O");
  near((outcome.output * c.upstream).sum(), golden.sums[1], "L");
  near(outcome.dq.square().sum(), golden.sums[2], "dQ");
  near(outcome.dk.square().sum(), golden.sums[3], "dK");
  near(outcome.dv.square().sum(), golden.sums[4], "dV");
}

TEST(GoldenTest, FastFormAndOracle) {
  for (const Golden& golden : kGolden) {
    AttentionContext context;
    context.heads = 2;
    context.head_width = 4;
    context.max_length_tokens = 6;
    if (golden.scale_tokens > 0) {
      CosformerOptions options;
      options.set_scale_tokens(golden.scale_tokens);
      context.options.PackFrom(options);
    }
    const auto attention = AttentionRegistry::Get().Create("attention", golden.attention, context);
    ASSERT_TRUE(attention.ok()) << attention.status();
    const AttentionCase c = MakeCase(golden);
    ExpectGolden(golden, c, RunAttention(**attention, Form::kFast, c));
    ExpectGolden(golden, c, RunAttention(**attention, Form::kOracle, c));
  }
}

}  // namespace
}  // namespace lra
