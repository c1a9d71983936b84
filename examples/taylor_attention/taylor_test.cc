// The tutorial's attention keeps every promise, also with its option set.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "lra/folder_test_util.h"
#include "models/conformance/conformance.h"
#include "models/interface/options.h"

namespace lra {
namespace {

// A copy of configs/ with the tutorial's file among the attentions, as a reader of the tutorial has
// it.
void UseConfigsWithTaylor(const TestFolder& folder) {
  namespace fs = std::filesystem;
  const std::string configs = folder.File("configs");
  fs::copy(LRA_SOURCE_DIR "/configs", configs, fs::copy_options::recursive);
  fs::copy_file(LRA_SOURCE_DIR "/examples/taylor_attention/taylor.textproto",
                configs + "/attentions/taylor.textproto");
  setenv("LRA_CONFIGS", configs.c_str(), 1);
}

TEST(TaylorTest, KeepsEveryPromise) {
  const TestFolder folder;
  UseConfigsWithTaylor(folder);
  for (const std::vector<std::string>& sets : {std::vector<std::string>{}, {"scale=0.5"}}) {
    const auto options = LoadAttentionOptions("taylor", sets);
    ASSERT_TRUE(options.ok()) << options.status();
    for (const auto& results :
         {CheckAttention("taylor", *options), CheckClassifier("taylor", *options)}) {
      ASSERT_TRUE(results.ok()) << results.status();
      for (const ConformanceResult& r : *results) {
        EXPECT_TRUE(r.passed) << r.id << ": " << r.measured << " > " << r.bound << " (" << r.detail
                              << ")";
      }
    }
  }
}

// Computed by hand: with q = 2, keys 0 and 1, values 0 and 1 and D = 1, s is 0 and 2, and w is 1
// and 5.
TEST(TaylorTest, AValueByHand) {
  const TestFolder folder;
  UseConfigsWithTaylor(folder);
  AttentionContext context;
  context.options = LoadAttentionOptions("taylor").value();
  const auto attention = AttentionRegistry::Get().Create("attention", "taylor", context).value();
  AttentionInput input;
  input.q = at::full({1, 1, 1, 1}, 2.0, at::kDouble);
  input.k = input.v = at::arange(2, at::kDouble).view({1, 1, 2, 1});
  EXPECT_NEAR(attention->Attend(input).item<double>(), 5.0 / 6, 1e-15);
  EXPECT_NEAR(attention->Oracle(input).item<double>(), 5.0 / 6, 1e-15);
}

}  // namespace
}  // namespace lra
