#include "models/attention_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "models/interface/options.h"

namespace lra {
namespace {

using testing::HasSubstr;

std::vector<OwnedTensor> Owned(const std::string& name, const std::vector<std::string>& sets,
                               const AttentionSizes& sizes) {
  const auto options = LoadAttentionOptions(name, sets);
  EXPECT_TRUE(options.ok()) << options.status();
  const auto facts = DescribeAttention(name, *options, sizes);
  EXPECT_TRUE(facts.ok()) << facts.status();
  return facts->owned;
}

TEST(DescribeAttentionTest, ShapesInLetters) {
  const AttentionSizes sizes = {2, 32, 64, 2000};
  const auto linformer = Owned("linformer", {"sharing=NONE", "rank=7"}, sizes);
  ASSERT_EQ(linformer.size(), 2u);
  EXPECT_EQ(linformer[0].name, "key_projection");
  EXPECT_EQ(linformer[0].letters, "[H, 7, L]");
  EXPECT_EQ(linformer[0].shape, (std::vector<int64_t>{2, 7, 2000}));
  EXPECT_TRUE(linformer[0].is_trained);
  const auto performer = Owned("performer", {"features=24"}, sizes);
  ASSERT_EQ(performer.size(), 1u);
  EXPECT_EQ(performer[0].name, "projection");
  EXPECT_EQ(performer[0].letters, "[24, D]");
  EXPECT_FALSE(performer[0].is_trained);
  EXPECT_TRUE(Owned("linear", {}, sizes).empty());
}

// min(128, L) is neither: 100 at L = 100, 128 at L = 200.
TEST(DescribeAttentionTest, SizesThatFollowInAnotherWay) {
  const auto owned = Owned("linformer", {"rank=0"}, {2, 32, 64, 100});
  EXPECT_EQ(owned[0].letters, "[100 (of L), L]");
}

// H = 4 and D = 4 are told apart.
TEST(DescribeAttentionTest, EqualSizesAreToldApart) {
  const AttentionSizes sizes = {4, 4, 16, 16};
  EXPECT_EQ(Owned("cottention", {}, sizes)[0].letters, "[H]");
  EXPECT_EQ(Owned("performer", {"features=4"}, sizes)[0].letters, "[4, D]");
}

// Half a terabyte of logits.
TEST(DescribeAttentionTest, MakesShapesAndNoNumbers) {
  const auto owned = Owned("synthesizer", {"mode=RANDOM"}, {8, 64, 512, 1 << 17});
  ASSERT_EQ(owned.size(), 1u);
  EXPECT_EQ(owned[0].letters, "[H, L, L]");
  EXPECT_EQ(owned[0].shape, (std::vector<int64_t>{8, 1 << 17, 1 << 17}));
}

TEST(DescribeAttentionTest, ErrorsOfTheFactory) {
  const auto options = LoadAttentionOptions("linformer", {"rank=99"});
  ASSERT_TRUE(options.ok());
  const auto facts = DescribeAttention("linformer", *options, {2, 4, 8, 16});
  EXPECT_EQ(facts.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(facts.status().message()), HasSubstr("rank: is 99"));
}

TEST(TraitsInWordsTest, SaysWhatIsDeclared) {
  Traits traits;
  traits.is_padding_invariant = false;
  traits.padding_reason = "blocks count pads";
  traits.causality = Causality::kAlways;
  traits.has_weights = false;
  traits.is_length_bound = true;
  const auto list = TraitsInWords(traits);
  const std::map<std::string, std::string> words(list.begin(), list.end());
  EXPECT_EQ(words.at("padding"), "matters: blocks count pads");
  EXPECT_THAT(words.at("causal"), HasSubstr("always"));
  EXPECT_THAT(words.at("weights"), HasSubstr("none"));
  EXPECT_THAT(words.at("longest sequence"), HasSubstr("refused"));
  traits.has_weights = traits.is_row_stochastic = traits.is_exact_softmax = true;
  EXPECT_THAT(TraitsInWords(traits)[0].second, HasSubstr("exact softmax"));
}

// Where only one form exists, the words say why (promise S), and which option has the other form.
TEST(TraitsInWordsTest, SayWhyThereIsNoChoiceOfForm) {
  const auto traits_of = [](const std::string& name, const std::vector<std::string>& sets) {
    const auto facts = DescribeAttention(name, *LoadAttentionOptions(name, sets), {2, 32, 64, 256});
    EXPECT_TRUE(facts.ok()) << name << facts.status();
    return facts->traits;
  };
  struct Other {
    const char* name;
    std::vector<std::string> sets;
    const char* option;
  };
  for (const Other& other :
       {Other{"longformer", {}, "global_tokens=0"},
        Other{"sparse", {"variant=LRA2020"}, "opens_first_token=true"},
        Other{"sparse", {"variant=LRA2020", "opens_first_token=true"}, "opens_first_token=false"},
        Other{"local", {"variant=LRA2020"}, "variant=PAPER"},
        Other{"sinkhorn", {"variant=LRA2020"}, "variant=PAPER"},
        Other{"rfa", {"is_gated=true"}, "is_gated=false"},
        Other{"s4d", {"bidirectional=false"}, "bidirectional=true"}}) {
    const Traits traits = traits_of(other.name, other.sets);
    EXPECT_NE(traits.causality, Causality::kOptional) << other.name;
    EXPECT_THAT(traits.causal_reason, HasSubstr("attention.options." + std::string(other.option)));
    EXPECT_THAT(TraitsInWords(traits)[3].second, HasSubstr(traits.causal_reason));
  }
}

TEST(TraitsInWordsTest, EveryRegisteredAttention) {
  for (const std::string& name : AttentionRegistry::Get().Names()) {
    const auto options = LoadAttentionOptions(name);
    ASSERT_TRUE(options.ok()) << options.status();
    const auto facts = DescribeAttention(name, *options, {2, 32, 64, 256});
    ASSERT_TRUE(facts.ok()) << name << facts.status();
    for (const auto& [trait, words] : TraitsInWords(facts->traits))
      EXPECT_NE(words, "") << name << ": " << trait;
  }
}

}  // namespace
}  // namespace lra
