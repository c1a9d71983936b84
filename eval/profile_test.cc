#include "eval/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "eval/run_record.h"
#include "lra/files.h"
#include "lra/folder_test_util.h"

namespace lra {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Logits of three classes whose largest is the answer.
std::vector<float> Logits(const std::vector<int>& answers) {
  std::vector<float> logits(answers.size() * 3, 0);
  for (size_t i = 0; i < answers.size(); ++i) logits[3 * i + answers[i]] = 1;
  return logits;
}

class ProfileTest : public testing::Test {
 protected:
  ProfileTest() {
    record_.mutable_spec()->set_classes(3);
    record_.mutable_data()->set_task("toy");
    record_.set_method("linear");
    input_ = {.record = &record_,
              .split = "test",
              .logits = run_,
              .labels = labels_,
              .strata = absl::MakeConstSpan(&strata_, 1),
              .ladder = {}};
  }
  Profile Make() {
    auto profile = MakeProfile(input_);
    EXPECT_TRUE(profile.ok()) << profile.status();
    return *std::move(profile);
  }
  RunRecord record_;
  const std::vector<int32_t> labels_ = {0, 1, 2, 0, 1, 2, 0, 1};
  const std::vector<float> run_ = Logits({0, 1, 2, 1, 1, 0, 0, 1});  // six of eight
  const Strata strata_ = {
      "size", "how large it is", {"small", "large", "huge"}, {0, 0, 1, 1, 0, 1, 0, 0}};
  const std::vector<float> weak_ = Logits({0, 0, 0, 0, 0, 0, 0, 0});    // three of eight
  const std::vector<float> strong_ = Logits({0, 1, 2, 0, 1, 2, 0, 0});  // seven of eight
  ProfileInput input_;
};

TEST_F(ProfileTest, CountsEachStratum) {
  const Profile profile = Make();
  EXPECT_EQ(profile.whole.examples, 8);
  EXPECT_DOUBLE_EQ(profile.whole.value, 0.75);
  ASSERT_EQ(profile.tables.size(), 1u);
  const std::vector<ProfileRow>& rows = profile.tables[0].rows;
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].examples, 5);
  EXPECT_DOUBLE_EQ(rows[0].value, 1);
  EXPECT_EQ(rows[1].examples, 3);
  EXPECT_DOUBLE_EQ(rows[1].value, 1.0 / 3);
  // Clopper-Pearson of 5 of 5: from 0.025^(1/5).
  EXPECT_NEAR(rows[0].interval->low, 0.47818, 1e-4);
  EXPECT_DOUBLE_EQ(rows[0].interval->high, 1);
  EXPECT_EQ(rows[2].examples, 0);
  EXPECT_FALSE(rows[2].interval.has_value());
}

// Two neighbours count as one: 2, 2, 0 and 2 of them are right. The four blocks' variance of the
// mean is 4 / 3 x 3 / 64; "small" has 2, 1 and 2 examples of three of them, of which 2, 0 and 2 are
// right, with 3 / 2 x 0.96 / 25. Clopper-Pearson is at 1.893 and 1.446 examples.
TEST_F(ProfileTest, NeighboursCountAsBlocksOfTheSplit) {
  const std::vector<float> run = Logits({0, 1, 2, 0, 0, 0, 0, 1});
  input_.logits = run;
  input_.block_examples = 2;
  const Profile profile = Make();
  EXPECT_DOUBLE_EQ(profile.whole.value, 0.75);
  EXPECT_NEAR(profile.whole.interval->low, 0.053303136923, 1e-9);
  EXPECT_NEAR(profile.whole.interval->high, 0.999853277647, 1e-9);
  const ProfileRow& small = profile.tables[0].rows[0];
  EXPECT_DOUBLE_EQ(small.value, 0.8);
  EXPECT_NEAR(small.interval->low, 0.032494805993, 1e-9);
  EXPECT_NEAR(small.interval->high, 0.999998904512, 1e-9);
  EXPECT_THAT(ProfileText(profile), HasSubstr("intervals are of blocks of 2 examples, or of"));
  EXPECT_EQ(nlohmann::json::parse(ProfileJson(profile))["block_examples"], 2);
  input_.block_examples = 1;
  EXPECT_THAT(ProfileText(Make()), Not(HasSubstr("blocks")));
}

TEST_F(ProfileTest, ARunThatScoredTheFirstExamplesOnly) {
  input_.logits = absl::MakeConstSpan(run_).subspan(0, 4 * 3);
  input_.ladder = {{"weak", weak_}};
  const Profile profile = Make();
  EXPECT_EQ(profile.whole.examples, 4);
  EXPECT_DOUBLE_EQ(profile.whole.value, 0.75);
  EXPECT_EQ(profile.tables[0].rows[0].examples, 2);
  EXPECT_DOUBLE_EQ(profile.ladder[0].value, 0.5);
}

TEST_F(ProfileTest, TheLadder) {
  input_.ladder = {{"strong", strong_}, {"weak", weak_}};
  const Profile profile = Make();
  ASSERT_EQ(profile.ladder.size(), 2u);
  EXPECT_EQ(profile.ladder[0].name, "weak");
  EXPECT_DOUBLE_EQ(profile.ladder[0].value, 0.375);
  EXPECT_DOUBLE_EQ(profile.ladder[0].agreement, 3.0 / 8);
  EXPECT_DOUBLE_EQ(profile.ladder[1].value, 0.875);
  EXPECT_DOUBLE_EQ(profile.ladder[1].agreement, 5.0 / 8);
}

TEST_F(ProfileTest, ThePlaceOnTheLadder) {
  Profile profile = Make();
  EXPECT_EQ(LadderPlace(profile), "");
  profile.ladder = {{"depth 1", 0.60, 0}, {"depth 2", 0.73, 0}};
  const auto place = [&](double value, double margin) {
    profile.whole.value = value;
    profile.whole.interval = Interval{value - margin, value + margin};
    return LadderPlace(profile);
  };
  EXPECT_EQ(place(0.61, 0.02), "as depth 1");
  EXPECT_EQ(place(0.66, 0.02), "between depth 1 and depth 2");
  EXPECT_EQ(place(0.66, 0.10), "as depth 1") << "both are within; the nearer one";
  EXPECT_EQ(place(0.40, 0.02), "below depth 1");
  EXPECT_EQ(place(0.90, 0.02), "above depth 2");
}

TEST_F(ProfileTest, SizesThatDoNotFit) {
  Strata shorter = strata_;
  shorter.of.pop_back();
  input_.strata = absl::MakeConstSpan(&shorter, 1);
  EXPECT_THAT(std::string(MakeProfile(input_).status().message()),
              HasSubstr("size has 7 values, 8 are needed"));
  input_.strata = {};
  input_.labels = absl::MakeConstSpan(labels_).subspan(0, 7);
  EXPECT_THAT(std::string(MakeProfile(input_).status().message()),
              HasSubstr("the split has 7 values, 8 are needed"));
}

TEST_F(ProfileTest, TextAndJson) {
  input_.ladder = {{"weak", weak_}, {"strong", strong_}};
  const Profile profile = Make();
  const std::string text = ProfileText(profile);
  EXPECT_THAT(text, HasSubstr("toy linear test: 75.00 % [34.91, 96.81], 8 examples"));
  EXPECT_THAT(text, HasSubstr("By size: how large it is."));
  EXPECT_THAT(text, HasSubstr("  small         5  100.00 %  [47.82, 100.00]\n"));
  EXPECT_THAT(text, HasSubstr("  huge          0\n"));
  EXPECT_THAT(text, HasSubstr("The score is as strong."));
  const auto json = nlohmann::json::parse(ProfileJson(profile));
  EXPECT_EQ(json["tables"][0]["rows"][1]["examples"], 3);
  EXPECT_FALSE(json["tables"][0]["rows"][2].contains("value"));
  EXPECT_EQ(json["ladder"][1]["agreement"], 0.625);
  EXPECT_EQ(json["place"], "as strong");
}

TEST_F(ProfileTest, NamesOfAnyAlphabetAreAligned) {
  Profile profile = Make();
  profile.tables[0].rows[0].name = "m\u00f6rk";
  const std::string text = ProfileText(profile);
  EXPECT_THAT(text, HasSubstr("  m\u00f6rk          5  100.00 %"));
  EXPECT_THAT(text, HasSubstr("  large         3   33.33 %"));
}

TEST_F(ProfileTest, SaysWhenThereIsNothingToSay) {
  input_.strata = {};
  EXPECT_THAT(ProfileText(Make()), HasSubstr("cannot tell more: the task names no way to sort"));
}

TEST_F(ProfileTest, StoredPredictions) {
  const TestFolder folder;
  const auto stored = StorePredictions(
      folder.path(), {.split = "test", .logits = run_, .labels = labels_, .spec = &record_.spec()});
  ASSERT_TRUE(stored.ok()) << stored.status();
  *record_.add_results() = *stored;
  EXPECT_EQ(*StoredLogits(folder.path(), record_, "test"), run_);
  // What float16 rounds is read as it was rounded: 0.1 is 0x2e66.
  const std::vector<float> logits = {0.1f, 3, -2};
  const std::vector<int32_t> labels = {1};
  const auto half = StorePredictions(folder.path(), {.split = "validation",
                                                     .file = "half.npy",
                                                     .logits = logits,
                                                     .labels = labels,
                                                     .spec = &record_.spec(),
                                                     .half_logits = true});
  ASSERT_TRUE(half.ok()) << half.status();
  RunRecord other = record_;
  *other.mutable_results(0) = *half;
  EXPECT_EQ(*StoredLogits(folder.path(), other, "validation"),
            (std::vector<float>{0.0999755859375f, 3, -2}));
  EXPECT_THAT(std::string(StoredLogits(folder.path(), record_, "validation").status().message()),
              HasSubstr("no predictions of split validation; `lra eval"));
  ASSERT_TRUE(RemoveAll(folder.File("predictions.npy")).ok());
  EXPECT_EQ(StoredLogits(folder.path(), record_, "test").status().code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace lra
