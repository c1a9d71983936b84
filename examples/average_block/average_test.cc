// The tutorial's block keeps every promise, also with its option set.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "lra/config.h"
#include "lra/folder_test_util.h"
#include "models/block_facts.h"
#include "models/conformance/conformance.h"

namespace lra {
namespace {

// configs/ with the tutorial's file among the blocks, as somebody who follows it has.
void UseConfigsWithAverage(const TestFolder& folder) {
  namespace fs = std::filesystem;
  const std::string configs = folder.File("configs");
  fs::copy(LRA_SOURCE_DIR "/configs", configs, fs::copy_options::recursive);
  fs::copy_file(LRA_SOURCE_DIR "/examples/average_block/average.textproto",
                configs + "/blocks/average.textproto");
  setenv("LRA_CONFIGS", configs.c_str(), 1);
}

TEST(AverageTest, KeepsEveryPromise) {
  const TestFolder folder;
  UseConfigsWithAverage(folder);
  for (const std::vector<std::string>& sets : {std::vector<std::string>{}, {"hidden_width=7"}}) {
    const auto options = LoadBlockOptions("average", sets);
    ASSERT_TRUE(options.ok()) << options.status();
    for (const auto& results :
         {CheckBlock("average", *options), CheckBlockInClassifier("average", *options)}) {
      ASSERT_TRUE(results.ok()) << results.status();
      for (const ConformanceResult& r : *results) {
        EXPECT_TRUE(r.passed) << r.id << ": " << r.measured << " > " << r.bound << " (" << r.detail
                              << ")";
      }
    }
  }
}

// By hand: E = 2, tokens (0, 2) and (4, 0); norms give (-1, 1) and (1, -1), whose average is 0, so
// that the maps' biases 0 add nothing. Causal, the first token sees itself alone.
TEST(AverageTest, AValueByHand) {
  const TestFolder folder;
  UseConfigsWithAverage(folder);
  ParameterStore parameters(1);
  BlockContext context;
  context.parameters = &parameters;
  context.model.set_width(2);
  context.model.set_norm_epsilon(1e-12f);
  context.attention.set_name(kNoAttention);
  context.options = *LoadBlockOptions("average", {"hidden_width=1"});
  const at::Tensor x = at::tensor({0.0f, 2.0f, 4.0f, 0.0f}).view({1, 2, 2});
  const auto plain = BlockRegistry::Get().Create("block", "average", context).value();
  EXPECT_TRUE(at::allclose(plain->Forward({x}), x));
  context.attention.set_causal(true);
  context.scope = "causal.";
  const auto causal = BlockRegistry::Get().Create("block", "average", context).value();
  for (const Parameter& p : parameters.parameters()) {
    if (p.name.find("causal.hidden.weight") == 0)
      p.value.detach().copy_(at::tensor({0.0f, 3.0f}).view({1, 2}));
    if (p.name.find("causal.output.weight") == 0)
      p.value.detach().copy_(at::tensor({1.0f, 2.0f}).view({2, 1}));
  }
  // relu(3) = 3, mapped to (3, 6).
  const at::Tensor expected = at::tensor({3.0f, 8.0f, 4.0f, 0.0f}).view({1, 2, 2});
  EXPECT_TRUE(at::allclose(causal->Forward({x}), expected)) << causal->Forward({x});
}

}  // namespace
}  // namespace lra
