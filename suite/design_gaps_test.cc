// Tests of what is said of designs that lack runs, and of how runs are known again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "eval/ablation_text.h"
#include "suite/designs_test_util.h"

namespace lra {
namespace {

using ::lra::testing::DesignsTest;
using ::lra::testing::FirstRight;
using ::lra::testing::RunsOf;
using ::lra::testing::TwoByTwo;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

// Where nothing waits, `lra run` would do nothing.
TEST_F(DesignsTest, SaysWhatToDoOnlyWhereItHelps) {
  WriteAll();
  ASSERT_TRUE(RemoveAll(RunDirectory(Folder(), cells_[5])).ok());
  SuiteFailure failure;
  failure.set_message("no space left");
  ASSERT_TRUE(WriteFailure(Folder(), cells_[5], failure).ok());
  EXPECT_THAT(Refusal(absl::StatusCode::kFailedPrecondition),
              AllOf(HasSubstr("--retry-failed alone"), Not(HasSubstr("goes on"))));
  WriteAll();
  const absl::Status unscored = AblateSuite({.folder = Folder(), .split = "validation"}).status();
  EXPECT_THAT(std::string(unscored.message()),
              AllOf(HasSubstr("what has ended is not trained again"), Not(HasSubstr("`lra run`"))));
}

class RunsFingerprintTest : public DesignsTest {
 protected:
  std::string Fingerprint(const AblateRequest& request = {}) {
    AblateRequest of_folder = request;
    of_folder.folder = Folder();
    const auto report = AblateSuite(of_folder);
    EXPECT_TRUE(report.ok()) << report.status();
    return report.ok() ? RunsFingerprint(*report) : "";
  }
};

TEST_F(RunsFingerprintTest, KnowsTheSameRunsAgainHoweverTheyAreLookedAt) {
  WriteAll();
  const std::string fingerprint = Fingerprint();
  EXPECT_THAT(fingerprint, SizeIs(64));
  AblateRequest wide;
  wide.confidence = 0.5;
  EXPECT_EQ(Fingerprint(wide), fingerprint);
  // Trained again elsewhere, it took another time.
  LocatedRecord located = RecordOf(cells_[2]);
  located.record.mutable_efficiency()->set_cpu_seconds(77);
  lra::testing::StoreScoredRun(RunsOf(RowOf(cells_[2]))[cells_[2].seed], &located);
  EXPECT_EQ(Fingerprint(), fingerprint);
}

TEST_F(RunsFingerprintTest, ChangesWithAnyRun) {
  WriteAll();
  const std::string fingerprint = Fingerprint();
  Write(cells_[2], FirstRight(701));
  const std::string other_result = Fingerprint();
  EXPECT_NE(other_result, fingerprint);
  WriteDiverged(cells_[2]);
  EXPECT_NE(Fingerprint(), other_result);
  WriteAll();
  EXPECT_EQ(Fingerprint(), fingerprint);
  SuiteFile suite = TwoByTwo();
  suite.mutable_group(0)->mutable_factor(0)->mutable_level(0)->set_name("sinusoid");
  Begin(suite);
  EXPECT_NE(Fingerprint(), fingerprint);
}

}  // namespace
}  // namespace lra
