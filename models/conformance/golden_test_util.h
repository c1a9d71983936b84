// For tests: golden values, float64 numbers that an independent program made of inputs given by
// formulas, and attentions set up to meet them.
#ifndef LRA_MODELS_CONFORMANCE_GOLDEN_TEST_UTIL_H_
#define LRA_MODELS_CONFORMANCE_GOLDEN_TEST_UTIL_H_

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "models/conformance/comparison.h"
#include "models/conformance/conformance.h"
#include "models/interface/attention.h"

namespace lra {

constexpr int64_t kGoldenTokens = 6, kGoldenHeads = 2, kGoldenWidth = 4, kGoldenValueWidth = 3;

struct Golden {
  const char* label;
  std::array<double, 3> first_row;  // O[0, 0, :]
  std::array<double, 3> last_row;   // O[0, N - 1, :]
  std::array<double, 5> sums;       // sum O, L = sum O G, sum dQ^2, sum dK^2, sum dV^2
  double gradient_tolerance = 1e-7;
};

// One example, 2 heads, D = 4, values of width 3:
//   q = sin(1 + 0.9 i + 1.7 c + 0.6 h)        k = cos(0.5 + 1.1 j - 0.8 c + 0.4 h)
//   v = sin(0.3 + 0.7 j + 1.9 c - 0.5 h)      upstream G = cos(0.2 + 0.5 i + 1.3 c + 0.9 h)
AttentionCase GoldenCase(int64_t queries = kGoldenTokens, int64_t keys = kGoldenTokens);
// Key 4 masked; query 4 goes on as it is.
AttentionCase GoldenCaseWithoutKey4();
// Token 4 masked as key and query.
AttentionCase GoldenCaseWithoutToken4();

// 0, 1, .. size - 1 along dimension `dim` of a float64 tensor of `dims` dimensions: for formulas.
at::Tensor Grid(int64_t size, int64_t dim, int64_t dims = 4);

// |a - b| <= 1e-8 + tolerance |b|.
void ExpectNear(const at::Tensor& actual, double expected, double tolerance,
                absl::string_view what);
void ExpectGoldenOutcome(const Golden& golden, const AttentionCase& c,
                         const AttentionOutcome& outcome);
// Compares the fast form and the oracle with the golden values.
void ExpectGolden(const Golden& golden, const AttentionCase& c, const Attention& attention);

// An attention with the store of what it owns.
struct MadeAttention {
  std::unique_ptr<ParameterStore> store;
  std::unique_ptr<Attention> attention;

  const Attention& operator*() const { return *attention; }
  const Attention* operator->() const { return attention.get(); }
  // Puts float64 values in the place of the drawn ones, by name without scope.
  void SetParameter(absl::string_view name, const at::Tensor& value) const;
  void SetBuffer(absl::string_view name, const at::Tensor& value) const;
};

struct MadeSizes : AttentionSizes {
  MadeSizes() : MadeSizes({kGoldenHeads, kGoldenWidth, 8, kGoldenTokens}) {}
  explicit MadeSizes(const AttentionSizes& sizes) : AttentionSizes(sizes) {}
  uint32_t seed = 1;
  std::vector<double> distance_slopes;
};

// The options of configs/attentions/<name>.textproto, with those set in `options` over them.
absl::StatusOr<google::protobuf::Any> OptionsOver(absl::string_view name,
                                                  const google::protobuf::Message& options);

// Makes it with OptionsOver(name, *options), or without `options` with the config file's.
absl::StatusOr<MadeAttention> CreateAttention(absl::string_view name,
                                              const google::protobuf::Message* options = nullptr,
                                              const MadeSizes& sizes = MadeSizes());
// The same where it must succeed.
MadeAttention MakeAttention(absl::string_view name,
                            const google::protobuf::Message* options = nullptr,
                            const MadeSizes& sizes = MadeSizes());

// The whole conformance suite with these options over the config file's.
void ExpectKeepsPromises(absl::string_view name, const google::protobuf::Message& options);
// InvalidArgument whose message holds `field`.
void ExpectRefused(absl::string_view name, const google::protobuf::Message& options,
                   absl::string_view field, const MadeSizes& sizes = MadeSizes());

}  // namespace lra

#endif  // LRA_MODELS_CONFORMANCE_GOLDEN_TEST_UTIL_H_
