#include "tasks/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "datasets/data_test_util.h"
#include "lra/folder_test_util.h"
#include "tasks/options_test_util.h"

namespace lra {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class VerifyTest : public testing::Test {
 protected:
  VerifyTest() {
    const auto result = Prepare(SmallListOps(path_));
    LRA_CHECK(result.ok()) << result.status().ToString();
    manifest_ = result->manifest;
  }
  // The spec of the task as configured, for data whose manifest names no options.
  TaskSpec DefaultSpec() const {
    TaskSpec spec = manifest_.spec();
    spec.set_max_length_tokens(1999);
    return spec;
  }

  const TestFolder folder_;
  const std::string path_ = folder_.File("listops");
  Manifest manifest_;
};

TEST_F(VerifyTest, AFlippedByteInAnyFileIsNamed) {
  for (const auto& entry : std::filesystem::directory_iterator(path_)) {
    const std::string file = entry.path().string();
    for (size_t position : {size_t{0}, static_cast<size_t>(*FileSizeBytes(file)) - 2}) {
      FlipByte(file, position);
      const absl::Status status = VerifyDataset(path_, {.quiet = true}).status();
      EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << file;
      EXPECT_THAT(std::string(status.message()), HasSubstr(file));
      FlipByte(file, position);
    }
  }
  EXPECT_THAT(VerifyDataset(path_, {.quiet = true})->problems, IsEmpty());
}

// Everything agrees except the label itself, so only the oracle can notice it.
TEST_F(VerifyTest, AWrongLabelUnderGoodHashesIsFound) {
  const std::string path = folder_.File("wrong");
  WriteTestData(path, DefaultSpec(),
                {{"train",
                  {{{12, 3, 10, 15}, {}, 9},
                   {{
                        12,
                        3,
                        10,
                        15,
                    },
                    {},
                    2}}}});
  EXPECT_THAT(VerifyDataset(path, {.quiet = true})->problems,
              ElementsAre("split train, example 1: its label is 2; evaluated anew it is 9"));
}

TEST_F(VerifyTest, ASpecThatIsNotTheTasksIsFound) {
  manifest_.mutable_spec()->set_version(2);
  ASSERT_TRUE(WriteManifest(path_, manifest_).ok());
  const auto report = VerifyDataset(path_, {.quiet = true});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_THAT(
      report->problems,
      ElementsAre(HasSubstr("the manifest's spec is not that of task listops: modified: version")));
}

TEST_F(VerifyTest, AForeignTaskIsCheckedAsFarAsItGoes) {
  const std::string path = folder_.File("small");
  WriteTestData(path, SmallSpec(), {{"train", RandomExamples(SmallSpec(), 30, 1)}});
  const auto report = VerifyDataset(path, {.quiet = true});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_THAT(report->problems, IsEmpty());
  EXPECT_THAT(report->notes, ElementsAre(HasSubstr("no task \"small\"")));
  EXPECT_EQ(report->labels_checked, 0);
  EXPECT_FALSE(report->canonical);
}

TEST_F(VerifyTest, GeneratedDataHoldsNoDuplicates) {
  const std::string path = folder_.File("twice");
  Manifest manifest = WriteTestData(path, DefaultSpec(), {{"train", {{{3}, {}, 2}, {{3}, {}, 2}}}});
  EXPECT_THAT(VerifyDataset(path, {.quiet = true})->problems, IsEmpty());
  manifest.set_origin("generated");
  ASSERT_TRUE(WriteManifest(path, manifest).ok());
  EXPECT_THAT(VerifyDataset(path, {.quiet = true})->problems,
              ElementsAre("generated data holds duplicates"));
}

}  // namespace
}  // namespace lra
