#include "tasks/linear_baseline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "absl/strings/str_cat.h"
#include "datasets/data_test_util.h"
#include "lra/folder_test_util.h"
#include "lra/random.h"
#include "tasks/baseline.h"
#include "tasks/import_test_util.h"
#include "tasks/pair_features.h"
#include "tasks/prepare.h"

namespace lra {
namespace {

// A small task of texts or pictures.
TaskSpec ContentSpec(TaskSpec::Content content, bool is_pair = false) {
  TaskSpec spec;
  spec.set_name("content");
  spec.set_version(1);
  spec.set_content(content);
  spec.set_vocabulary_size(256);
  spec.set_max_length_tokens(content == TaskSpec::TEXT ? 64 : 16);
  if (content == TaskSpec::GREY_IMAGE) spec.set_image_side_pixels(4);
  spec.set_classes(2);
  spec.set_is_pair(is_pair);
  return spec;
}

using MakeExample = std::function<EncodedExample(RandomStream* random)>;

class LinearBaselineTest : public testing::Test {
 protected:
  // Correct ones of 300 test examples, trained on 300 others.
  int Score(const std::string& name, const TaskSpec& spec, const MakeExample& make,
            const BaselineMethod& method) {
    std::vector<TestSplit> splits;
    for (const char* split : {"train", "validation", "test"}) {
      RandomStream random(static_cast<uint32_t>(splits.size()), RandomDomain::kTest, {0, 0, 0});
      splits.push_back({split, std::vector<EncodedExample>(300)});
      for (EncodedExample& example : splits.back().examples) example = make(&random);
    }
    WriteTestData(folder_.File(name), spec, splits);
    const auto data = Dataset::Open(folder_.File(name), {});
    EXPECT_TRUE(data.ok()) << data.status();
    const SplitView train = *SplitView::Create(*data, "train", DataView());
    const SplitView validation = *SplitView::Create(*data, "validation", DataView());
    const SplitView test = *SplitView::Create(*data, "test", DataView());
    const std::vector<const SplitView*> scored = {&test};
    std::vector<BaselineLogits> logits;
    for (int threads : {1, 2}) {
      auto predicted =
          method.Predict({train, validation, scored}, {.threads = threads, .quiet = true});
      EXPECT_TRUE(predicted.ok()) << predicted.status();
      logits.push_back(*std::move(predicted));
    }
    EXPECT_EQ(logits[0], logits[1]) << name << ": threads change the result";
    int correct = 0;
    for (int64_t i = 0; i < test.size(); ++i) {
      const float* row = logits[0][0].data() + 2 * i;
      EXPECT_NEAR(std::exp(row[0]) + std::exp(row[1]), 1, 1e-5);
      correct += (row[1] > row[0]) == (test.label(i) == 1) ? 1 : 0;
    }
    return correct;
  }
  const TestFolder folder_;
};

// Twenty letters m to v with a word among them: "good" or "evil".
EncodedExample Review(RandomStream* random) {
  EncodedExample example;
  example.label = static_cast<int32_t>(random->Below(2));
  const std::string word = example.label == 1 ? "good" : "evil";
  for (int i = 0; i < 20; ++i) example.tokens.push_back('m' + random->Below(10));
  example.tokens.insert(example.tokens.begin() + random->Below(20), word.begin(), word.end());
  return example;
}

TEST_F(LinearBaselineTest, UnitsTellTextsOfUnlikeLettersApart) {
  EXPECT_GE(Score("review", ContentSpec(TaskSpec::TEXT), Review, *MakeBagOfUnits()), 295);
}

// A pass that was chosen on the test split would be the one that suits its labels.
TEST_F(LinearBaselineTest, NothingIsChosenOnTheTestSplit) {
  const TaskSpec spec = ContentSpec(TaskSpec::TEXT);
  DataView view;
  view.set_split(DataView::TEST_AS_VALIDATION);
  std::vector<BaselineLogits> logits;
  for (const bool are_exchanged : {false, true}) {
    std::vector<TestSplit> splits;
    for (const char* name : {"train", "test"}) {
      RandomStream random(static_cast<uint32_t>(splits.size()), RandomDomain::kTest, {0, 0, 0});
      splits.push_back({name, std::vector<EncodedExample>(100)});
      for (EncodedExample& example : splits.back().examples) {
        example = Review(&random);
        example.label = static_cast<int32_t>(random.Below(2));  // of no use to anybody
        if (splits.size() == 2 && are_exchanged) example.label = 1 - example.label;
      }
    }
    const std::string path = folder_.File(are_exchanged ? "exchanged" : "plain");
    WriteTestData(path, spec, splits);
    const Dataset data = *Dataset::Open(path, {});
    const SplitView train = *SplitView::Create(data, "train", view);
    const SplitView validation = *SplitView::Create(data, "validation", view);
    const SplitView test = *SplitView::Create(data, "test", view);
    const std::vector<const SplitView*> scored = {&test};
    logits.push_back(
        MakeBagOfUnits()->Predict({train, validation, scored}, {.quiet = true}).value());
  }
  EXPECT_EQ(logits[0], logits[1]);
}

TEST_F(LinearBaselineTest, UnitsIgnoreOrderAndNgramsDoNot) {
  // Both labels have the same letters.
  const auto make = [](RandomStream* random) {
    EncodedExample example;
    example.label = static_cast<int32_t>(random->Below(2));
    const std::string word = example.label == 1 ? "abcd" : "dcba";
    for (int i = 0; i < 20; ++i) example.tokens.push_back('m' + random->Below(10));
    example.tokens.insert(example.tokens.begin() + random->Below(20), word.begin(), word.end());
    return example;
  };
  const TaskSpec spec = ContentSpec(TaskSpec::TEXT);
  // 300 draws of a fair coin stay within 150 +- 40 in all but 4 of a million cases.
  EXPECT_NEAR(Score("order", spec, make, *MakeBagOfUnits()), 150, 40);
  EXPECT_GE(Score("order again", spec, make, *MakeNgramLinear(true)), 290);
}

// Neither text alone says anything; whether both have the same letter does.
TEST_F(LinearBaselineTest, UnitsCompareTheTextsOfAPair) {
  const auto make = [](RandomStream* random) {
    EncodedExample example;
    example.label = static_cast<int32_t>(random->Below(2));
    const uint16_t letter = random->Below(2) == 1 ? 'x' : 'y';
    example.tokens.assign(10, letter);
    example.tokens_b.assign(10, example.label == 1 ? letter : letter == 'x' ? 'y' : 'x');
    return example;
  };
  EXPECT_EQ(Score("pair", ContentSpec(TaskSpec::TEXT, true), make, *MakeBagOfUnits()), 300);
}

// Pairs of texts of random letters. In half of them both have a word of four digits, each time
// another one; the others have two such words.
EncodedExample PairWithNumbers(RandomStream* random) {
  EncodedExample example;
  example.label = static_cast<int32_t>(random->Below(2));
  const std::string number = absl::StrCat(random->Between(1000, 9999));
  const std::string other = absl::StrCat(random->Between(1000, 9999));
  for (std::vector<uint16_t>* text : {&example.tokens, &example.tokens_b}) {
    for (int i = 0; i < 30; ++i) text->push_back('a' + random->Below(4));
    const std::string& word = text == &example.tokens || example.label == 1 ? number : other;
    text->insert(text->begin() + random->Below(30), word.begin(), word.end());
  }
  return example;
}

// A number is never seen again, so that no weight of its own can be learned for it; that rare
// n-grams are shared can.
TEST_F(LinearBaselineTest, OverlapWeighsWhatIsRare) {
  const TaskSpec spec = ContentSpec(TaskSpec::TEXT, true);
  EXPECT_GE(Score("numbers", spec, PairWithNumbers, *MakeOverlap(true)), 290);
  EXPECT_NEAR(Score("numbers by length", spec, PairWithNumbers, *MakeLengths()), 150, 40);
}

TEST_F(LinearBaselineTest, LengthsSeeTheirDifference) {
  const auto make = [](RandomStream* random) {
    EncodedExample example;
    example.label = static_cast<int32_t>(random->Below(2));
    const uint32_t size = 10 + random->Below(20);
    example.tokens.assign(size, 'a' + random->Below(4));
    example.tokens_b.assign(example.label == 1 ? size : size + 15, 'b' + random->Below(4));
    return example;
  };
  EXPECT_GE(Score("lengths", ContentSpec(TaskSpec::TEXT, true), make, *MakeLengths()), 290);
}

// The cosines by their definition, with the idf of every text counted by hand.
TEST_F(LinearBaselineTest, OverlapIsTheCosineOfWeightedSets) {
  const auto example = [](std::string a, std::string b) {
    return EncodedExample{{a.begin(), a.end()}, {b.begin(), b.end()}, 0};
  };
  WriteTestData(folder_.File("cosine"), ContentSpec(TaskSpec::TEXT, true),
                {{"train", {example("aab", "bc"), example("d", "ad"), example("e", "f")}},
                 {"validation", {example("a", "a")}}});
  const Dataset data = *Dataset::Open(folder_.File("cosine"), {});
  const SplitView train = *SplitView::Create(data, "train", DataView());
  OverlapFeatures features;
  ASSERT_TRUE(features.Fit(train, 2).ok());
  std::vector<float> standardised;
  for (int64_t i = 0; i < 3; ++i) {
    std::vector<Feature> found;
    features.Extract(train, i, &found);
    // No longer n-gram is shared, so that nothing but the first feature varies.
    ASSERT_EQ(found.size(), 1u);
    ASSERT_EQ(found[0].index, 0u);
    standardised.push_back(found[0].value);
  }
  // Two of the six texts have a, two b, two d, and one c: {a, b} and {b, c} share b, {d} and {a, d}
  // share d, {e} and {f} nothing.
  const double two = std::pow(std::log(6.0 / 2), 2), one = std::pow(std::log(6.0), 2);
  const double first = two / std::sqrt(2 * two * (two + one)), second = std::sqrt(0.5);
  EXPECT_NEAR((standardised[0] - standardised[2]) / (standardised[1] - standardised[2]),
              first / second, 1e-5);
}

TEST_F(LinearBaselineTest, PixelsTellPicturesOfUnlikeCornersApart) {
  const auto make = [](RandomStream* random) {
    EncodedExample example;
    example.label = static_cast<int32_t>(random->Below(2));
    for (int i = 0; i < 16; ++i) example.tokens.push_back(random->Below(256));
    example.tokens[5] = example.label == 1 ? 250 : 5;
    return example;
  };
  EXPECT_GE(Score("corner", ContentSpec(TaskSpec::GREY_IMAGE), make, *MakePixelLinear()), 290);
}

// Logistic regression on the byte frequencies of the first 1,000 bytes, by another program: 64.4 to
// 64.7 % of the official test reviews.
TEST_F(LinearBaselineTest, TheOrderFreeBarOfRealReviews) {
  const std::string raw = RealData("aclImdb_v1.tar.gz");
  if (raw.empty()) GTEST_SKIP() << "LRA_TEST_DATA has no aclImdb_v1.tar.gz";
  PrepareOptions prepare;
  prepare.task = "text";
  prepare.raw = raw;
  prepare.out = folder_.File("text");
  prepare.quiet = true;
  ASSERT_TRUE(Prepare(prepare).ok());
  TaskDataRequest request;
  request.task = "text";
  request.data_dir = prepare.out;
  request.view.sets = {"max_length_tokens=1000"};
  const auto opened = OpenTaskData(request, {"validation", "test"}, 0);
  ASSERT_TRUE(opened.ok()) << opened.status();
  const SplitView& test = opened->splits[1];
  const std::vector<const SplitView*> scored = {&test};
  const auto logits =
      MakeBagOfUnits()->Predict({opened->train, opened->splits[0], scored}, {.quiet = true});
  ASSERT_TRUE(logits.ok()) << logits.status();
  int64_t correct = 0;
  for (int64_t i = 0; i < test.size(); ++i) {
    const float* row = (*logits)[0].data() + 2 * i;
    correct += (row[1] > row[0]) == (test.label(i) == 1) ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(correct) / static_cast<double>(test.size()), 0.6455, 0.01);
}

}  // namespace
}  // namespace lra
