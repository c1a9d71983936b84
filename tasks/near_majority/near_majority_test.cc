// The synthetic control: its data is what its description says, and what is known of it by
// construction holds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "datasets/dataset.h"
#include "lra/config.h"
#include "lra/folder_test_util.h"
#include "tasks/baseline.h"
#include "tasks/near_majority/votes.h"
#include "tasks/prepare.h"
#include "tasks/task.h"
#include "tasks/task_check.h"
#include "tasks/verify.h"

namespace lra {
namespace {

using namespace near_majority;
using ::testing::HasSubstr;

Dataset Prepared(const std::string& folder, std::vector<std::string> set) {
  PrepareOptions options;
  options.task = "near_majority";
  options.out = folder;
  options.set = std::move(set);
  options.quiet = true;
  const auto prepared = Prepare(options);
  EXPECT_TRUE(prepared.ok()) << prepared.status();
  return *Dataset::Open(folder, {});
}

// What a guess by a margin of votes gets right of the test split; a tie is half right.
template <typename Margin>
double ShareRight(const Dataset& data, const Margin& margin) {
  const DataView view = LoadView("near_majority", "fair", "smoke", {}).value();
  const SplitView split = *SplitView::Create(data, "test", view);
  double right = 0;
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < split.size(); ++i) {
    split.Read(i, &ids);
    const int64_t m = margin(ids);
    right += m == 0 ? 0.5 : (m > 0) == (split.label(i) == 1) ? 1 : 0;
  }
  return right / static_cast<double>(split.size());
}

double NearRight(const Dataset& data, int64_t distance) {
  return ShareRight(data, [&](const auto& ids) { return NearMargin(ids, distance); });
}
double TotalRight(const Dataset& data) {
  return ShareRight(data, [](const auto& ids) { return TotalMargin(ids); });
}

TEST(VotesTest, AreCountedNearMarks) {
  //                           -  +  *  +  +  -  *  -  (ends of the text are no votes)
  const std::vector<int32_t> ids = {1, 2, 3, 2, 2, 1, 3, 1};
  EXPECT_EQ(TotalMargin(ids), 0);
  EXPECT_EQ(NearMargin(ids, 1), 1 + 1 - 1 - 1);
  // Both marks are two tokens from the vote in the fifth place, which counts once.
  EXPECT_EQ(NearMargin(ids, 2), -1 + 1 + 1 + 1 - 1 - 1);
  EXPECT_EQ(NearMargin(ids, 100), TotalMargin(ids));
  EXPECT_EQ(NearMargin(std::vector<int32_t>{2, 2}, 1), 0);
}

TEST(NearMajorityTest, KeepsEveryPromise) {
  const TestFolder folder;
  const auto lines = CheckTask({.task = "near_majority", .scratch = folder.File("check")});
  ASSERT_TRUE(lines.ok()) << lines.status();
  for (const TaskCheckLine& line : *lines)
    EXPECT_TRUE(line.passed) << line.name << ": " << line.detail;
}

// How often the majority of all votes is that of `near` of them, which are no tie: summed over what
// these and the `far` others may be. A tie of all is half right.
double ExpectedTotalRight(int near, int far) {
  const auto probability = [](int n, int k) {
    return std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) -
                    n * std::log(2.0));
  };
  double right = 0;
  for (int k = 0; k <= near; ++k) {
    const int margin = 2 * k - near;
    for (int l = 0; margin != 0 && l <= far; ++l) {
      const int total = margin + 2 * l - far;
      const double share = total == 0 ? 0.5 : (total > 0) == (margin > 0) ? 1 : 0;
      right += share * probability(near, k) * probability(far, l);
    }
  }
  return right / (1 - probability(near, near / 2));
}

TEST(NearMajorityTest, CountingAllSaysALittleAndDistanceTheRest) {
  const TestFolder folder;
  const Dataset data = Prepared(
      folder.File("data"), {"min_length_tokens=64", "train_examples=50", "test_examples=8000"});
  EXPECT_EQ(NearRight(data, 4), 1);
  EXPECT_LT(NearRight(data, 3), 0.95);
  EXPECT_LT(NearRight(data, 5), 0.95);
  // Four standard errors.
  EXPECT_NEAR(TotalRight(data), ExpectedTotalRight(16, 46), 4 * std::sqrt(0.21 / 8000));
  const auto report = VerifyDataset(folder.File("data"), {.quiet = true});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_TRUE(report->ok());
  EXPECT_EQ(report->labels_checked, 50 + 2000 + 8000);
}

// What the description of the canonical data says.
TEST(NearMajorityTest, LengthsAreUniform) {
  double right = 0;
  for (int length = 32; length <= 64; ++length) right += ExpectedTotalRight(16, length - 18) / 33;
  EXPECT_NEAR(right, 0.7494, 0.00005);
  const TestFolder folder;
  const Dataset data = Prepared(folder.File("data"), {"train_examples=50", "test_examples=8000"});
  EXPECT_NEAR(TotalRight(data), right, 4 * std::sqrt(0.19 / 8000));
  const DataView view = LoadView("near_majority", "fair", "smoke", {}).value();
  const SplitView split = *SplitView::Create(data, "test", view);
  std::vector<int64_t> seen(65);
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < split.size(); ++i) {
    split.Read(i, &ids);
    ASSERT_LT(ids.size(), seen.size());
    ++seen[ids.size()];
  }
  for (int length = 0; length <= 64; ++length) {
    // 8,000 / 33 = 242, with a standard deviation of 15.
    EXPECT_NEAR(seen[length], length < 32 ? 0 : 242, length < 32 ? 0 : 75) << length;
  }
}

// The null: counting all says as much as it does with the effect, and near votes say no more than
// any 16 votes do.
TEST(NearMajorityTest, WithoutTheEffectNearVotesSayNoMoreThanAll) {
  const TestFolder folder;
  const Dataset with = Prepared(folder.File("with"), {"train_examples=50", "test_examples=8000"});
  const Dataset without = Prepared(
      folder.File("without"), {"train_examples=50", "test_examples=8000", "near_probability=0"});
  // Four standard errors of a difference of two shares of 8,000.
  EXPECT_NEAR(TotalRight(without), TotalRight(with), 4 * std::sqrt(2 * 0.25 / 8000));
  EXPECT_LT(NearRight(without, 4), TotalRight(without) - 0.05);
  // Labels do not follow from the examples, so nothing is checked against an oracle.
  EXPECT_EQ(VerifyDataset(folder.File("without"), {.quiet = true})->labels_checked, 0);
}

TEST(NearMajorityTest, MarksStandApartAndAnywhere) {
  const TestFolder folder;
  const Dataset data = Prepared(
      folder.File("data"), {"min_length_tokens=12", "max_length_tokens=12", "distance_tokens=2",
                            "test_examples=1000", "train_examples=50", "validation_examples=50"});
  const DataView view = LoadView("near_majority", "fair", "smoke", {}).value();
  const SplitView split = *SplitView::Create(data, "test", view);
  std::vector<int64_t> at(12);
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < split.size(); ++i) {
    split.Read(i, &ids);
    std::vector<int64_t> marks;
    for (int64_t j = 0; j < 12; ++j) {
      if (ids[j] != kMark) continue;
      marks.push_back(j);
      ++at[j];
    }
    ASSERT_EQ(marks.size(), 2u);
    ASSERT_GE(marks[1] - marks[0], 5);
  }
  // Two marks in 4 free places: 6 ways, of which the first mark stands leftmost in 3.
  EXPECT_THAT(at,
              testing::ElementsAre(0, 0, testing::Gt(400), testing::Gt(250), testing::Gt(100), 0, 0,
                                   testing::Gt(100), testing::Gt(250), testing::Gt(400), 0, 0));
}

TEST(NearMajorityTest, BaselinesKnowTheDistanceOfTheData) {
  const TestFolder folder;
  Prepared(folder.File("data"), {"distance_tokens=2", "train_examples=2000"});
  BaselineRequest request;
  request.task = "near_majority";
  request.view.protocol = "fair";
  request.view.preset = "smoke";
  request.data_dir = folder.File("data");
  request.options.quiet = true;
  const auto results = PredictBaselines(request);
  ASSERT_TRUE(results.ok()) << results.status();
  ASSERT_EQ(results->predictions.back().facts.name, "near_votes");
  const std::vector<float>& logits = results->predictions.back().logits.back();
  for (size_t i = 0; i < results->labels.back().size(); ++i)
    ASSERT_EQ(logits[2 * i + 1] > logits[2 * i] ? 1 : 0, results->labels.back()[i]);
}

TEST(NearMajorityTest, TooManyMarksAreAnError) {
  const TestFolder folder;
  PrepareOptions options;
  options.task = "near_majority";
  options.out = folder.File("data");
  options.set = {"min_length_tokens=17"};
  options.quiet = true;
  EXPECT_THAT(std::string(Prepare(options).status().message()),
              HasSubstr("min_length_tokens is 17; 2 marks (marks) with the 8 votes near each "
                        "(distance_tokens) take 18"));
}

}  // namespace
}  // namespace lra
