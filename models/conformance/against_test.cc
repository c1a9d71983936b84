#include "models/conformance/against.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/einsum.h>
#include <ATen/ops/full.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "lra/files.h"
#include "lra/folder_test_util.h"
#include "models/conformance/comparison.h"
#include "models/interface/options.h"

namespace lra {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

// The content of a file, which a test can change by name.
struct Content {
  std::map<std::string, at::Tensor> tensors;
  std::map<std::string, std::string> metadata;

  SafetensorsFile File() const { return {{tensors.begin(), tensors.end()}, metadata}; }
};

// Softmax attention written out, with gradients by autograd, for B = 2, H = 3, D = 4, Dv = 5.
Content SoftmaxContent(at::ScalarType type, int64_t queries, int64_t keys, bool has_keep) {
  AttentionInput in;
  in.q = RandomTensor(1, {2, 3, queries, 4}, at::kDouble).set_requires_grad(true);
  in.k = RandomTensor(2, {2, 3, keys, 4}, at::kDouble).set_requires_grad(true);
  in.v = RandomTensor(3, {2, 3, keys, 5}, at::kDouble).set_requires_grad(true);
  at::Tensor scores = at::matmul(in.q, in.k.transpose(2, 3)) / 2.0;
  at::Tensor upstream = RandomTensor(4, {2, 3, queries, 5}, at::kDouble);
  Content content;
  if (has_keep) {
    const at::Tensor keep = at::ones({2, keys}, at::kByte);
    keep[1][keys - 1] = 0;
    content.tensors["keep"] = keep;
    scores = scores.masked_fill((keep == 0).view({2, 1, 1, keys}),
                                -std::numeric_limits<double>::infinity());
    if (queries == keys) upstream = upstream * keep.view({2, 1, keys, 1});
  }
  const at::Tensor out = at::matmul(at::softmax(scores, -1), in.v);
  (out * upstream).sum().backward();
  for (const auto& [name, tensor] : std::map<std::string, at::Tensor>{{"q", in.q},
                                                                      {"k", in.k},
                                                                      {"v", in.v},
                                                                      {"out", out},
                                                                      {"grad_out", upstream},
                                                                      {"grad_q", in.q.grad()},
                                                                      {"grad_k", in.k.grad()},
                                                                      {"grad_v", in.v.grad()}})
    content.tensors[name] = tensor.detach().to(type).contiguous();
  return content;
}

// With the options of the attention's config file, and `sets` over them. The attentions that this
// file registers have neither.
absl::StatusOr<AgainstReport> Compare(const Content& content, const std::string& attention,
                                      const std::vector<std::string>& sets = {}) {
  AgainstRequest request;
  request.attention = attention;
  request.options = LoadAttentionOptions(attention, sets).value_or(google::protobuf::Any());
  return CompareWithTensors(content.File(), request);
}

std::string Refusal(const Content& content, const std::string& attention = "transformer") {
  const auto report = Compare(content, attention);
  EXPECT_EQ(report.status().code(), absl::StatusCode::kInvalidArgument) << report.status();
  return std::string(report.status().message());
}

TEST(AgainstTest, AgreesWithSoftmaxWrittenOut) {
  for (const at::ScalarType type : {at::kDouble, at::kFloat}) {
    for (const bool has_keep : {false, true}) {
      for (const int64_t keys : {7, 11}) {
        const auto report = Compare(SoftmaxContent(type, 7, keys, has_keep), "transformer");
        ASSERT_TRUE(report.ok()) << report.status();
        EXPECT_TRUE(report->passed());
        ASSERT_EQ(report->tensors.size(), 4u);
        EXPECT_EQ(report->tensors[0].name, "out");
        EXPECT_EQ(report->dtype, type == at::kFloat ? "float32" : "float64");
        EXPECT_EQ(report->tolerance, type == at::kFloat ? 1e-5 : 1e-9);
        EXPECT_EQ(report->max_length_tokens, keys);
      }
    }
  }
}

TEST(AgainstTest, ReportsTheErrorOfTheTensorThatDiffers) {
  Content content = SoftmaxContent(at::kDouble, 7, 7, false);
  at::Tensor gradient = content.tensors["grad_k"];
  const double largest = gradient.abs().max().item<double>();
  gradient[1][2][3][1] += 0.5;
  const auto report = Compare(content, "transformer");
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_FALSE(report->passed());
  for (const ComparedTensor& tensor : report->tensors) {
    EXPECT_EQ(tensor.passed, tensor.name != "grad_k");
    if (tensor.name != "grad_k") continue;
    EXPECT_NEAR(tensor.absolute, 0.5, 1e-9);
    EXPECT_NEAR(tensor.relative, 0.5 / std::max(largest, tensor.largest), 1e-9);
  }
}

TEST(AgainstTest, AnotherMethodOrNaNIsNoAgreement) {
  Content content = SoftmaxContent(at::kDouble, 7, 7, false);
  EXPECT_FALSE(Compare(content, "linear")->passed());
  content.tensors["out"][0][0][0][0] = std::nan("");
  EXPECT_FALSE(Compare(content, "transformer")->passed());
}

TEST(AgainstTest, ANumberThatIsNotFiniteIsNamedWithItsPlace) {
  Content content = SoftmaxContent(at::kDouble, 7, 7, false);
  content.tensors["grad_k"][1][2][3][1] = std::nan("");
  content.tensors["grad_k"][1][2][6][3] = std::numeric_limits<double>::infinity();
  const auto report = Compare(content, "transformer");
  ASSERT_TRUE(report.ok()) << report.status();
  for (const ComparedTensor& tensor : report->tensors) {
    EXPECT_EQ(tensor.not_finite,
              tensor.name == "grad_k"
                  ? "2 of 168 values of the file are not finite, the first at [1, 2, 3, 1]"
                  : "");
  }
  // What the attention makes of a NaN is its own.
  content = SoftmaxContent(at::kDouble, 7, 7, false);
  content.tensors["v"][0][1][0][2] = std::nan("");
  const auto own = Compare(content, "transformer");
  ASSERT_TRUE(own.ok()) << own.status();
  EXPECT_EQ(own->tensors[0].not_finite,
            "7 of 210 values of the attention are not finite, the first at [0, 1, 0, 2]");
}

TEST(AgainstTest, RowsOfPaddedQueriesAreNotCompared) {
  Content content = SoftmaxContent(at::kDouble, 7, 7, true);
  content.tensors["out"][1][0][6].fill_(99);
  EXPECT_TRUE(Compare(content, "transformer")->passed());
  content.tensors["out"][0][0][6].fill_(99);
  EXPECT_FALSE(Compare(content, "transformer")->passed());
  content = SoftmaxContent(at::kDouble, 7, 7, true);
  content.tensors["grad_out"][1][0][6][0] = 1;
  EXPECT_THAT(Refusal(content), HasSubstr("\"grad_out\": is not 0 in rows of padded queries"));
}

// Linformer written out for a single projection E = F [R, L]: softmax(q (E k)^T / sqrt(D)) E v.
TEST(AgainstTest, ParametersComeFromTheFileInItsType) {
  Content content;
  content.tensors["q"] = RandomTensor(1, {1, 2, 6, 4}, at::kDouble);
  content.tensors["k"] = RandomTensor(2, {1, 2, 6, 4}, at::kDouble);
  content.tensors["v"] = RandomTensor(3, {1, 2, 6, 4}, at::kDouble);
  at::Tensor map = RandomTensor(5, {3, 6}, at::kDouble).set_requires_grad(true);
  content.tensors["grad_out"] = RandomTensor(4, {1, 2, 6, 4}, at::kDouble);
  const at::Tensor mixed = at::matmul(map, content.tensors["k"]);
  const at::Tensor out =
      at::matmul(at::softmax(at::matmul(content.tensors["q"], mixed.transpose(2, 3)) / 2.0, -1),
                 at::matmul(map, content.tensors["v"]));
  (out * content.tensors["grad_out"]).sum().backward();
  content.tensors["out"] = out.detach();
  content.tensors["key_projection"] = map.detach();
  content.tensors["grad_key_projection"] = map.grad();
  const std::vector<std::string> sets = {"sharing=KEY_VALUE", "rank=3"};
  const auto report = Compare(content, "linformer", sets);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_TRUE(report->passed());
  ASSERT_EQ(report->tensors.size(), 2u);
  EXPECT_EQ(report->tensors[1].name, "grad_key_projection");

  content.tensors["grad_key_projection"].add_(1e-6);
  EXPECT_FALSE(Compare(content, "linformer", sets)->passed());
  content.tensors.erase("grad_key_projection");
  content.tensors["key_projection"] = at::zeros({3, 5}, at::kDouble);
  EXPECT_THAT(std::string(Compare(content, "linformer", sets).status().message()),
              HasSubstr("\"key_projection\": is float64 [3, 5], expected: float64 [3, 6]"));
  content.tensors.erase("key_projection");
  EXPECT_THAT(std::string(Compare(content, "linformer", sets).status().message()),
              HasSubstr("\"key_projection\": is missing; expected: float64 [3, 6]"));
}

// o = (q k^T) (v + x), where x is added to the values of every head (E = D).
class WithInput : public Attention {
 public:
  explicit WithInput(Projections projections) {
    traits_.projections = projections;
    traits_.uses_layer_input = true;
  }
  const Traits& traits() const override { return traits_; }
  at::Tensor Attend(const AttentionInput& in) const override {
    return at::matmul(at::matmul(in.q, in.k.transpose(2, 3)), in.v + in.x.unsqueeze(1));
  }
  at::Tensor Oracle(const AttentionInput& in) const override { return Attend(in); }

 private:
  Traits traits_;
};

template <Projections projections>
absl::StatusOr<std::unique_ptr<Attention>> MakeWithInput(const AttentionContext&) {
  return std::make_unique<WithInput>(projections);
}
LRA_REGISTER(AttentionRegistry, "shared_for_test", MakeWithInput<Projections::kSharedQueryKey>);
LRA_REGISTER(AttentionRegistry, "none_for_test", MakeWithInput<Projections::kNone>);

// If k, or k and v, equal q, the file lacks them, and grad_q is the sum of their gradients.
Content WithInputContent(bool has_values) {
  at::Tensor q = RandomTensor(1, {2, 3, 5, 4}, at::kDouble).set_requires_grad(true);
  at::Tensor x = RandomTensor(2, {2, 5, 4}, at::kDouble).set_requires_grad(true);
  const at::Tensor v = has_values ? RandomTensor(3, {2, 3, 5, 4}, at::kDouble) : q;
  const at::Tensor upstream = RandomTensor(4, {2, 3, 5, 4}, at::kDouble);
  const at::Tensor weights = at::einsum("bhid,bhjd->bhij", {q, q});
  const at::Tensor out = at::einsum("bhij,bhjd->bhid", {weights, v + x.view({2, 1, 5, 4})});
  (out * upstream).sum().backward();
  Content content;
  content.tensors = {{"q", q.detach()},      {"x", x.detach()},    {"out", out.detach()},
                     {"grad_out", upstream}, {"grad_q", q.grad()}, {"grad_x", x.grad()}};
  if (has_values) content.tensors["v"] = v;
  return content;
}

TEST(AgainstTest, KeysAndValuesThatAreTheQuery) {
  for (const char* name : {"shared_for_test", "none_for_test"}) {
    const auto report = Compare(WithInputContent(name == std::string("shared_for_test")), name);
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_TRUE(report->passed()) << name;
    EXPECT_EQ(report->tensors.size(), 3u);
  }
  EXPECT_THAT(Refusal(WithInputContent(false), "shared_for_test"), HasSubstr("\"v\": is missing"));
}

TEST(AgainstTest, TheLayersInput) {
  Content content = WithInputContent(true);
  content.tensors["grad_x"][0][0][0] += 1;
  EXPECT_FALSE(Compare(content, "shared_for_test")->passed());
  content.tensors["x"] = at::zeros({2, 6, 4}, at::kDouble);
  EXPECT_THAT(Refusal(content, "shared_for_test"),
              HasSubstr("\"x\": is float64 [2, 6, 4], expected: float64 [2, 5, 4] = [B, N, E]"));
  content.tensors.erase("x");
  EXPECT_THAT(Refusal(content, "shared_for_test"), HasSubstr("\"x\": is missing"));
}

TEST(AgainstTest, RefusalsNameTensorFoundAndExpected) {
  const Content good = SoftmaxContent(at::kFloat, 7, 7, false);
  Content bad = good;
  bad.tensors.erase("q");
  EXPECT_THAT(Refusal(bad), HasSubstr("\"q\": is missing"));
  bad = good;
  bad.tensors["q"] = at::zeros({3, 7, 4});
  EXPECT_THAT(Refusal(bad), HasSubstr("\"q\": is float32 [3, 7, 4], expected: float32 or float64 "
                                      "[B, H, N, D]"));
  bad = good;
  bad.tensors["k"] = at::zeros({2, 3, 7, 5});
  EXPECT_THAT(Refusal(bad), HasSubstr("\"k\": is float32 [2, 3, 7, 5], expected: float32 "
                                      "[2, 3, 7, 4] = [B, H, Nk, D]"));
  bad = good;
  bad.tensors["v"] = good.tensors.at("v").to(at::kDouble);
  EXPECT_THAT(Refusal(bad), HasSubstr("\"v\": is float64 [2, 3, 7, 5], expected: float32"));
  bad = good;
  bad.tensors.erase("out");
  EXPECT_THAT(Refusal(bad), HasSubstr("\"out\": is missing; expected: float32 [2, 3, 7, 5]"));
  bad = good;
  bad.tensors.erase("grad_out");
  EXPECT_THAT(Refusal(bad), HasSubstr("\"grad_out\": is missing, though there is \"grad_k\""));
  bad = good;
  bad.tensors["grad_V"] = bad.tensors["grad_v"];
  EXPECT_THAT(Refusal(bad), HasSubstr("which \"transformer\" does not read; did you mean"));
  bad = good;
  bad.tensors["x"] = at::zeros({2, 7, 12});
  EXPECT_THAT(Refusal(bad), HasSubstr("\"x\": is float32 [2, 7, 12], which"));
  bad = good;
  bad.tensors["something_else"] = at::zeros({1});
  EXPECT_THAT(Refusal(bad),
              EndsWith("which \"transformer\" does not read. Known: q, k, v, keep, out, grad_out, "
                       "grad_q, grad_k, grad_v"));
  bad = good;
  bad.tensors["keep"] = at::full({2, 7}, 2, at::kByte);
  EXPECT_THAT(Refusal(bad), HasSubstr("\"keep\": holds 2"));
  bad.tensors["keep"] = at::ones({2, 7}, at::kLong);
  EXPECT_THAT(Refusal(bad), HasSubstr("expected: BOOL or U8 [2, 7] = [B, Nk]"));
  bad = good;
  bad.metadata["causal"] = "yes";
  EXPECT_THAT(Refusal(bad), HasSubstr("\"causal\": is \"yes\""));
  bad.metadata["causal"] = "true";
  EXPECT_THAT(Refusal(bad, "linformer"), HasSubstr("\"linformer\" has no causal form"));
  bad = good;
  bad.metadata["format"] = "pt";
  EXPECT_TRUE(Compare(bad, "transformer").ok());
  bad.metadata["casual"] = "true";
  EXPECT_EQ(Refusal(bad),
            "unknown metadata \"casual\"; did you mean \"causal\"? Known: causal, format");
}

TEST(AgainstTest, TheLongestSequenceIsTheFilesOrTheFlags) {
  const Content content = SoftmaxContent(at::kDouble, 7, 7, false);
  AgainstRequest request;
  request.attention = "cosformer";
  request.options = LoadAttentionOptions("cosformer").value();
  request.max_length_tokens = 6;
  EXPECT_THAT(std::string(CompareWithTensors(content.File(), request).status().message()),
              HasSubstr("max_length: is 6, below the file's 7 tokens"));
  request.max_length_tokens = 64;
  EXPECT_EQ(CompareWithTensors(content.File(), request)->max_length_tokens, 64);
}

TEST(AgainstTest, ADamagedFileIsWrongUse) {
  const TestFolder folder;
  const std::string path = folder.File("cut.safetensors");
  ASSERT_TRUE(WriteSafetensors(path, {{"q", at::zeros({1, 1, 2, 2})}}, {}).ok());
  std::string bytes = *ReadFile(path);
  bytes.pop_back();
  ASSERT_TRUE(WriteFileAtomically(path, bytes).ok());
  AgainstRequest request;
  request.attention = "transformer";
  const absl::Status status = CompareWithFile(path, request).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("cut.safetensors"));
  EXPECT_EQ(CompareWithFile(folder.File("none"), request).status().code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace lra
