// Low-rank attentions against numbers made by another program in float64, and
// against softmax attention where they must equal or approach it.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "models/attention/attention.h"
#include "models/attention/linformer.pb.h"
#include "models/attention/performer.pb.h"
#include "models/conformance/comparison.h"
#include "models/conformance/conformance.h"

namespace lra {
namespace {

constexpr int64_t kTokens = 6, kWidth = 4;

at::Tensor Grid(int64_t size, int64_t dim) {
  std::vector<int64_t> shape = {1, 1, 1, 1};
  shape[dim] = size;
  return at::arange(size, at::kDouble).view(shape);
}

AttentionCase MakeCase() {
  const at::Tensor h = Grid(2, 1), i = Grid(kTokens, 2), d = Grid(kWidth, 3), e = Grid(3, 3);
  AttentionCase c(0, 1, 2, kTokens, kTokens, kWidth);
  c.input.q = at::sin(1 + 0.9 * i + 1.7 * d + 0.6 * h);
  c.input.k = at::cos(0.5 + 1.1 * i - 0.8 * d + 0.4 * h);
  c.input.v = at::sin(0.3 + 0.7 * i + 1.9 * e - 0.5 * h);
  c.upstream = at::cos(0.2 + 0.5 * i + 1.3 * e + 0.9 * h);
  return c;
}

struct Golden {
  const char* label;
  std::array<double, 3> first_row, last_row;  // O[0, 0, :], O[0, N - 1, :]
  std::array<double, 5> sums;                 // sum O, L, sum dQ^2, sum dK^2, sum dV^2
};

void ExpectOutcome(const Golden& golden, const AttentionCase& c, const AttentionOutcome& outcome) {
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

// An attention with the store of what it owns.
struct Made {
  std::unique_ptr<ParameterStore> store;
  std::unique_ptr<Attention> attention;

  // Puts float64 values in the place of the drawn ones.
  void SetParameter(const at::Tensor& value) const {
    at::Tensor(store->parameters().at(0).value).set_data(value);
  }
  void SetBuffer(const at::Tensor& value) const {
    at::Tensor(store->buffers().at(0).value).set_data(value);
  }
};

template <class Options>
absl::StatusOr<std::unique_ptr<Attention>> Create(absl::string_view name, const Options& options,
                                                  ParameterStore* store, int64_t width = kWidth,
                                                  int64_t max_length_tokens = kTokens) {
  AttentionContext context;
  context.heads = 2;
  context.head_width = width;
  context.max_length_tokens = max_length_tokens;
  context.parameters = store;
  context.options.PackFrom(options);
  return AttentionRegistry::Get().Create("attention", name, context);
}

template <class Options>
Made Make(absl::string_view name, const Options& options) {
  Made made;
  made.store = std::make_unique<ParameterStore>(1);
  made.attention = Create(name, options, made.store.get()).value();
  return made;
}

void ExpectGolden(const Golden& golden, const Attention& attention) {
  const AttentionCase c = MakeCase();
  ExpectOutcome(golden, c, RunAttention(attention, Form::kFast, c));
  ExpectOutcome(golden, c, RunAttention(attention, Form::kOracle, c));
}

template <class Options>
void ExpectKeepsPromises(absl::string_view name, const Options& options) {
  google::protobuf::Any any;
  any.PackFrom(options);
  const auto results = CheckAttention(name, any);
  ASSERT_TRUE(results.ok()) << results.status();
  for (const ConformanceResult& r : *results) {
    EXPECT_TRUE(r.passed) << r.id << ": " << r.measured << " > " << r.bound << " (" << r.detail
                          << ") with " << options.ShortDebugString();
  }
}

template <class Options>
void ExpectRefused(absl::string_view name, const Options& options, absl::string_view field) {
  ParameterStore store(1);
  const absl::Status status = Create(name, options, &store).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_NE(std::string(status.message()).find(std::string(field)), std::string::npos) << status;
}

at::Tensor Softmax(const AttentionInput& input) {
  AttentionContext context;
  return AttentionRegistry::Get()
      .Create("attention", "transformer", context)
      .value()
      ->Oracle(input);
}

// --- Performer ---

PerformerOptions PerformerWith(PerformerOptions::Kernel kernel, int features) {
  PerformerOptions options;
  options.set_kernel(kernel);
  options.set_features(features);
  return options;
}

// clang-format off
const Golden kPositive = {"FAVOR+ m=8, no eps", {0.40379391, -0.30539004, -0.20633508}, {0.35860353, -0.31305215, -0.15619054}, {-0.9772479245, 0.9532513537, 0.83064519, 2.83266636, 7.02453390}};
const Golden kHyperbolic = {"FAVOR+ hyperbolic 2m=16", {0.43322711, -0.31400425, -0.23019852}, {0.38422979, -0.31927470, -0.17779343}, {-0.9545766195, 0.8749477921, 0.82414235, 2.49650259, 6.97370784}};
const Golden kRelu = {"Performer generalized: relu+1e-3", {-0.00560770, 0.11086907, -0.06607792}, {0.44540403, 0.27951405, -0.62613198}, {0.7910837595, -2.0628582214, 2.25825967, 8.46686274, 12.63523555}};
// clang-format on

TEST(PerformerGoldenTest, FastFormAndOracle) {
  const at::Tensor projection =
      1.5 * at::sin(0.37 + 1.13 * at::arange(8, at::kDouble).view({8, 1}) +
                    2.71 * at::arange(kWidth, at::kDouble).view({1, kWidth}));
  const std::pair<Golden, PerformerOptions::Kernel> random[] = {
      {kPositive, PerformerOptions::SOFTMAX}, {kHyperbolic, PerformerOptions::HYPERBOLIC}};
  for (const auto& [golden, kernel] : random) {
    const Made made = Make("performer", PerformerWith(kernel, 8));
    made.SetBuffer(projection);
    ExpectGolden(golden, *made.attention);
  }
  const Made relu = Make("performer", PerformerWith(PerformerOptions::RELU, 8));
  EXPECT_TRUE(relu.store->buffers().empty());
  ExpectGolden(kRelu, *relu.attention);
}

TEST(PerformerTest, EveryKernelKeepsThePromises) {
  ExpectKeepsPromises("performer", PerformerWith(PerformerOptions::HYPERBOLIC, 24));
  ExpectKeepsPromises("performer", PerformerWith(PerformerOptions::RELU, 1));
  PerformerOptions independent = PerformerWith(PerformerOptions::SOFTMAX, 3);
  independent.set_is_orthogonal(false);
  ExpectKeepsPromises("performer", independent);
}

// Large logits, where features of a fixed stabiliser would all underflow in float32.
TEST(PerformerTest, LargeInputsNeitherOverflowNorUnderflow) {
  const PerformerOptions options = PerformerWith(PerformerOptions::SOFTMAX, 64);
  ParameterStore store(1);
  const auto attention = Create("performer", options, &store, 8).value();
  AttentionCase c(10, 1, 2, 50, 50, 8);
  c.input.q = c.input.q * 12;
  c.input.k = c.input.k * 12;
  const at::Tensor exact = attention->Oracle(c.input);
  AttentionCase rounded = c;
  for (at::Tensor* t : {&rounded.input.q, &rounded.input.k, &rounded.input.v, &rounded.upstream})
    *t = t->to(at::kFloat);
  const AttentionOutcome outcome = RunAttention(*attention, Form::kFast, rounded);
  EXPECT_LT(MaxDifference(outcome.output, exact), 2e-3);
  EXPECT_TRUE(outcome.dq.isfinite().all().item<bool>() && outcome.dk.isfinite().all().item<bool>());
}

// Relative error of the output at the values' identity, that is, of the attention matrix.
double SoftmaxError(int features, uint32_t seed) {
  ParameterStore store(seed);
  PerformerOptions options = PerformerWith(PerformerOptions::SOFTMAX, features);
  options.set_is_orthogonal(false);
  const auto attention = Create("performer", options, &store, 16).value();
  AttentionCase c(seed, 1, 1, 128, 128, 16);
  c.input.q = c.input.q * 0.5;
  c.input.k = c.input.k * 0.5;
  c.input.v = at::eye(128, at::kDouble).view({1, 1, 128, 128});
  const at::Tensor exact = Softmax(c.input);
  return ((attention->Attend(c.input) - exact).norm() / exact.norm()).item<double>();
}

// Monte Carlo: the error falls as features^-1/2.
TEST(PerformerTest, ConvergesToSoftmaxAttention) {
  double few = 0, many = 0;
  for (uint32_t seed = 1; seed <= 6; ++seed) {
    few += SoftmaxError(128, seed) / 6;
    many += SoftmaxError(2048, seed) / 6;
  }
  EXPECT_LT(many, 0.1);
  EXPECT_NEAR(few / many, std::sqrt(2048.0 / 128), 0.25 * 4);
}

TEST(PerformerTest, ProjectionIsAFunctionOfSeedAndName) {
  const PerformerOptions options = PerformerWith(PerformerOptions::SOFTMAX, 8);
  const Made a = Make("performer", options), b = Make("performer", options);
  EXPECT_TRUE(a.store->buffers()[0].value.equal(b.store->buffers()[0].value));
  EXPECT_EQ(a.store->buffers()[0].name, "projection");
  ParameterStore other(2);
  ASSERT_TRUE(Create("performer", options, &other).ok());
  EXPECT_FALSE(a.store->buffers()[0].value.equal(other.buffers()[0].value));
}

TEST(PerformerTest, RefusesImpossibleOptions) {
  ExpectRefused("performer", PerformerWith(PerformerOptions::SOFTMAX, 0),
                "attention.options.features: is 0");
  PerformerOptions options;
  options.set_relu_floor(0);
  ExpectRefused("performer", options, "attention.options.relu_floor: is 0");
}

// --- Linformer ---

const Golden kLinformer = {"Linformer E=F (3x6)",
                           {-0.45216644, 0.75482571, -0.03588812},
                           {-0.19055475, 0.86874692, -0.37115888},
                           {3.5249922773, -4.9975369945, 1.45287968, 2.36976623, 11.27806805}};

LinformerOptions LinformerWith(LinformerOptions::Sharing sharing, int rank) {
  LinformerOptions options;
  options.set_sharing(sharing);
  options.set_rank(rank);
  return options;
}

TEST(LinformerGoldenTest, FastFormAndOracle) {
  const Made made = Make("linformer", LinformerWith(LinformerOptions::KEY_VALUE, 3));
  made.SetParameter(0.4 * at::cos(0.9 * at::arange(3, at::kDouble).view({3, 1}) +
                                  0.6 * at::arange(kTokens, at::kDouble).view({1, kTokens}) + 0.1));
  ExpectGolden(kLinformer, *made.attention);
}

TEST(LinformerTest, IdentityProjectionsAreSoftmaxAttention) {
  const Made made = Make("linformer", LinformerWith(LinformerOptions::KEY_VALUE, kTokens));
  made.SetParameter(at::eye(kTokens, at::kDouble));
  const AttentionCase c = MakeCase();
  EXPECT_LT(MaxDifference(made.attention->Attend(c.input), Softmax(c.input)), 1e-12);
}

TEST(LinformerTest, EverySharingKeepsThePromises) {
  ExpectKeepsPromises("linformer", LinformerWith(LinformerOptions::NONE, 5));
  ExpectKeepsPromises("linformer", LinformerWith(LinformerOptions::HEADWISE, 3));
}

TEST(LinformerTest, OwnsWhatItsSharingSays) {
  const auto names = [](LinformerOptions::Sharing sharing, std::vector<int64_t> shape) {
    const Made made = Make("linformer", LinformerWith(sharing, 2));
    std::vector<std::string> names;
    for (const Parameter& p : made.store->parameters()) {
      EXPECT_EQ(p.value.sizes().vec(), shape);
      names.push_back(p.name);
    }
    return names;
  };
  const std::vector<std::string> one = {"key_projection"},
                                 two = {"key_projection", "value_projection"};
  EXPECT_EQ(names(LinformerOptions::KEY_VALUE, {2, kTokens}), one);
  EXPECT_EQ(names(LinformerOptions::HEADWISE, {2, kTokens}), two);
  EXPECT_EQ(names(LinformerOptions::NONE, {2, 2, kTokens}), two);
}

TEST(LinformerTest, RefusesImpossibleRanksAndLengths) {
  ExpectRefused("linformer", LinformerWith(LinformerOptions::KEY_VALUE, 7),
                "attention.options.rank: is 7");
  ExpectRefused("linformer", LinformerWith(LinformerOptions::KEY_VALUE, -1),
                "attention.options.rank: is -1");
  const Made made = Make("linformer", LinformerWith(LinformerOptions::KEY_VALUE, 0));
  EXPECT_EQ(made.store->parameters()[0].value.size(0), kTokens);  // 128 would exceed the length
  const AttentionCase c(1, 1, 2, 7, 7, kWidth);
  EXPECT_THROW(made.attention->Attend(c.input), c10::Error);
}

}  // namespace
}  // namespace lra
