#include "eval/example_scores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "datasets/npy.h"
#include "eval/run_record.h"
#include "lra/files.h"
#include "lra/folder_test_util.h"

namespace lra {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pointwise;

const Metric& Named(const std::string& name) { return **FindMetric(name); }

// Ten examples of two classes: right but for the third and the last; logits {0, 1} or {1, 0}.
class ExampleScoresTest : public ::testing::Test {
 protected:
  SplitResult Store(const std::string& metric = "", const std::string& file = "predictions.npy") {
    std::vector<float> logits;
    const std::vector<int32_t> labels = {0, 1, 0, 1, 0, 1, 0, 1, 0, 1};
    for (size_t i = 0; i < labels.size(); ++i) {
      const bool is_right = i != 2 && i != 9;
      const int guess = is_right ? labels[i] : 1 - labels[i];
      logits.push_back(guess == 0 ? 1.0f : 0.0f);
      logits.push_back(guess == 1 ? 1.0f : 0.0f);
    }
    TaskSpec spec;
    spec.set_classes(2);
    spec.set_metric_name(metric);
    const auto result = StorePredictions(
        folder_.path(),
        {.split = "test", .file = file, .logits = logits, .labels = labels, .spec = &spec});
    EXPECT_TRUE(result.ok()) << result.status();
    return *result;
  }
  std::string Path(const std::string& file) const { return JoinPath(folder_.path(), file); }

  TestFolder folder_;
};

TEST_F(ExampleScoresTest, RightAnswersArePackedAsNumPyPacksThem) {
  const SplitResult result = Store();
  ASSERT_EQ(result.example_scores_size(), 1);
  EXPECT_EQ(result.example_scores(0).metric(), kAccuracy);
  EXPECT_EQ(result.example_scores(0).file(), "accuracy.npy");
  const auto file = MappedNpy::Open(Path("accuracy.npy"));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_THAT(file->values<uint8_t>(), ElementsAre(0b11011111, 0b10000000));
  const auto values = ReadExampleScores(folder_.path(), result, Named(kAccuracy));
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_THAT(values->value(), ElementsAre(1, 1, 0, 1, 1, 1, 1, 1, 1, 0));
}

TEST_F(ExampleScoresTest, OtherMetricsKeepTheirValuesBesideAccuracys) {
  const SplitResult result = Store(kNats, "predictions-validation-last.npy");
  ASSERT_EQ(result.example_scores_size(), 2);
  EXPECT_EQ(result.example_scores(0).file(), "nats-validation-last.npy");
  EXPECT_EQ(result.example_scores(1).file(), "accuracy-validation-last.npy");
  const auto values = ReadExampleScores(folder_.path(), result, Named(kNats));
  ASSERT_TRUE(values.ok() && values->has_value()) << values.status();
  EXPECT_NEAR((**values)[0], std::log1p(std::exp(-1.0)), 1e-12);
  EXPECT_NEAR((**values)[2], std::log1p(std::exp(1.0)), 1e-12);
}

TEST_F(ExampleScoresTest, WhatIsMissingIsNoError) {
  const SplitResult result = Store();
  EXPECT_FALSE(ReadExampleScores(folder_.path(), result, Named(kNats))->has_value());
  ASSERT_TRUE(RemoveAll(Path("accuracy.npy")).ok());
  EXPECT_FALSE(ReadExampleScores(folder_.path(), result, Named(kAccuracy))->has_value());
  EXPECT_FALSE(ReadExampleScores(folder_.path(), SplitResult(), Named(kAccuracy))->has_value());
}

// Texts of one, four and two tokens; of labels there are no bits a token.
TEST_F(ExampleScoresTest, OfTokensNatsBitsAndPerplexityGiveEachOther) {
  ExampleSums sums;
  sums.counts = {{kTargets, {1, 4, 2}}, {kTokens, {1, 4, 2}}, {kCorrect, {1, 2, 0}}};
  sums.totals = {{kNats, {0.5, 2, 0.25}}};
  const std::vector<const Metric*> metrics = {&Named(kNats), &Named(kBitsPerToken),
                                              &Named("perplexity")};
  SplitResult result;
  for (const Metric* const stored : metrics) {
    result.Clear();
    result.set_examples(3);
    *result.mutable_sums() = sums.Total();
    ASSERT_TRUE(
        StoreExampleScores(folder_.path(), "predictions.npy", {&stored, 1}, sums, &result).ok());
    for (const Metric* const read : metrics) {
      const auto values = ReadExampleScores(folder_.path(), result, *read);
      ASSERT_TRUE(values.ok() && values->has_value()) << stored->name() << " to " << read->name();
      EXPECT_THAT(**values, Pointwise(DoubleNear(1e-14), *read->ValuesOf(sums)))
          << stored->name() << " to " << read->name();
    }
    EXPECT_FALSE(ReadExampleScores(folder_.path(), result, Named("token_accuracy"))->has_value());
  }
  result.mutable_sums()->mutable_counts()->erase(kTokens);
  EXPECT_FALSE(ReadExampleScores(folder_.path(), result, Named(kBitsPerToken))->has_value());
}

TEST_F(ExampleScoresTest, WhatWasChangedIsRefused) {
  SplitResult result = Store();
  const auto refusal = [&] {
    const auto values = ReadExampleScores(folder_.path(), result, Named(kAccuracy));
    EXPECT_EQ(values.status().code(), absl::StatusCode::kDataLoss);
    return std::string(values.status().message());
  };
  const SplitResult stored = result;
  // One more right answer than was counted.
  (*result.mutable_sums()->mutable_counts())[kCorrect] = 7;
  EXPECT_THAT(refusal(), HasSubstr("accuracy.npy: the mean of its values is 0.8"));
  result = stored;
  result.set_examples(17);
  EXPECT_THAT(refusal(), HasSubstr("holds 2 values |u1; 17 examples need 3"));
  result = stored;
  std::string bytes = *ReadFile(Path("accuracy.npy"));
  bytes.back() ^= 0x40;
  ASSERT_TRUE(WriteFileAtomically(Path("accuracy.npy"), bytes).ok());
  EXPECT_THAT(refusal(), HasSubstr("accuracy.npy: was changed: SHA-256"));
}

}  // namespace
}  // namespace lra
