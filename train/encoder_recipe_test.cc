#include "train/encoder_recipe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "eval/run_record.h"
#include "lra/experiment.h"
#include "lra/folder_test_util.h"
#include "models/base/parameters.h"
#include "run_folder/checkpoint.h"

namespace lra {
namespace {

using ::testing::HasSubstr;

ExperimentConfig Config(const std::string& attention, uint32_t seed = 0) {
  auto resolved = ResolveExperiment({"listops", attention, "", "smoke", "", {}});
  EXPECT_TRUE(resolved.ok()) << resolved.status();
  if (!resolved.ok()) return {};
  resolved->config.set_seed(seed);
  return resolved->config;
}

CheckpointState State(const std::string& attention, uint32_t seed = 0) {
  CheckpointState state;
  *state.mutable_config() = Config(attention, seed);
  auto& splits = *state.mutable_data()->mutable_split_fingerprint();
  splits["train"] = "1a", splits["validation"] = "2b", splits["test"] = "3c";
  return state;
}

constexpr EncoderName kOfAttention = {.is_of_attention = true};

std::string RecipeOf(const CheckpointState& other, const ExperimentConfig& config,
                     const EncoderName& name) {
  const absl::StatusOr<std::string> recipe = EncoderRecipe(other, config, name);
  EXPECT_TRUE(recipe.ok()) << recipe.status();
  return recipe.value_or("");
}

// A run under protocol strong, which turns queries and keys where a method has them.
std::string RecipeUnderStrong(const std::string& attention, std::vector<std::string> sets = {}) {
  sets.push_back("model.layers=2");
  const auto resolved = ResolveExperiment({.task = "listops",
                                           .attention = attention,
                                           .protocol = "strong",
                                           .preset = "small",
                                           .sets = sets});
  EXPECT_TRUE(resolved.ok()) << resolved.status();
  if (!resolved.ok()) return "";
  CheckpointState state = State(attention);
  *state.mutable_config() = resolved->config;
  state.mutable_provenance()->insert(resolved->provenance.begin(), resolved->provenance.end());
  return RecipeOf(state, resolved->config, kOfAttention);
}

TEST(CheckEncoderPath, AnAttentionsEncoderIsASeedsToo) {
  EXPECT_EQ(CheckEncoderPath("runs/x"), absl::OkStatus());
  EXPECT_EQ(CheckEncoderPath("runs/x-s{seed}"), absl::OkStatus());
  EXPECT_EQ(CheckEncoderPath("runs/{attention}-s{seed}"), absl::OkStatus());
  EXPECT_EQ(std::string(CheckEncoderPath("runs/{attention}").message()),
            "--init-from runs/{attention}: it has {attention} and no {seed}, for encoders that "
            "each seed has of its own; name one run, or one for each seed");
}

class FindOwnEncoderTest : public testing::Test {
 protected:
  // A finished or unfinished run with one checkpoint; returns the digest of its weights.
  std::string Run(const std::string& name, const CheckpointState& of, bool has_ended = true) {
    CheckpointState state = of;
    ParameterStore parameters(of.config().seed());
    parameters.Create("embedding.token.weight", {1}, Initializer::Normal(1));
    const std::string run = folder_.File(name);
    EXPECT_TRUE(SaveCheckpoint(run, parameters, {}, &state).ok());
    if (has_ended) {
      RunRecord record;
      *record.mutable_config() = state.config();
      record.set_selected_step(state.step());
      EXPECT_TRUE(WriteRunRecord(run, record).ok());
    }
    return state.weights_sha256();
  }

  absl::StatusOr<OwnEncoder> Find(const std::string& path, const ExperimentConfig& config) const {
    return FindOwnEncoder(folder_.File(path), config);
  }

  std::string Refusal(const std::string& path, const ExperimentConfig& config) const {
    const auto found = Find(path, config);
    EXPECT_FALSE(found.ok());
    return std::string(found.status().message());
  }

  const TestFolder folder_;
};

TEST_F(FindOwnEncoderTest, PutsSeedAndAttentionInTheirPlaces) {
  const std::string digest = Run("linear-s3", State("linear", 3));
  ExperimentConfig block = Config("none", 1);
  block.mutable_block()->set_name("dilated_convolution");
  CheckpointState other;
  *other.mutable_config() = block;
  Run("dilated_convolution-s1", other);
  const auto linear = Find("{attention}-s{seed}", Config("linear", 3));
  ASSERT_TRUE(linear.ok()) << linear.status();
  EXPECT_EQ(linear->weights_sha256, digest);
  EXPECT_EQ(linear->checkpoint, CheckpointPath(folder_.File("linear-s3"), 0));
  EXPECT_EQ(linear->recipe, RecipeOf(State("linear"), Config("linear"), kOfAttention));
  EXPECT_EQ(Find("linear-s{seed}", Config("linear", 3))->recipe,
            RecipeOf(State("linear"), Config("linear"), {}));
  EXPECT_TRUE(Find("{attention}-s{seed}", block).ok());
  EXPECT_THAT(Refusal("{attention}-s{seed}", Config("relu", 3)),
              HasSubstr("relu-s3: no such checkpoint or run folder"));
}

TEST_F(FindOwnEncoderTest, TheStepCountsWhereThePathNamesIt) {
  Run("x-s3", State("linear", 3));
  const auto selected = Find("x-s{seed}", Config("linear", 3));
  const auto named = Find("x-s{seed}/checkpoint/step-0", Config("linear", 3));
  ASSERT_TRUE(selected.ok() && named.ok());
  EXPECT_EQ(selected->weights_sha256, named->weights_sha256);
  EXPECT_NE(selected->recipe, named->recipe);
}

TEST_F(FindOwnEncoderTest, RefusesEncodersThatAreNotTheSeedsOrNotDone) {
  Run("x-s3", State("linear", 4));
  EXPECT_THAT(Refusal("x-s{seed}", Config("linear", 3)),
              HasSubstr("it is of seed 4, and the run of seed 3; with {seed} each starts from the "
                        "encoder of its own seed"));
  Run("y-s3", State("linear", 3), false);
  EXPECT_THAT(Refusal("y-s{seed}", Config("linear", 3)),
              HasSubstr("y-s3 is unfinished: its newest checkpoint, step 0 of "));
}

TEST(EncoderRecipe, SeedsAndScoredExamplesDoNotCount) {
  const ExperimentConfig config = Config("linear");
  const std::string recipe = RecipeOf(State("linear"), config, kOfAttention);
  EXPECT_EQ(recipe.size(), 64u);
  EXPECT_EQ(RecipeOf(State("linear", 5), config, kOfAttention), recipe);
  EXPECT_EQ(RecipeOf(State("linear"), Config("linear", 7), kOfAttention), recipe);
  CheckpointState other = State("linear");
  (*other.mutable_data()->mutable_split_fingerprint())["test"] = "4d";
  other.set_step(400);  // which a run selects by validation
  EXPECT_EQ(RecipeOf(other, config, kOfAttention), recipe);
  const EncoderName step = {.is_of_attention = true, .is_of_step = true};
  EXPECT_NE(RecipeOf(other, config, step), RecipeOf(State("linear"), config, step));
}

TEST(EncoderRecipe, SettingsDataAndLabelsCount) {
  const ExperimentConfig config = Config("linear");
  const std::string recipe = RecipeOf(State("linear"), config, kOfAttention);
  CheckpointState longer = State("linear"), elsewhere = State("linear"), early = State("linear");
  longer.mutable_config()->mutable_train()->set_steps(77);
  EXPECT_NE(RecipeOf(longer, config, kOfAttention), recipe);
  (*elsewhere.mutable_data()->mutable_split_fingerprint())["train"] = "4d";
  EXPECT_NE(RecipeOf(elsewhere, config, kOfAttention), recipe);
  early.mutable_config()->mutable_pretrain()->set_examples(8);
  const std::string without = RecipeOf(early, config, kOfAttention);
  early.mutable_pretrain()->set_steps(2);
  EXPECT_NE(RecipeOf(early, config, kOfAttention), without);
}

// Each method goes on with its own encoder in the first two, both with one in the last.
TEST(EncoderRecipe, AnAttentionCountsWhereItIsAnother) {
  const std::string linear = RecipeOf(State("linear"), Config("linear"), kOfAttention);
  EXPECT_EQ(RecipeOf(State("transformer"), Config("transformer"), kOfAttention), linear);
  const std::string swapped = RecipeOf(State("transformer"), Config("linear"), kOfAttention);
  EXPECT_NE(swapped, linear);
  EXPECT_NE(RecipeOf(State("relu"), Config("linear"), kOfAttention), swapped);
  // All attentions begin from softmax's: they share a recipe, which names it.
  EXPECT_EQ(RecipeOf(State("transformer"), Config("transformer"), {}), swapped);
}

TEST(EncoderRecipe, WhatTheProtocolSaysOfOneMethodDoesNotCount) {
  const std::string linear = RecipeUnderStrong("linear");
  EXPECT_EQ(RecipeUnderStrong("no_mixing"), linear);  // it has no positions there
  EXPECT_NE(RecipeUnderStrong("no_mixing", {"train.steps=77"}), linear);
  EXPECT_NE(RecipeUnderStrong("linear", {"model.positions=NO_POSITIONS"}), linear);
}

// What an encoder began from: by its weights or, where these were the seed's own, by recipe.
TEST(EncoderRecipe, GoesBackToTheFirstStage) {
  const ExperimentConfig config = Config("linear");
  CheckpointState a = State("linear"), b = State("linear", 1);
  a.mutable_config()->set_encoder_weights_sha256("0a");
  b.mutable_config()->set_encoder_weights_sha256("0b");
  EXPECT_NE(RecipeOf(a, config, kOfAttention), RecipeOf(b, config, kOfAttention));
  a.mutable_config()->set_encoder_recipe("5e");
  b.mutable_config()->set_encoder_recipe("5e");
  EXPECT_EQ(RecipeOf(a, config, kOfAttention), RecipeOf(b, config, kOfAttention));
  b.mutable_config()->set_encoder_recipe("6f");
  EXPECT_NE(RecipeOf(a, config, kOfAttention), RecipeOf(b, config, kOfAttention));
}

}  // namespace
}  // namespace lra
