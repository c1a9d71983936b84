#include "models/listing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "lra/config.h"

namespace lra {
namespace {

using testing::HasSubstr;

const ExperimentChoice kSmoke = {.task = "listops", .preset = "smoke"};

TaskSpec Spec() {
  TaskSpec spec;
  spec.set_vocabulary_size(17);
  spec.set_classes(10);
  spec.set_max_length_tokens(2000);
  return spec;
}

TEST(ListAttentionTest, AtTheSizesOfThePreset) {
  ExperimentChoice choice = kSmoke;
  choice.attention = "linformer";
  const auto listed = ListAttention(choice);
  ASSERT_TRUE(listed.ok()) << listed.status();
  EXPECT_EQ(listed->description, *ConfigDescription("attentions", "linformer"));
  EXPECT_EQ(listed->sizes.heads, 2);
  EXPECT_EQ(listed->sizes.head_width, 16);
  EXPECT_EQ(listed->sizes.model_width, 32);
  EXPECT_EQ(listed->sizes.max_length_tokens, 2000);
  EXPECT_EQ(listed->facts.owned.front().shape.back(), 2000);
  std::map<std::string, std::string> options;
  for (const OptionFact& option : listed->options) options[option.name] = option.value;
  EXPECT_EQ(options.at("sharing"), "KEY_VALUE");
  choice.attention = "linformr";
  EXPECT_THAT(std::string(ListAttention(choice).status().message()), HasSubstr("\"linformer\""));
}

// Under POWER_OF_TWO batches grow beyond the view's longest text, and so must what is made for
// them.
TEST(ListAttentionTest, LongestSequenceIsTheLongestBatch) {
  ExperimentChoice choice = kSmoke;
  choice.attention = "linformer";
  choice.sets = {"view.pad_to=POWER_OF_TWO"};
  EXPECT_EQ(ListAttention(choice)->sizes.max_length_tokens, 2048);
}

TEST(ListModelsTest, OneRefusalHidesNoOther) {
  const auto models = ListModels({"linear", "linformr"}, kSmoke, Spec());
  ASSERT_TRUE(models.ok()) << models.status();
  ASSERT_EQ(models->size(), 2u);
  EXPECT_EQ((*models)[0].attention, "linear");
  EXPECT_EQ((*models)[0].parameters->difference, 0);  // linear attention owns nothing
  EXPECT_FALSE((*models)[1].parameters.ok());
  EXPECT_EQ(ListModels({"linformr"}, kSmoke, Spec()).status(), (*models)[1].parameters.status());
}

}  // namespace
}  // namespace lra
