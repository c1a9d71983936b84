#include "models/interface/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lra/config.h"
#include "models/attention/linformer.pb.h"
#include "models/interface/create.h"

namespace lra {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(LoadAttentionOptionsTest, SetsBothWaysAndRefuses) {
  for (const char* set : {"rank=5", "attention.options.rank=5"}) {
    LinformerOptions options;
    ASSERT_TRUE(LoadAttentionOptions("linformer", {set})->UnpackTo(&options));
    EXPECT_EQ(options.rank(), 5);
    EXPECT_EQ(options.sharing(), LinformerOptions::KEY_VALUE);  // of the config file
  }
  const auto message = [](const char* name, const char* set) {
    const auto options = LoadAttentionOptions(name, {set});
    EXPECT_EQ(options.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(options.status().message());
  };
  EXPECT_THAT(message("linformr", "rank=5"), HasSubstr("did you mean \"linformer\""));
  EXPECT_THAT(message("linformer", "rnak=5"), HasSubstr("did you mean \"rank\""));
  EXPECT_THAT(message("linformer", "rank=-5"), HasSubstr("rank"));
}

TEST(LoadAttentionOptionsTest, AreWhatAFactoryDemands) {
  ParameterStore parameters(1);
  AttentionContext context;
  context.max_length_tokens = 16;
  context.parameters = &parameters;
  EXPECT_FALSE(AttentionRegistry::Get().Create("attention", "linformer", context).ok());
  context.options = LoadAttentionOptions("linformer").value();
  const auto made = AttentionRegistry::Get().Create("attention", "linformer", context);
  EXPECT_TRUE(made.ok()) << made.status();
}

TEST(CreateAttentionTest, NamesTheAttentionWhoseFactoryThrows) {
  ParameterStore parameters(1);
  AttentionContext context;
  context.heads = -2;  // LibTorch refuses the shape
  context.max_length_tokens = 16;
  context.parameters = &parameters;
  context.options = LoadAttentionOptions("linformer", {"sharing=NONE"}).value();
  EXPECT_THAT(std::string(CreateAttention("linformer", context).status().message()),
              StartsWith("attention linformer: LibTorch: "));
}

// Whoever registers an attention owes it a file, and whoever has a file an attention.
TEST(AttentionFilesTest, BelongToTheRegisteredAttentions) {
  EXPECT_EQ(ConfigNames("attentions"), AttentionRegistry::Get().Names());
}

}  // namespace
}  // namespace lra
