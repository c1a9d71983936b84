// Synthesizer against numbers made by another program in float64.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cos.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "models/attention/synthesizer.pb.h"
#include "models/conformance/golden_test_util.h"

namespace lra {
namespace {

using Options = SynthesizerOptions;

Options With(Options::Mode mode, bool dot_product, int rank = 3) {
  Options options;
  options.set_mode(mode);
  options.set_dot_product(dot_product);
  options.set_rank(rank);
  return options;
}

Options Lra2020() {
  Options options = With(Options::RANDOM, true);
  options.set_variant(Options::LRA2020);
  return options;
}

// clang-format off
const Golden kRandom = {"Synthesizer random only", {0.41530234, -0.19309247, -0.29045278}, {0.27773132, -0.41873986, -0.00698286}, {-0.9574701448, 1.8163085927, 0, 0, 7.23447940}};
const Golden kWithProducts = {"Synthesizer LRA (QK/sqrt d + R)", {0.17046587, -0.18857827, -0.04853509}, {0.23014097, -0.30797107, -0.03101330}, {-0.9385992446, 1.0685706151, 1.63343355, 1.87798497, 7.57274044}};
// clang-format on

// The table R[h, i, j] = 0.5 sin(0.8 i - 0.3 j + h).
at::Tensor Table() {
  return 0.5 * at::sin(0.8 * Grid(kGoldenTokens, 1, 3) - 0.3 * Grid(kGoldenTokens, 2, 3) +
                       Grid(kGoldenHeads, 0, 3));
}

void ExpectGoldenTable(const Golden& golden, const Options& options) {
  const MadeAttention made = MakeAttention("synthesizer", &options);
  made.SetParameter("logits", Table());
  ExpectGolden(golden, GoldenCase(), *made);
}

TEST(SynthesizerGoldenTest, FastFormAndOracle) {
  ExpectGoldenTable(kRandom, With(Options::RANDOM, false));
  ExpectGoldenTable(kWithProducts, With(Options::RANDOM, true));
  ExpectGoldenTable(kWithProducts, Lra2020());
}

// By sin(a - b + h) = sin(a + h) cos(b) - cos(a + h) sin(b), factors of rank two make the table
// above.
TEST(SynthesizerGoldenTest, FactorsOfTheTable) {
  const at::Tensor a = 0.8 * Grid(kGoldenTokens, 1, 3) + Grid(kGoldenHeads, 0, 3),
                   b = (0.3 * Grid(kGoldenTokens, 1, 3)).expand({kGoldenHeads, -1, -1});
  for (const auto& [golden, products] : {std::pair{kRandom, false}, {kWithProducts, true}}) {
    const Options options = With(Options::FACTORIZED_RANDOM, products, 2);
    const MadeAttention made = MakeAttention("synthesizer", &options);
    made.SetParameter("logits.rows", 0.5 * at::cat({at::sin(a), -at::cos(a)}, 2));
    made.SetParameter("logits.columns", at::cat({at::cos(b), at::sin(b)}, 2));
    ExpectGolden(golden, GoldenCase(), *made);
  }
}

TEST(SynthesizerTest, WithoutLogitsOfItsOwnItIsSoftmaxAttention) {
  const AttentionCase c = GoldenCaseWithoutKey4();
  const Options options = Lra2020();
  const MadeAttention made = MakeAttention("synthesizer", &options);
  made.SetParameter("logits", at::zeros({2, 6, 6}, at::kDouble));
  EXPECT_LT(MaxDifference(made->Attend(c.input), MakeAttention("transformer")->Oracle(c.input)),
            1e-14);
}

// The logits of token i are W_2 relu(W_1 x_i + b_1) + b_2. With these parameters, head 0 looks at
// token 2 where x_i0 > 1 and at all tokens alike elsewhere; head 1 always looks at token 3.
TEST(SynthesizerTest, DenseLogitsByHand) {
  MadeSizes sizes;
  sizes.head_width = 1;
  sizes.model_width = 2;
  sizes.max_length_tokens = 4;
  const Options options = With(Options::DENSE, false);
  const MadeAttention made = MakeAttention("synthesizer", &options, sizes);
  const auto set = [&](const char* name, std::vector<double> values, std::vector<int64_t> shape) {
    made.SetParameter(name, at::tensor(values, at::kDouble).view(shape));
  };
  set("logits.hidden.weight", {100, 0, 0, 0}, {2, 2});
  set("logits.hidden.bias", {-100, 0}, {2});
  set("logits.output.weight", {0, 0, 1, 0, 5, 5, 5, 5}, {8, 1});
  set("logits.output.bias", {0, 0, 0, 0, 0, 0, 0, 100}, {8});
  AttentionInput input;
  input.q = input.k = at::ones({1, 2, 4, 1}, at::kDouble);
  input.v = at::tensor(std::vector<double>{1, 2, 3, 6, 1, 2, 3, 6}).view({1, 2, 4, 1});
  input.x = at::tensor(std::vector<double>{0, 9, 2, 0, 1, 0, 3, -9}).view({1, 4, 2});
  const at::Tensor expected =
      at::tensor(std::vector<double>{3, 3, 3, 3, 6, 6, 6, 6}).view({1, 2, 4, 1});
  // The mean (1 + 2 + 3 + 6) / 4 is 3, too, so another value comes below.
  EXPECT_LT(MaxDifference(made->Attend(input), expected), 1e-14);
  input.v[0][0][3] = 10;
  EXPECT_LT(MaxDifference(made->Attend(input)[0][0].view(-1),
                          at::tensor(std::vector<double>{4, 3, 4, 3})),
            1e-14);
}

TEST(SynthesizerTest, EveryModeKeepsThePromises) {
  ExpectKeepsPromises("synthesizer", With(Options::RANDOM, false));
  ExpectKeepsPromises("synthesizer", Lra2020());
  ExpectKeepsPromises("synthesizer", With(Options::FACTORIZED_RANDOM, false));
  ExpectKeepsPromises("synthesizer", With(Options::DENSE, true));
  ExpectKeepsPromises("synthesizer", With(Options::DENSE, false));
}

TEST(SynthesizerTest, RefusesImpossibleOptionsAndInputs) {
  Options factorized_lra = Lra2020(), lra_without_products = Lra2020();
  factorized_lra.set_mode(Options::FACTORIZED_RANDOM);
  lra_without_products.set_dot_product(false);
  ExpectRefused("synthesizer", factorized_lra, "mode is FACTORIZED_RANDOM");
  ExpectRefused("synthesizer", lra_without_products, "dot_product is false");
  ExpectRefused("synthesizer", With(Options::FACTORIZED_RANDOM, true, 0),
                "attention.options.rank: 0 is out of range");
  const MadeAttention made = MakeAttention("synthesizer");
  EXPECT_THROW(made->Attend(GoldenCase(7, 7).input), c10::Error);
  EXPECT_THROW(made->Attend(GoldenCase(3, 6).input), c10::Error);
}

}  // namespace
}  // namespace lra
