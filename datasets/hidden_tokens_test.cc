// Which tokens a batch hides under view.target=MASKED, and what stands in their places.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "datasets/data_test_util.h"
#include "datasets/loader.h"
#include "lra/folder_test_util.h"

namespace lra {
namespace {

class HiddenTokensTest : public testing::Test {
 protected:
  static constexpr int64_t kExamples = 103;

  HiddenTokensTest() : examples_(RandomExamples(SmallSpec(), kExamples, 9)) {
    WriteTestData(folder_.path() + "/d", SmallSpec(), {{"train", examples_}});
    DataView view;
    view.set_target(DataView::MASKED);
    view.set_masked_fraction(0.2f);
    split_ = *SplitView::Create(*Dataset::Open(folder_.path() + "/d", {}), "train", view);
    for (int64_t i = 0; i < kExamples; ++i) all_.push_back(i);
  }

  const TestFolder folder_;
  const std::vector<EncodedExample> examples_;
  SplitView split_;
  std::vector<int64_t> all_;
};

TEST_F(HiddenTokensTest, TheirPlacesHaveTheMaskAndTheyAreTheLabels) {
  const HostBatch batch = MakeBatch(split_, all_);
  const int32_t mask = split_.spec().vocabulary_size() - 1;
  auto label = batch.labels.begin();
  int64_t tokens = 0;
  for (int64_t b = 0; b < kExamples; ++b) {
    EXPECT_GE(TargetsOf(batch, b), 1) << b;
    for (int64_t n = 0; n < batch.length; ++n) {
      const int64_t place = b * batch.length + n;
      if (n >= batch.lengths[b]) {
        EXPECT_TRUE(batch.hidden[place] == 0 && batch.tokens[place] == 0);
        continue;
      }
      ++tokens;
      const int32_t stored = examples_[b].tokens[n];
      EXPECT_EQ(batch.tokens[place], batch.hidden[place] ? mask : stored);
      if (batch.hidden[place]) {
        EXPECT_EQ(*label++, stored);
      }
    }
  }
  EXPECT_EQ(label, batch.labels.end());
  EXPECT_NEAR(static_cast<double>(batch.labels.size()) / static_cast<double>(tokens), 0.2, 0.03);
}

TEST_F(HiddenTokensTest, InEvaluationTheyDependOnTheExampleAloneInTrainingOnTheEpoch) {
  const HostBatch all = MakeBatch(split_, all_), one = MakeBatch(split_, {40});
  EXPECT_TRUE(
      std::equal(one.hidden.begin(), one.hidden.end(), all.hidden.begin() + 40 * all.length));
  const auto hidden = [&](uint32_t seed, int64_t epoch) {
    return MakeBatch(split_, all_, {.seed = seed, .epoch = epoch}).hidden;
  };
  EXPECT_EQ(hidden(1, 0), hidden(1, 0));
  EXPECT_NE(hidden(1, 0), hidden(1, 1));
  EXPECT_NE(hidden(1, 0), hidden(2, 0));
  EXPECT_NE(hidden(0, 0), all.hidden);
  // What training draws.
  TrainLoader loader(split_, {.seed = 3, .batch_examples = 7, .bucket_window_batches = 2},
                     {.epoch = 2, .batch = 1});
  const HostBatch drawn = loader.Next();
  EXPECT_EQ(drawn.hidden, MakeBatch(split_, drawn.example_ids, {.seed = 3, .epoch = 2}).hidden);
}

}  // namespace
}  // namespace lra
