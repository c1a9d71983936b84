#include "datasets/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "datasets/data_test_util.h"
#include "lra/folder_test_util.h"

namespace lra {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class VerifyContentTest : public testing::Test {
 protected:
  // The oracle of this data: the first token's number modulo 3.
  static absl::StatusOr<std::optional<int32_t>> Oracle(const StoredExample& example) {
    return example.tokens[0] % 3;
  }

  ContentReport Verify(const LabelOracle& oracle = nullptr, int threads = 2) {
    const auto data = Dataset::Open(path_, {});
    EXPECT_TRUE(data.ok()) << data.status();
    return VerifyContent(*data, oracle, threads, nullptr);
  }

  const TestFolder folder_;
  const std::string path_ = folder_.path() + "/d";
};

TEST_F(VerifyContentTest, AcceptsWhatTheWriterWrote) {
  for (bool is_pair : {false, true}) {
    ASSERT_TRUE(RemoveAll(path_).ok());
    const TaskSpec spec = SmallSpec(300, is_pair);
    WriteTestData(path_, spec,
                  {{"train", RandomExamples(spec, 1500, 1)}, {"test", RandomExamples(spec, 5, 2)}});
    const ContentReport report = Verify();
    EXPECT_THAT(report.problems, IsEmpty());
    EXPECT_EQ(report.labels_checked, 0);
  }
}

// How many tokens are given decides what is scored, so it is a part of the content.
TEST_F(VerifyContentTest, RecomputesTheFingerprintWithWhatIsGiven) {
  std::vector<std::string> fingerprints;
  for (const int16_t given : {1, 2}) {
    ASSERT_TRUE(RemoveAll(path_).ok());
    const EncodedExample example{{1, 2, 3}, {}, 0, {given}};
    const Manifest manifest =
        WriteTestData(path_, SmallSpec(), {{"train", {example}}}, 1 << 20, {PromptColumn()});
    EXPECT_THAT(Verify().problems, IsEmpty());
    fingerprints.push_back(manifest.splits(0).content_fingerprint());
  }
  EXPECT_NE(fingerprints[0], fingerprints[1]);
}

TEST_F(VerifyContentTest, EvaluatesEveryLabel) {
  WriteTestData(path_, SmallSpec(), {{"train", {{{1}, {}, 1}, {{2}, {}, 1}, {{3}, {}, 0}}}});
  const ContentReport report = Verify(Oracle);
  EXPECT_EQ(report.labels_checked, 3);
  EXPECT_THAT(report.problems,
              ElementsAre("split train, example 1: its label is 1; evaluated anew it is 2"));
  EXPECT_THAT(Verify([](auto) { return absl::InvalidArgumentError("no tree"); }).problems,
              testing::Contains(HasSubstr("cannot be evaluated: no tree")));
}

TEST_F(VerifyContentTest, CountsAmbiguousExamplesApart) {
  EncodedExample ambiguous{{4}, {}, 2};
  ambiguous.is_ambiguous = true;
  WriteTestData(path_, SmallSpec(), {{"train", {{{1}, {}, 1}, ambiguous}}});
  const LabelOracle oracle = [](const StoredExample& example) -> std::optional<int32_t> {
    if (example.tokens[0] == 4) return std::nullopt;
    return example.tokens[0] % 3;
  };
  EXPECT_THAT(Verify(oracle).problems, IsEmpty());
  EXPECT_THAT(Verify([](const StoredExample&) { return std::optional<int32_t>(); }).problems,
              ElementsAre("split train has 2 ambiguous examples, the manifest says 1"));
}

TEST_F(VerifyContentTest, NamesAtMostTwentyWrongLabels) {
  WriteTestData(path_, SmallSpec(), {{"train", std::vector<EncodedExample>(2000, {{1}, {}, 2})}});
  const ContentReport report = Verify(Oracle);
  EXPECT_EQ(report.problems.size(), 21u);
  EXPECT_THAT(report.problems.back(), HasSubstr("2000 labels are wrong in all"));
}

TEST_F(VerifyContentTest, CountsDuplicatesOfInputs) {
  const EncodedExample a{{1, 2}, {}, 0}, a_other_label{{1, 2}, {}, 1}, b{{3}, {}, 0}, c{{4}, {}, 0};
  WriteTestData(path_, SmallSpec(),
                {{"train", {a, b, a_other_label, a}}, {"validation", {c}}, {"test", {b, a, b, c}}});
  const ContentReport report = Verify();
  std::vector<std::string> found;
  for (const auto& entry : report.duplicates) {
    found.push_back(entry.earlier_split() + ">" + entry.split() + "=" +
                    std::to_string(entry.count()));
  }
  EXPECT_THAT(found,
              ElementsAre("train>train=2", "train>test=3", "validation>test=1", "test>test=1"));
  EXPECT_THAT(report.problems, IsEmpty());
}

TEST_F(VerifyContentTest, AManifestFromBeforeOtherLabelsWereCountedIsValid) {
  const EncodedExample a{{1, 2}, {}, 0}, other{{1, 2}, {}, 1};
  Manifest manifest = WriteTestData(path_, SmallSpec(), {{"train", {a, other}}});
  DuplicateExamples* entry = manifest.add_duplicates();
  entry->set_earlier_split("train");
  entry->set_split("train");
  entry->set_count(1);
  ASSERT_TRUE(WriteManifest(path_, manifest).ok());
  EXPECT_THAT(Verify().problems, IsEmpty());
  entry->set_with_other_label(0);
  ASSERT_TRUE(WriteManifest(path_, manifest).ok());
  EXPECT_THAT(Verify().problems, ElementsAre(HasSubstr("duplicate counts")));
}

// The manifest has a good seal, but claims what the shards do not hold.
TEST_F(VerifyContentTest, RecomputesWhatTheManifestClaims) {
  Manifest manifest =
      WriteTestData(path_, SmallSpec(), {{"train", RandomExamples(SmallSpec(), 50, 3)}});
  manifest.mutable_splits(0)->set_content_fingerprint(std::string(64, 'a'));
  manifest.mutable_splits(0)->set_tokens(manifest.splits(0).tokens() + 1);
  auto* counts = manifest.mutable_splits(0)->mutable_label_count();
  counts->Set(0, counts->Get(0) + 1);
  counts->Set(1, counts->Get(1) - 1);
  DuplicateExamples* duplicates = manifest.add_duplicates();
  duplicates->set_earlier_split("train");
  duplicates->set_split("train");
  duplicates->set_count(40);
  ASSERT_TRUE(WriteManifest(path_, manifest).ok());
  EXPECT_THAT(Verify().problems,
              ElementsAre(HasSubstr("content fingerprint is"),
                          HasSubstr("tokens, the manifest says"), HasSubstr("examples of label 0"),
                          HasSubstr("examples of label 1"), HasSubstr("duplicate counts")));
}

}  // namespace
}  // namespace lra
