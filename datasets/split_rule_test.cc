#include "datasets/split_rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "lra/sha256.h"

namespace lra {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Rule = DataView::Split;

// A manifest with these splits, as far as split rules read it. Fingerprints are made up.
Manifest Stored(const std::vector<std::pair<std::string, int64_t>>& splits,
                TaskSpec::Content content = TaskSpec::TEXT) {
  Manifest manifest;
  manifest.mutable_spec()->set_content(content);
  for (const auto& [name, examples] : splits) {
    ManifestSplit* split = manifest.add_splits();
    split->set_name(name);
    split->set_examples(examples);
    split->set_content_fingerprint(Sha256Hex(name));
  }
  return manifest;
}

// Three classes in the proportion 5 : 3 : 2, in mixed order.
int32_t Label(int64_t i) {
  constexpr int32_t kLabels[] = {0, 1, 0, 2, 0, 1, 0, 1, 2, 0};
  return kLabels[i % 10];
}

std::vector<int64_t> Examples(const Manifest& manifest, Rule rule, absl::string_view split) {
  return SplitExamples(manifest, rule, split, Label);
}

std::vector<int64_t> Iota(int64_t begin, int64_t end) {
  std::vector<int64_t> numbers(end - begin);
  std::iota(numbers.begin(), numbers.end(), begin);
  return numbers;
}

std::vector<int64_t> Slice(const std::vector<int64_t>& numbers, int64_t begin, int64_t end) {
  return {numbers.begin() + begin, numbers.begin() + end};
}

// Expects that the lists together hold 0 .. n-1, each once.
void ExpectPartition(const std::vector<std::vector<int64_t>>& lists, int64_t n) {
  std::vector<int64_t> all;
  for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, Iota(0, n));
}

// The expected values are those of torch.randperm(n, generator=torch.Generator().manual_seed(42)).
TEST(TorchPermutationTest, IsPyTorchs) {
  EXPECT_THAT(TorchPermutation(10, 42), ElementsAre(2, 6, 1, 8, 4, 5, 0, 9, 3, 7));
  EXPECT_THAT(Slice(TorchPermutation(50000, 42), 0, 3), ElementsAre(37542, 44491, 216));
  EXPECT_THAT(Slice(TorchPermutation(25000, 42), 0, 3), ElementsAre(12542, 12918, 13566));
  EXPECT_THAT(TorchPermutation(0, 42), IsEmpty());
  EXPECT_THAT(TorchPermutation(1, 42), ElementsAre(0));
}

TEST(TorchPermutationTest, HoldsEveryNumberOnceAndFollowsItsSeed) {
  ExpectPartition({TorchPermutation(1009, 7)}, 1009);
  EXPECT_NE(TorchPermutation(1009, 7), TorchPermutation(1009, 8));
}

TEST(SplitRuleTest, TheStoredSplitsSayWhichRulesArePossible) {
  EXPECT_THAT(PossibleSplitRules(Stored({{"train", 9}, {"validation", 9}, {"test", 9}})),
              ElementsAre(DataView::OFFICIAL));
  EXPECT_THAT(PossibleSplitRules(Stored({{"train", 9}, {"test", 9}})),
              ElementsAre(DataView::HOLDOUT, DataView::TEST_AS_VALIDATION, DataView::SEED42,
                          DataView::SLICES));
  EXPECT_THAT(PossibleSplitRules(Stored({{"all", 9}})),
              ElementsAre(DataView::SEED42, DataView::SLICES));
  EXPECT_THAT(PossibleSplitRules(Stored({{"train", 9}, {"validation", 9}})),
              ElementsAre(DataView::OFFICIAL));
  EXPECT_THAT(PossibleSplitRules(Stored({{"test", 9}})), ElementsAre(DataView::OFFICIAL));
}

TEST(SplitRuleTest, AnUnsetRuleStandsForThatOfTheContent) {
  const DataView unset;
  const auto rule = [&](const Manifest& manifest) { return *ResolveSplitRule(manifest, unset); };
  EXPECT_EQ(rule(Stored({{"train", 9}, {"validation", 9}, {"test", 9}})), DataView::OFFICIAL);
  EXPECT_EQ(rule(Stored({{"train", 9}, {"test", 9}})), DataView::HOLDOUT);
  EXPECT_EQ(rule(Stored({{"train", 9}, {"test", 9}}, TaskSpec::RGB_IMAGE)), DataView::SEED42);
  EXPECT_EQ(rule(Stored({{"all", 9}}, TaskSpec::GREY_IMAGE)), DataView::SEED42);
  EXPECT_EQ(rule(Stored({{"train", 9}})), DataView::OFFICIAL);
}

TEST(SplitRuleTest, ARuleThatTheDataCannotServeIsRefused) {
  const std::map<std::string, std::pair<Manifest, std::set<Rule>>> table = {
      {"train, validation, test, which can serve OFFICIAL",
       {Stored({{"train", 9}, {"validation", 9}, {"test", 9}}), {DataView::OFFICIAL}}},
      {"train, test, which can serve HOLDOUT, TEST_AS_VALIDATION, SEED42, SLICES",
       {Stored({{"train", 9}, {"test", 9}}),
        {DataView::HOLDOUT, DataView::TEST_AS_VALIDATION, DataView::SEED42, DataView::SLICES}}},
      {"all, which can serve SEED42, SLICES",
       {Stored({{"all", 9}}), {DataView::SEED42, DataView::SLICES}}}};
  for (const auto& [words, entry] : table) {
    for (int number = DataView::SPLIT_UNSPECIFIED; number <= DataView::SLICES; ++number) {
      DataView view;
      view.set_split(static_cast<Rule>(number));
      const auto resolved = ResolveSplitRule(entry.first, view);
      if (entry.second.count(view.split()) > 0) {
        EXPECT_EQ(*resolved, view.split());
        continue;
      }
      EXPECT_EQ(resolved.status().code(), absl::StatusCode::kFailedPrecondition) << words;
      EXPECT_THAT(std::string(resolved.status().message()),
                  AllOf(HasSubstr("view.split is " + DataView::Split_Name(view.split())),
                        HasSubstr("the data stores " + words)));
    }
  }
}

TEST(SplitRuleTest, OfficialSplitsAreTakenAsTheyAre) {
  const Manifest manifest = Stored({{"train", 30}, {"validation", 20}, {"test", 10}});
  for (const auto& [split, n] :
       std::map<std::string, int64_t>{{"train", 30}, {"validation", 20}, {"test", 10}}) {
    EXPECT_EQ(StoredSplit(manifest, DataView::OFFICIAL, split), split);
    EXPECT_EQ(Examples(manifest, DataView::OFFICIAL, split), Iota(0, n));
    EXPECT_EQ(SplitFingerprint(manifest, DataView::OFFICIAL, split), Sha256Hex(split));
  }
}

TEST(SplitRuleTest, TheTestSplitStandsForValidation) {
  const Manifest manifest = Stored({{"train", 30}, {"test", 10}});
  const Rule rule = DataView::TEST_AS_VALIDATION;
  EXPECT_EQ(StoredSplit(manifest, rule, "train"), "train");
  EXPECT_EQ(StoredSplit(manifest, rule, "validation"), "test");
  EXPECT_EQ(StoredSplit(manifest, rule, "test"), "test");
  EXPECT_EQ(Examples(manifest, rule, "train"), Iota(0, 30));
  EXPECT_EQ(Examples(manifest, rule, "validation"), Iota(0, 10));
  EXPECT_EQ(Examples(manifest, rule, "test"), Iota(0, 10));
  EXPECT_EQ(SplitFingerprint(manifest, rule, "validation"), Sha256Hex("test"));
}

TEST(SplitRuleTest, HoldoutTakesATenthOfEveryClass) {
  for (int64_t n : {1000, 1237, 9}) {
    const Manifest manifest = Stored({{"train", n}, {"test", 10}});
    const auto train = Examples(manifest, DataView::HOLDOUT, "train");
    const auto validation = Examples(manifest, DataView::HOLDOUT, "validation");
    ExpectPartition({train, validation}, n);
    std::map<int32_t, int64_t> of_class, held_out;
    for (int64_t i = 0; i < n; ++i) ++of_class[Label(i)];
    for (int64_t i : validation) ++held_out[Label(i)];
    for (const auto& [label, count] : of_class) EXPECT_EQ(held_out[label], count / 10) << label;
    // Both parts keep the stored order, and the validation part is not simply the first examples.
    EXPECT_TRUE(std::is_sorted(train.begin(), train.end()));
    EXPECT_TRUE(std::is_sorted(validation.begin(), validation.end()));
    EXPECT_TRUE(n < 1000 || validation.back() > n / 2);
    EXPECT_EQ(Examples(manifest, DataView::HOLDOUT, "validation"), validation);
    EXPECT_EQ(Examples(manifest, DataView::HOLDOUT, "test"), Iota(0, 10));
  }
  EXPECT_EQ(StoredSplit(Stored({{"train", 9}, {"test", 9}}), DataView::HOLDOUT, "validation"),
            "train");
}

// In state-spaces/s4, src/dataloaders/base.py, train is the first int(0.9 n) of the permutation.
TEST(SplitRuleTest, Seed42CutsAPermutationOfTrain) {
  for (int64_t n : {50000, 25000, 47}) {
    const Manifest manifest = Stored({{"train", n}, {"test", 10}});
    const std::vector<int64_t> order = TorchPermutation(n, 42);
    const int64_t cut = n * 9 / 10;
    EXPECT_EQ(Examples(manifest, DataView::SEED42, "train"), Slice(order, 0, cut)) << n;
    EXPECT_EQ(Examples(manifest, DataView::SEED42, "validation"), Slice(order, cut, n)) << n;
    EXPECT_EQ(Examples(manifest, DataView::SEED42, "test"), Iota(0, 10));
  }
}

// In state-spaces/s4, src/dataloaders/lra.py, validation and test have int(0.1 n) examples each and
// train has the rest. One picture of the release is empty, so 199,999 are left.
TEST(SplitRuleTest, Seed42CutsAPermutationOfAll) {
  const std::map<int64_t, std::pair<int64_t, int64_t>> cuts = {
      {200000, {160000, 180000}}, {199999, {160001, 180000}}, {3000, {2400, 2700}}, {19, {17, 18}}};
  for (const auto& [n, cut] : cuts) {
    const Manifest manifest = Stored({{"all", n}}, TaskSpec::GREY_IMAGE);
    const std::vector<int64_t> order = TorchPermutation(n, 42);
    EXPECT_EQ(Examples(manifest, DataView::SEED42, "train"), Slice(order, 0, cut.first)) << n;
    EXPECT_EQ(Examples(manifest, DataView::SEED42, "validation"),
              Slice(order, cut.first, cut.second))
        << n;
    EXPECT_EQ(Examples(manifest, DataView::SEED42, "test"), Slice(order, cut.second, n)) << n;
  }
  const Manifest manifest = Stored({{"all", 30}});
  for (const char* split : {"train", "validation", "test"}) {
    EXPECT_EQ(StoredSplit(manifest, DataView::SEED42, split), "all");
  }
}

// google-research/long-range-arena cuts with tensorflow_datasets: [:80%], [80%:90%], [90%:], and
// [:90%], [90%:]. A boundary is rounded to the nearest integer.
TEST(SplitRuleTest, SlicesAreInStoredOrder) {
  const std::map<int64_t, std::pair<int64_t, int64_t>> cuts = {{200000, {160000, 180000}},
                                                               {199999, {159999, 179999}},
                                                               {3000, {2400, 2700}},
                                                               {19, {15, 17}},
                                                               {14, {11, 13}}};
  for (const auto& [n, cut] : cuts) {
    const Manifest manifest = Stored({{"all", n}}, TaskSpec::GREY_IMAGE);
    EXPECT_EQ(Examples(manifest, DataView::SLICES, "train"), Iota(0, cut.first)) << n;
    EXPECT_EQ(Examples(manifest, DataView::SLICES, "validation"), Iota(cut.first, cut.second)) << n;
    EXPECT_EQ(Examples(manifest, DataView::SLICES, "test"), Iota(cut.second, n)) << n;
  }
  const std::map<int64_t, int64_t> train_cuts = {{50000, 45000}, {47, 42}, {14, 13}};
  for (const auto& [n, cut] : train_cuts) {
    const Manifest manifest = Stored({{"train", n}, {"test", 10}}, TaskSpec::RGB_IMAGE);
    EXPECT_EQ(Examples(manifest, DataView::SLICES, "train"), Iota(0, cut)) << n;
    EXPECT_EQ(Examples(manifest, DataView::SLICES, "validation"), Iota(cut, n)) << n;
    EXPECT_EQ(Examples(manifest, DataView::SLICES, "test"), Iota(0, 10)) << n;
  }
}

TEST(SplitRuleTest, FewExamplesLeaveEmptySplits) {
  const Manifest all = Stored({{"all", 9}});
  EXPECT_EQ(Examples(all, DataView::SEED42, "train").size(), 9u);
  EXPECT_THAT(Examples(all, DataView::SEED42, "validation"), IsEmpty());
  EXPECT_THAT(Examples(all, DataView::SEED42, "test"), IsEmpty());
}

TEST(SplitRuleTest, FingerprintsTellRulesAndSplitsApart) {
  const Manifest manifest = Stored({{"train", 100}, {"test", 100}});
  EXPECT_EQ(SplitFingerprint(manifest, DataView::SEED42, "validation"),
            Sha256Hex(Sha256Hex("train") + " SEED42 validation"));
  std::set<std::string> seen;
  for (Rule rule : {DataView::HOLDOUT, DataView::SEED42, DataView::SLICES}) {
    for (const char* split : {"train", "validation"}) {
      EXPECT_TRUE(seen.insert(SplitFingerprint(manifest, rule, split)).second) << rule << split;
    }
    EXPECT_EQ(SplitFingerprint(manifest, rule, "test"), Sha256Hex("test"));
  }
  const Manifest all = Stored({{"all", 100}});
  for (Rule rule : {DataView::SEED42, DataView::SLICES}) {
    for (const char* split : {"train", "validation", "test"}) {
      EXPECT_TRUE(seen.insert(SplitFingerprint(all, rule, split)).second) << rule << split;
    }
  }
  EXPECT_EQ(seen.count(Sha256Hex("all")), 0u);
}

TEST(SplitRuleTest, WhatIsNoSplitOfAViewStandsForItself) {
  EXPECT_EQ(StoredSplit(Stored({{"all", 9}}), DataView::SEED42, "all"), "all");
  EXPECT_EQ(StoredSplit(Stored({{"train", 9}, {"test", 9}}), DataView::HOLDOUT, "extra"), "extra");
}

}  // namespace
}  // namespace lra
