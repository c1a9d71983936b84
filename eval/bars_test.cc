#include "eval/bars.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "eval/sums.h"

namespace lra {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int64_t kExamples = 1000;

Sums SumsOf(int64_t correct) {
  Sums sums;
  (*sums.mutable_counts())[kTargets] = kExamples;
  (*sums.mutable_counts())[kCorrect] = correct;
  return sums;
}

RunRecord Baseline(const std::string& method, const std::string& bar, bool is_required,
                   int64_t correct, const std::string& ladder = "") {
  RunRecord record;
  record.set_kind(RunRecord::BASELINE);
  record.set_method(method);
  record.mutable_bar()->set_name(bar);
  record.mutable_bar()->set_is_required(is_required);
  record.mutable_bar()->set_ladder(ladder);
  SplitResult* result = record.add_results();
  result->set_split("test");
  result->set_examples(kExamples);
  *result->mutable_sums() = SumsOf(correct);
  return record;
}

// The bars of ListOps, in no order.
class BarsTest : public testing::Test {
 protected:
  BarsTest()
      : records_{Baseline("depth_2", "depth 2", false, 732, "depth"),
                 Baseline("majority", "majority class", true, 170),
                 Baseline("root_operator", "root operator", true, 365),
                 Baseline("depth_1", "depth 1", false, 597, "depth")} {
    for (const RunRecord& record : records_) pointers_.push_back(&record);
  }
  // The bars below this score.
  std::vector<std::string> Above(double score) const {
    return BarsAbove(BarsOf(pointers_, "test", metric_),
                     [score](const Bar& bar) { return score > bar.value; });
  }
  const Metric& metric_ = **FindMetric(kAccuracy);
  const std::vector<RunRecord> records_;
  std::vector<const RunRecord*> pointers_;
};

TEST_F(BarsTest, WeakestFirstAndOnlyBaselinesWithTheSplit) {
  RunRecord measured = Baseline("linear", "", true, 500);
  measured.set_kind(RunRecord::MEASURED);
  pointers_.push_back(&measured);
  RunRecord elsewhere = Baseline("other", "other", true, 500);
  elsewhere.mutable_results(0)->set_split("validation");
  pointers_.push_back(&elsewhere);
  std::vector<std::string> methods;
  for (const Bar& bar : BarsOf(pointers_, "test", metric_)) methods.push_back(bar.method);
  EXPECT_THAT(methods, ElementsAre("majority", "root_operator", "depth_1", "depth_2"));
  EXPECT_DOUBLE_EQ(BarsOf(pointers_, "test", metric_)[1].value, 0.365);
}

TEST_F(BarsTest, NamesTheHighestOfALadder) {
  EXPECT_THAT(Above(0.82), ElementsAre("root operator", "depth 2"));
  EXPECT_THAT(Above(0.66), ElementsAre("root operator", "depth 1"));
  EXPECT_THAT(Above(0.59), ElementsAre("root operator"));
  EXPECT_THAT(Above(0.3), ElementsAre("majority class"));
  EXPECT_THAT(Above(0.17), IsEmpty());
}

TEST_F(BarsTest, ABaselineOnRecordTwiceIsNamedOnce) {
  const RunRecord again = records_[2];
  pointers_.push_back(&again);
  EXPECT_THAT(Above(0.59), ElementsAre("root operator"));
}

TEST_F(BarsTest, WhatCannotBeToldIsNotNamed) {
  EXPECT_THAT(BarsAbove(BarsOf(pointers_, "test", metric_),
                        [](const Bar&) { return std::optional<bool>(); }),
              IsEmpty());
}

TEST_F(BarsTest, ARecordWithoutABarStandsUnderItsMethod) {
  RunRecord old = Baseline("ngram_linear", "", false, 800);
  old.clear_bar();
  EXPECT_EQ(BarOf(old).name(), "ngram_linear");
  EXPECT_TRUE(BarOf(old).is_required());
}

}  // namespace
}  // namespace lra
