#include "datasets/leakage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "datasets/data_test_util.h"

namespace lra {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Each letter stands for a text and two letters for a pair; labels differ from example to example.
SplitKeys KeysOf(const std::vector<std::string>& examples) {
  const bool is_pair = !examples.empty() && examples[0].size() == 2;
  SplitKeys keys(is_pair);
  ExampleHasher hasher;
  int32_t label = 0;
  for (const std::string& letters : examples) {
    EncodedExample example;
    example.tokens = {static_cast<uint16_t>(letters[0] - 'a' + 1), 1};
    if (is_pair) example.tokens_b = {static_cast<uint16_t>(letters[1] - 'a' + 1), 1};
    example.label = label++ % 3;
    keys.Add(hasher.Hash(SmallSpec(32, is_pair), example));
  }
  return keys;
}

struct Leakage {
  std::vector<std::string> duplicates, shared;
};

// Formats counts as "earlier split: count" and "earlier split: shared/documents, examples".
Leakage Count(const std::vector<std::vector<std::string>>& splits) {
  constexpr const char* kNames[] = {"train", "validation", "test"};
  Manifest manifest;
  manifest.add_duplicates()->set_count(99);  // earlier counts must be replaced
  manifest.add_shared_documents()->set_shared(99);
  std::vector<SplitKeys> keys;
  for (size_t i = 0; i < splits.size(); ++i) {
    manifest.add_splits()->set_name(kNames[i]);
    keys.push_back(KeysOf(splits[i]));
  }
  CountLeakage(std::move(keys), &manifest);
  Leakage leakage;
  for (const DuplicateExamples& entry : manifest.duplicates()) {
    leakage.duplicates.push_back(
        absl::StrCat(entry.earlier_split(), " ", entry.split(), ": ", entry.count()));
  }
  for (const SharedDocuments& entry : manifest.shared_documents()) {
    leakage.shared.push_back(absl::StrCat(entry.earlier_split(), " ", entry.split(), ": ",
                                          entry.shared(), "/", entry.documents(), ", ",
                                          entry.examples()));
  }
  return leakage;
}

TEST(LeakageTest, DistinctInputsLeaveNoEntry) {
  const Leakage leakage = Count({{"a", "b"}, {"c"}, {"d", "e"}});
  EXPECT_THAT(leakage.duplicates, IsEmpty());
  EXPECT_THAT(leakage.shared, IsEmpty());
}

// A tenth of a split is said, and less is not; nor is what repeats within a split that stays whole.
TEST(LeakageTest, MuchThatIsSharedIsSaid) {
  Manifest manifest;
  for (const char* name : {"train", "validation", "test"}) {
    ManifestSplit* split = manifest.add_splits();
    split->set_name(name);
    split->set_examples(40);
  }
  const auto add = [&manifest](const char* earlier, const char* split, int64_t count) {
    DuplicateExamples* entry = manifest.add_duplicates();
    entry->set_earlier_split(earlier);
    entry->set_split(split);
    entry->set_count(count);
  };
  add("train", "train", 30);
  add("train", "validation", 3);
  add("train", "test", 4);
  EXPECT_THAT(DescribeOverlap(manifest),
              ElementsAre("4 of the 40 examples of test have an input that stands in train, too: a "
                          "score on test is not one of unseen inputs"));
  // Validation is now cut from train.
  manifest.mutable_splits(1)->set_name("all");
  add("all", "all", 5);
  EXPECT_THAT(DescribeOverlap(manifest),
              ElementsAre(testing::StartsWith("30 of the 40 examples of train repeat another one's "
                                              "input: what is cut from it may have equal inputs"),
                          testing::StartsWith("4 of the 40 examples of test"),
                          testing::StartsWith("5 of the 40 examples of all repeat")));
}

TEST(LeakageTest, WithinASplitWhatIsBeyondTheFirstCounts) {
  EXPECT_THAT(Count({{"a", "b", "a", "c", "a", "b"}}).duplicates, ElementsAre("train train: 3"));
}

TEST(LeakageTest, AcrossSplitsEveryExampleOfTheLaterOneCounts) {
  // The test split repeats a, which train repeats too; that makes no difference.
  EXPECT_THAT(Count({{"a", "a", "b"}, {"c", "b"}, {"a", "d", "a", "c"}}).duplicates,
              ElementsAre("train train: 1", "train validation: 1", "train test: 2",
                          "validation test: 1", "test test: 1"));
}

// Each letter stands for a text, its label behind it.
Manifest CountLabelled(const std::vector<std::vector<std::pair<char, int>>>& splits) {
  Manifest manifest;
  std::vector<SplitKeys> keys;
  for (const auto& split : splits) {
    ManifestSplit* added = manifest.add_splits();
    added->set_name(keys.empty() ? "train" : "test");
    added->set_examples(static_cast<int64_t>(split.size()));
    keys.emplace_back();
    for (const auto& [letter, label] : split) {
      const EncodedExample example{{static_cast<uint16_t>(letter - 'a' + 1)}, {}, label};
      keys.back().Add(ExampleHasher().Hash(SmallSpec(32), example));
    }
  }
  CountLeakage(std::move(keys), &manifest);
  return manifest;
}

TEST(LeakageTest, EqualInputsWithOtherLabelsAreCounted) {
  // One a of three is not of its commonest label, b has one label, c has both in train.
  const Manifest manifest =
      CountLabelled({{{'a', 0}, {'a', 1}, {'a', 1}, {'b', 2}, {'c', 0}, {'c', 1}},
                     {{'a', 2}, {'b', 2}, {'c', 1}}});
  ASSERT_EQ(manifest.duplicates_size(), 2);
  EXPECT_EQ(manifest.duplicates(0).count(), 3);  // train
  EXPECT_EQ(manifest.duplicates(0).with_other_label(), 2);
  EXPECT_EQ(manifest.duplicates(1).count(), 3);  // of test, in train
  EXPECT_EQ(manifest.duplicates(1).with_other_label(), 1);
  EXPECT_THAT(
      DescribeOverlap(manifest),
      testing::IsSupersetOf({"2 of the 6 examples of train have another label than an equal "
                             "input of train: no model can have both right",
                             "1 of the 3 examples of test have another label than an equal "
                             "input of train: no model can have both right"}));
  const Manifest agreed = CountLabelled({{{'a', 1}}, {{'a', 1}}});
  EXPECT_TRUE(agreed.duplicates(0).has_with_other_label());
  EXPECT_EQ(agreed.duplicates(0).with_other_label(), 0);
}

TEST(LeakageTest, APairIsADuplicateInItsOrderOnly) {
  EXPECT_THAT(Count({{"ab", "cd"}, {"ba", "ab", "ad"}}).duplicates,
              ElementsAre("train validation: 1"));
}

TEST(LeakageTest, SingleTextsOfPairsAreFoundOnEitherSide) {
  // The test split has the texts b, d, e, f, x, y; b and d are also in train, in three of its
  // examples.
  const Leakage leakage = Count({{"ab", "cd", "cd"}, {"xy"}, {"eb", "df", "bd", "xy"}});
  EXPECT_THAT(leakage.shared, ElementsAre("train test: 2/6, 3", "validation test: 2/6, 1"));
  EXPECT_THAT(leakage.duplicates, ElementsAre("train train: 1", "validation test: 1"));
}

TEST(LeakageTest, WithoutPairsThereAreNoDocuments) {
  EXPECT_THAT(Count({{"a"}, {"a"}}).shared, IsEmpty());
}

TEST(LeakageTest, TheOrderOfExamplesMakesNoDifference) {
  const Leakage one = Count({{"ab", "cd", "ef"}, {"ad", "ab", "gh"}});
  const Leakage other = Count({{"ef", "ab", "cd"}, {"gh", "ab", "ad"}});
  EXPECT_EQ(one.duplicates, other.duplicates);
  EXPECT_EQ(one.shared, other.shared);
  EXPECT_THAT(one.shared, ElementsAre("train validation: 3/5, 2"));
}

}  // namespace
}  // namespace lra
