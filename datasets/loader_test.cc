#include "datasets/loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "datasets/data_test_util.h"
#include "lra/folder_test_util.h"

namespace lra {
namespace {

using testing::ElementsAre;
using testing::FloatEq;
using testing::IsEmpty;
using testing::Pointwise;

constexpr int64_t kExamples = 103;  // not a multiple of 7

LoaderOptions Sevens(uint32_t seed, int64_t window) {
  return {.seed = seed, .batch_examples = 7, .bucket_window_batches = window};
}

class LoaderTest : public testing::Test {
 protected:
  LoaderTest() : examples_(RandomExamples(SmallSpec(), kExamples, 9)) {
    const std::string path = folder_.path() + "/d";
    WriteTestData(path, SmallSpec(), {{"train", examples_}});
    split_ = *SplitView::Create(*Dataset::Open(path, {}), "train", DataView());
  }

  std::vector<HostBatch> Draw(const LoaderOptions& options, TrainLoader::Position start,
                              int count) {
    TrainLoader loader(split_, options, start);
    std::vector<HostBatch> batches;
    for (int i = 0; i < count; ++i) batches.push_back(loader.Next());
    return batches;
  }

  const TestFolder folder_;
  const std::vector<EncodedExample> examples_;
  SplitView split_;
};

void ExpectSame(const HostBatch& a, const HostBatch& b) {
  EXPECT_EQ(a.example_ids, b.example_ids);
  EXPECT_EQ(a.tokens, b.tokens);
  EXPECT_EQ(a.lengths, b.lengths);
  EXPECT_EQ(a.labels, b.labels);
}

TEST_F(LoaderTest, ABatchIsPaddedToItsLongest) {
  const std::vector<int64_t> ids = {5, 0, 77};
  const HostBatch batch = MakeBatch(split_, ids);
  EXPECT_EQ(batch.batch, 3);
  EXPECT_EQ(batch.example_ids, ids);
  EXPECT_EQ(batch.length, *std::max_element(batch.lengths.begin(), batch.lengths.end()));
  ASSERT_EQ(static_cast<int64_t>(batch.tokens.size()), 3 * batch.length);
  for (int b = 0; b < 3; ++b) {
    const EncodedExample& example = examples_[ids[b]];
    EXPECT_EQ(batch.labels[b], example.label);
    ASSERT_EQ(batch.lengths[b], static_cast<int32_t>(example.tokens.size()));
    for (int64_t n = 0; n < batch.length; ++n) {
      const int32_t expected = n < batch.lengths[b] ? example.tokens[n] : 0;
      EXPECT_EQ(batch.tokens[b * batch.length + n], expected);
    }
  }
}

// In a pair each column is padded to its own longest text.
TEST(LoaderPairTest, BothTextsArePaddedOnTheirOwn) {
  const TestFolder folder;
  TaskSpec spec = SmallSpec(16, true);
  spec.set_close_bracket_id(0);
  std::vector<EncodedExample> examples(3);
  examples[0] = {.tokens = {1, 2, 3}, .tokens_b = {4}, .label = 2};
  examples[1] = {.tokens = {5}, .tokens_b = {6, 7}, .label = 0};
  examples[2] = {.tokens = {8, 9}, .tokens_b = {10, 11, 12, 13}, .label = 1};
  WriteTestData(folder.File("d"), spec, {{"train", examples}});
  const SplitView split =
      *SplitView::Create(*Dataset::Open(folder.File("d"), {}), "train", DataView());
  const HostBatch batch = MakeBatch(split, {1, 0});
  EXPECT_EQ(batch.length, 3);
  EXPECT_THAT(batch.tokens, ElementsAre(5, 0, 0, 1, 2, 3));
  EXPECT_THAT(batch.lengths, ElementsAre(1, 3));
  EXPECT_EQ(batch.length_b, 2);
  EXPECT_THAT(batch.tokens_b, ElementsAre(6, 7, 4, 0));
  EXPECT_THAT(batch.lengths_b, ElementsAre(2, 1));
  EXPECT_THAT(batch.labels, ElementsAre(0, 2));
  EXPECT_THAT(batch.values, IsEmpty());
  // The longer text of each pair decides the order: 3, 2 and 4 tokens.
  EXPECT_THAT(PlanEvaluation(split, 1, 3),
              ElementsAre(ElementsAre(2), ElementsAre(0), ElementsAre(1)));
  EXPECT_EQ(split.max_length_tokens(), 4);
}

TEST(LoaderRealTest, ImagesAreRealNumbersWithoutPadding) {
  const TestFolder folder;
  TaskSpec spec;
  spec.set_name("grey");
  spec.set_version(1);
  spec.set_content(TaskSpec::GREY_IMAGE);
  spec.set_image_side_pixels(2);
  spec.set_vocabulary_size(256);
  spec.set_max_length_tokens(4);
  spec.set_classes(2);
  std::vector<EncodedExample> examples(10);
  for (int i = 0; i < 10; ++i) {
    examples[i].tokens = {static_cast<uint16_t>(i), 0, 51, 255};
    examples[i].label = i % 2;
  }
  WriteTestData(folder.File("d"), spec, {{"all", examples}});
  DataView view;
  view.set_split(DataView::SLICES);
  view.set_pixels(DataView::REAL);
  const Dataset data = *Dataset::Open(folder.File("d"), {.splits = {"train"}, .view = &view});
  const SplitView train = *SplitView::Create(data, "train", view);
  EXPECT_EQ(train.size(), 8);
  const SplitView test = *SplitView::Create(data, "test", view);
  ASSERT_EQ(test.size(), 1);  // a single example, the last of ten
  const HostBatch batch = MakeBatch(test, {0, 0});
  EXPECT_EQ(batch.length, 4);
  EXPECT_THAT(batch.tokens, IsEmpty());
  EXPECT_THAT(batch.lengths, ElementsAre(4, 4));
  EXPECT_THAT(batch.labels, ElementsAre(1, 1));
  const float nine = 9 / 127.5f - 1;
  EXPECT_THAT(batch.values, Pointwise(FloatEq(), {nine, -1.f, -0.6f, 1.f, nine, -1.f, -0.6f, 1.f}));
  TrainLoader loader(train, {.seed = 1, .batch_examples = 8, .prefetch_batches = 2}, {});
  const HostBatch epoch = loader.Next();
  for (int b = 0; b < 8; ++b) {
    EXPECT_FLOAT_EQ(epoch.values[b * 4], epoch.example_ids[b] / 127.5f - 1);
  }
}

TEST_F(LoaderTest, AnEpochHoldsEveryExampleOnce) {
  for (int64_t window : {1, 3, 50}) {
    const auto plan = PlanEpoch(split_, Sevens(4, window), 2);
    EXPECT_EQ(plan.size(), 15u);
    std::set<int64_t> seen;
    size_t total = 0, smaller = 0;
    for (const auto& batch : plan) {
      EXPECT_LE(batch.size(), 7u);
      smaller += batch.size() < 7;
      total += batch.size();
      seen.insert(batch.begin(), batch.end());
    }
    EXPECT_EQ(total, static_cast<size_t>(kExamples));
    EXPECT_EQ(seen.size(), static_cast<size_t>(kExamples));
    EXPECT_EQ(smaller, 1u);
  }
}

TEST_F(LoaderTest, TheOrderIsAFunctionOfSeedAndEpoch) {
  const auto plan = PlanEpoch(split_, Sevens(4, 3), 0);
  EXPECT_EQ(plan, PlanEpoch(split_, Sevens(4, 3), 0));
  EXPECT_NE(plan, PlanEpoch(split_, Sevens(5, 3), 0));
  EXPECT_NE(plan, PlanEpoch(split_, Sevens(4, 3), 1));
}

TEST_F(LoaderTest, RefusesAPositionBelowZeroAndBatchesOfNothing) {
  const auto load = [this](const LoaderOptions& options, TrainLoader::Position start) {
    TrainLoader(split_, options, start).Next();
  };
  const TrainLoader::Position before_epochs = {.epoch = -1}, before_batches = {.batch = -1};
  EXPECT_DEATH(load(Sevens(4, 3), before_epochs), "start.epoch");
  EXPECT_DEATH(load(Sevens(4, 3), before_batches), "start.batch");
  const LoaderOptions nothing = {.batch_examples = 0};
  EXPECT_DEATH(load(nothing, {}), "batch_examples");
}

TEST_F(LoaderTest, PretrainingHasAnOrderOfItsOwn) {
  LoaderOptions options = Sevens(4, 3);
  const auto labels = PlanEpoch(split_, options, 0);
  options.order = RandomDomain::kPretrainOrder;
  EXPECT_NE(PlanEpoch(split_, options, 0), labels);
}

// An epoch is 15 batches: 14 of 7 and, somewhere among them, one of 5.
TEST_F(LoaderTest, CountsTheExamplesOfTheFirstBatches) {
  LoaderOptions options = Sevens(4, 3);
  int64_t examples = 0, batches = 0;
  for (const HostBatch& batch : Draw(options, {}, 32)) {
    EXPECT_EQ(CountExamples(split_, options, batches), examples);
    examples += batch.batch;
    ++batches;
  }
  EXPECT_EQ(CountExamples(split_, options, 30), 2 * kExamples);
  options.drop_last = true;
  EXPECT_EQ(CountExamples(split_, options, 30), 30 * 7);
}

TEST_F(LoaderTest, WindowsSaveMostOfThePadding) {
  const auto padding = [&](int64_t window) {
    int64_t tokens = 0;
    for (const auto& ids : PlanEpoch(split_, Sevens(1, window), 0)) {
      const HostBatch batch = MakeBatch(split_, ids);
      tokens += std::count(batch.tokens.begin(), batch.tokens.end(), 0);
    }
    return tokens;
  };
  EXPECT_LT(padding(50), padding(1) / 3);
}

TEST_F(LoaderTest, EvaluationTakesTheLongestFirstAndDropsNothing) {
  const auto plan = PlanEvaluation(split_, 10, kExamples);
  EXPECT_EQ(plan.size(), 11u);
  EXPECT_EQ(plan.back().size(), 3u);
  std::vector<int64_t> order;
  for (const auto& batch : plan) order.insert(order.end(), batch.begin(), batch.end());
  for (size_t i = 1; i < order.size(); ++i) {
    EXPECT_GE(split_.length_tokens(order[i - 1]), split_.length_tokens(order[i]));
  }
  EXPECT_EQ(std::set<int64_t>(order.begin(), order.end()).size(), static_cast<size_t>(kExamples));

  std::vector<int64_t> first;
  for (const auto& batch : PlanEvaluation(split_, 10, 4))
    first.insert(first.end(), batch.begin(), batch.end());
  std::sort(first.begin(), first.end());
  EXPECT_THAT(first, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(PlanEvaluation(split_, 200, kExamples).size(), 1u);
}

TEST(EvaluatedExamplesTest, LeavesOutWhatFillsNoBatch) {
  EXPECT_EQ(EvaluatedExamples(103, 7, 0, false), 103);
  EXPECT_EQ(EvaluatedExamples(103, 7, 0, true), 98);
  EXPECT_EQ(EvaluatedExamples(105, 7, 0, true), 105);
  EXPECT_EQ(EvaluatedExamples(103, 7, 20, false), 20);
  EXPECT_EQ(EvaluatedExamples(103, 7, 20, true), 14);
  EXPECT_EQ(EvaluatedExamples(103, 7, 500, false), 103);
  // A split smaller than a batch is scored anyway.
  EXPECT_EQ(EvaluatedExamples(5, 7, 0, true), 5);
}

TEST_F(LoaderTest, DropLastLeavesOutOtherExamplesEveryEpoch) {
  LoaderOptions options = Sevens(4, 50);  // one window, sorted by length
  options.drop_last = true;
  std::vector<std::set<int64_t>> dropped(5);
  int32_t shortest = 100, longest = 0;
  for (int64_t epoch = 0; epoch < 5; ++epoch) {
    for (int64_t i = 0; i < kExamples; ++i) dropped[epoch].insert(i);
    const auto plan = PlanEpoch(split_, options, epoch);
    EXPECT_EQ(plan.size(), 14u);
    for (const auto& batch : plan) {
      EXPECT_EQ(batch.size(), 7u);
      for (int64_t example : batch) EXPECT_EQ(dropped[epoch].erase(example), 1u) << example;
    }
    EXPECT_EQ(dropped[epoch].size(), 5u);
    for (int64_t example : dropped[epoch]) {
      shortest = std::min(shortest, split_.length_tokens(example));
      longest = std::max(longest, split_.length_tokens(example));
    }
  }
  EXPECT_NE(dropped[0], dropped[1]);
  // The longest ones are not left out: examples are drawn before the window is sorted. Lengths are
  // 1 .. 40.
  EXPECT_LT(shortest, 15);
  EXPECT_GT(longest, 25);
}

TEST_F(LoaderTest, WholeBatchesKeepNeighboursTogether) {
  LoaderOptions options = Sevens(4, 3);
  options.shuffle = TrainConfig::WHOLE_BATCHES;
  auto plan = PlanEpoch(split_, options, 0);
  EXPECT_NE(plan, PlanEpoch(split_, options, 1));
  const auto in_order = [](const auto& a, const auto& b) { return a[0] < b[0]; };
  EXPECT_FALSE(std::is_sorted(plan.begin(), plan.end(), in_order));
  std::sort(plan.begin(), plan.end(), in_order);
  ASSERT_EQ(plan.size(), 15u);
  int64_t next = 0;
  for (const auto& batch : plan) {
    for (int64_t example : batch) EXPECT_EQ(example, next++);
  }
  EXPECT_EQ(next, kExamples);

  options.drop_last = true;
  plan = PlanEpoch(split_, options, 0);
  std::sort(plan.begin(), plan.end(), in_order);
  ASSERT_EQ(plan.size(), 14u);
  EXPECT_THAT(plan.back(), ElementsAre(91, 92, 93, 94, 95, 96, 97));
}

// An epoch has as many batches as its plan; the position after the last one is the start of the
// next epoch.
TEST_F(LoaderTest, DropLastShortensTheEpoch) {
  LoaderOptions options = Sevens(4, 3);
  options.drop_last = true;
  const std::vector<HostBatch> batches = Draw(options, {}, 15);
  EXPECT_EQ(batches[14].example_ids, PlanEpoch(split_, options, 1)[0]);
  options.batch_examples = 200;
  EXPECT_EQ(Draw(options, {}, 2)[1].batch, kExamples);
}

TEST_F(LoaderTest, PadToFixesTheLengthOfEveryText) {
  const TestFolder folder;
  TaskSpec spec = SmallSpec(16, true);
  spec.set_close_bracket_id(0);
  const std::vector<EncodedExample> examples = {
      {.tokens = {1, 2, 3}, .tokens_b = {4}, .label = 2},
      {.tokens = {5}, .tokens_b = {6, 7, 8, 9, 10, 11, 12, 13, 14}, .label = 0}};
  WriteTestData(folder.File("d"), spec, {{"train", examples}});
  const Dataset data = *Dataset::Open(folder.File("d"), {});
  DataView view;
  view.set_max_length_tokens(5);
  for (const auto& [pad_to, length] :
       {std::pair(DataView::MAX_LENGTH, 5), std::pair(DataView::POWER_OF_TWO, 8)}) {
    view.set_pad_to(pad_to);
    EXPECT_EQ(MaxBatchTokens(view), length);
    const HostBatch batch = MakeBatch(*SplitView::Create(data, "train", view), {0, 1});
    EXPECT_EQ(batch.fixed_length, length);
    EXPECT_EQ(batch.length, length);
    EXPECT_EQ(batch.length_b, length);
    EXPECT_THAT(batch.lengths, ElementsAre(3, 1));
    EXPECT_THAT(batch.lengths_b, ElementsAre(1, 5));
    ASSERT_EQ(batch.tokens.size(), static_cast<size_t>(2 * length));
    EXPECT_EQ(batch.tokens[2], 3);
    EXPECT_EQ(batch.tokens[3], 0);
    EXPECT_EQ(batch.tokens[length], 5);
    EXPECT_EQ(batch.tokens_b[length + 4], 10);
  }
  view.set_max_length_tokens(16);  // 16 is a power of two itself
  EXPECT_EQ(MaxBatchTokens(view), 16);
  view.set_pad_to(DataView::LONGEST);
  EXPECT_EQ(MakeBatch(*SplitView::Create(data, "train", view), {0, 1}).fixed_length, 0);
}

TEST_F(LoaderTest, PrefetchChangesNothing) {
  LoaderOptions options{
      .seed = 3, .batch_examples = 7, .bucket_window_batches = 4, .prefetch_batches = 0};
  const std::vector<HostBatch> plain = Draw(options, {}, 40);
  const auto first_epoch = PlanEpoch(split_, Sevens(3, 4), 0);
  const auto third_epoch = PlanEpoch(split_, Sevens(3, 4), 2);
  EXPECT_EQ(plain[14].example_ids, first_epoch[14]);
  EXPECT_EQ(plain[30].example_ids, third_epoch[0]);
  for (int64_t prefetch : {1, 4, 100}) {
    options.prefetch_batches = prefetch;
    const std::vector<HostBatch> ahead = Draw(options, {}, 40);
    for (int i = 0; i < 40; ++i) ExpectSame(plain[i], ahead[i]);
  }
}

TEST_F(LoaderTest, APositionIsEnoughToGoOn) {
  const LoaderOptions options{
      .seed = 8, .batch_examples = 7, .bucket_window_batches = 2, .prefetch_batches = 3};
  const std::vector<HostBatch> all = Draw(options, {}, 45);
  TrainLoader loader(split_, options, {});
  for (int i = 0; i < 45; ++i) {
    const TrainLoader::Position position = loader.position();
    EXPECT_EQ(position.epoch, i / 15);
    EXPECT_EQ(position.batch, i % 15);
    if (i % 4 == 3) ExpectSame(Draw(options, position, 1)[0], all[i]);
    ExpectSame(loader.Next(), all[i]);
  }
}

}  // namespace
}  // namespace lra
