#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cos.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/sin.h>

#include <cmath>

#include "absl/strings/str_cat.h"
#include "lra/config.h"
#include "lra/status_macros.h"
#include "models/conformance/golden_test_util.h"
#include "models/interface/options.h"

namespace lra {
namespace {

constexpr double kTolerance = 1e-7;

void Set(const std::vector<Parameter>& all, absl::string_view name, const at::Tensor& value) {
  for (const Parameter& parameter : all) {
    if (parameter.name == name) return at::Tensor(parameter.value).set_data(value);
  }
  ADD_FAILURE() << "nothing is named " << name;
}

}  // namespace

at::Tensor Grid(int64_t size, int64_t dim, int64_t dims) {
  std::vector<int64_t> shape(dims, 1);
  shape[dim] = size;
  return at::arange(size, at::kDouble).view(shape);
}

AttentionCase GoldenCase(int64_t queries, int64_t keys) {
  const at::Tensor h = Grid(kGoldenHeads, 1), i = Grid(queries, 2), j = Grid(keys, 2);
  const at::Tensor c = Grid(kGoldenWidth, 3), e = Grid(kGoldenValueWidth, 3);
  AttentionCase made(0, 1, kGoldenHeads, queries, keys, kGoldenWidth);
  made.input.q = at::sin(1 + 0.9 * i + 1.7 * c + 0.6 * h);
  made.input.k = at::cos(0.5 + 1.1 * j - 0.8 * c + 0.4 * h);
  made.input.v = at::sin(0.3 + 0.7 * j + 1.9 * e - 0.5 * h);
  made.upstream = at::cos(0.2 + 0.5 * i + 1.3 * e + 0.9 * h);
  return made;
}

AttentionCase GoldenCaseWithoutKey4() {
  AttentionCase c = GoldenCase();
  c.input.keep = at::ones({1, kGoldenTokens}, at::kBool);
  c.input.keep[0][4] = false;
  return c;
}

AttentionCase GoldenCaseWithoutToken4() {
  AttentionCase c = GoldenCaseWithoutKey4();
  c.upstream.select(2, 4).zero_();
  return c;
}

void ExpectNear(const at::Tensor& actual, double expected, double tolerance,
                absl::string_view what) {
  EXPECT_NEAR(actual.item<double>(), expected, 1e-8 + tolerance * std::abs(expected)) << what;
}

void ExpectGoldenOutcome(const Golden& golden, const AttentionCase& c,
                         const AttentionOutcome& outcome) {
  SCOPED_TRACE(golden.label);
  // If a masked query's upstream gradient is zero, its output does not count.
  const bool hides_queries = c.upstream.abs().amax({1, 3}).eq(0).any().item<bool>();
  const at::Tensor output = hides_queries ? RealRows(outcome.output, c) : outcome.output;
  for (int d = 0; d < 3; ++d) {
    ExpectNear(output[0][0][0][d], golden.first_row[d], kTolerance, "first row");
    ExpectNear(output[0][0][-1][d], golden.last_row[d], kTolerance, "last row");
  }
  ExpectNear(output.sum(), golden.sums[0], kTolerance, "sum of O");
  ExpectNear((output * c.upstream).sum(), golden.sums[1], kTolerance, "L");
  ExpectNear(outcome.dq.square().sum(), golden.sums[2], golden.gradient_tolerance, "dQ");
  ExpectNear(outcome.dk.square().sum(), golden.sums[3], golden.gradient_tolerance, "dK");
  ExpectNear(outcome.dv.square().sum(), golden.sums[4], golden.gradient_tolerance, "dV");
}

void ExpectGolden(const Golden& golden, const AttentionCase& c, const Attention& attention) {
  ExpectGoldenOutcome(golden, c, RunAttention(attention, Form::kFast, c));
  ExpectGoldenOutcome(golden, c, RunAttention(attention, Form::kOracle, c));
}

void MadeAttention::SetParameter(absl::string_view name, const at::Tensor& value) const {
  Set(store->parameters(), absl::StrCat("attention.", name), value);
}

void MadeAttention::SetBuffer(absl::string_view name, const at::Tensor& value) const {
  Set(store->buffers(), absl::StrCat("attention.", name), value);
}

absl::StatusOr<google::protobuf::Any> OptionsOver(absl::string_view name,
                                                  const google::protobuf::Message& options) {
  LRA_ASSIGN_OR_RETURN(const google::protobuf::Any file, LoadAttentionOptions(name));
  AttentionConfig merged, over;
  *merged.mutable_options() = file;
  over.mutable_options()->PackFrom(options);
  MergeConfig(over, &merged);
  return merged.options();
}

absl::StatusOr<MadeAttention> CreateAttention(absl::string_view name,
                                              const google::protobuf::Message* options,
                                              const MadeSizes& sizes) {
  MadeAttention made;
  made.store = std::make_unique<ParameterStore>(sizes.seed);
  AttentionContext context = {sizes};
  context.parameters = made.store.get();
  context.scope = "attention.";
  context.distance_slopes = sizes.distance_slopes;
  LRA_ASSIGN_OR_RETURN(context.options, options == nullptr ? LoadAttentionOptions(name)
                                                           : OptionsOver(name, *options));
  LRA_ASSIGN_OR_RETURN(made.attention, AttentionRegistry::Get().Create("attention", name, context));
  return made;
}

MadeAttention MakeAttention(absl::string_view name, const google::protobuf::Message* options,
                            const MadeSizes& sizes) {
  absl::StatusOr<MadeAttention> made = CreateAttention(name, options, sizes);
  EXPECT_TRUE(made.ok()) << made.status();
  return *std::move(made);
}

void ExpectKeepsPromises(absl::string_view name, const google::protobuf::Message& options) {
  const auto all = OptionsOver(name, options);
  ASSERT_TRUE(all.ok()) << all.status();
  const auto results = CheckAttention(name, *all);
  ASSERT_TRUE(results.ok()) << results.status();
  for (const ConformanceResult& r : *results) {
    EXPECT_TRUE(r.passed) << r.id << ": " << r.measured << " > " << r.bound << " (" << r.detail
                          << ") with " << options.ShortDebugString();
  }
}

void ExpectRefused(absl::string_view name, const google::protobuf::Message& options,
                   absl::string_view field, const MadeSizes& sizes) {
  const absl::Status status = CreateAttention(name, &options, sizes).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_NE(std::string(status.message()).find(std::string(field)), std::string::npos) << status;
}

}  // namespace lra
