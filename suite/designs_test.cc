#include "suite/designs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "eval/crossed_test_util.h"
#include "eval/scored_runs_test_util.h"
#include "lra/files.h"
#include "lra/folder_test_util.h"
#include "lra/textproto.h"
#include "suite/cells.h"
#include "suite/designs_test_util.h"
#include "suite/state.h"
#include "suite/suite_folder.h"

namespace lra {
namespace {

using ::lra::testing::DesignsTest;
using ::lra::testing::FirstRight;
using ::lra::testing::RunsOf;
using ::lra::testing::TwoByTwo;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

TEST_F(DesignsTest, ReadsEachCellOfTheGrid) {
  WriteAll();
  const auto report = AblateSuite({.folder = Folder() + "/"});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->description, "Data set P");
  ASSERT_THAT(report->designs, SizeIs(1));
  const AblationResult& result = report->designs[0];
  EXPECT_THAT(result.ablation.title, IsEmpty());
  ASSERT_THAT(result.ablation.factors, SizeIs(2));
  EXPECT_EQ(result.ablation.factors[0].name, "attention");
  EXPECT_THAT(result.ablation.factors[0].levels, ElementsAre("relu", "cosformer"));
  EXPECT_THAT(result.ablation.tasks[0].seeds, ElementsAre(0, 1, 2));
  const AblationEffect& cosine = EffectOf(result, "attention: cosformer - relu");
  EXPECT_NEAR(cosine.estimate->mean, 0.02375, 1e-12);
  EXPECT_NEAR(cosine.p, 0.04202962, 5e-9);
  const AblationEffect& simple = EffectOf(result, "attention: cosformer - relu, at positions none");
  EXPECT_NEAR(simple.p, 0.031606279, 5e-10);  // A - B
  EXPECT_THAT(report->notes, Contains(HasSubstr("canonical, version 1; 2,000 test examples")));
}

TEST_F(DesignsTest, StartsFromAnotherRunAreKnown) {
  const auto starts = [this](const std::string& set, SuiteFile suite) {
    suite.mutable_group(0)->mutable_factor(0)->mutable_level(1)->add_set(set);
    Begin(suite);
    WriteAll();
    const auto report = AblateSuite({.folder = Folder()});
    EXPECT_TRUE(report.ok()) << report.status();
    return report.ok() ? report->designs.at(0).ablation.tasks.at(0).starts
                       : std::set<std::string>();
  };
  EXPECT_THAT(starts("encoder_weights_sha256=37ff", TwoByTwo()),
              ElementsAre("another run's encoder"));
  // What a folder's suite lists of encoders is known to its cells, too.
  SuiteFile own = TwoByTwo();
  for (const char* attention : {"relu", "cosformer"}) {
    for (const uint32_t seed : {0, 1, 2}) {
      SuiteEncoder& encoder = *own.add_encoder();
      encoder.set_attention(attention);
      encoder.set_seed(seed);
      encoder.set_weights_sha256(absl::StrCat(attention, seed));
      encoder.set_recipe("5e");
    }
  }
  EXPECT_THAT(starts("encoder_weights_sha256={init-from}", own),
              ElementsAre("another run's encoder, each seed its own"));
}

// The file of the task bytes_lm says so.
TEST_F(DesignsTest, NeighboursThatDependOnEachOtherCountInBlocks) {
  SuiteFile suite = TwoByTwo();
  suite.mutable_group(0)->set_task(0, "bytes_lm");
  suite.mutable_group(0)->mutable_for_task(0)->set_task("bytes_lm");
  Begin(suite);
  for (const SuiteCell& cell : cells_) {
    LocatedRecord located = RecordOf(cell);
    located.record.mutable_spec()->set_name("bytes_lm");
    located.record.mutable_data()->set_task("bytes_lm");
    lra::testing::StoreScoredRun(RunsOf(RowOf(cell))[cell.seed], &located);
  }
  const auto report = AblateSuite({.folder = Folder()});
  ASSERT_TRUE(report.ok()) << report.status();
  const AblationResult& result = report->designs.at(0);
  EXPECT_EQ(result.ablation.tasks.at(0).block_examples, 80);
  const AblationEffect& cosine = EffectOf(result, "attention: cosformer - relu");
  EXPECT_NEAR(cosine.estimate->mean, 0.02375, 1e-12);
  EXPECT_EQ(cosine.estimate->example_degrees, 24);
  EXPECT_GT(cosine.p, 0.04202962);
}

TEST_F(DesignsTest, HoweverTheFolderIsWritten) {
  WriteAll();
  const auto report = AblateSuite({.folder = Folder() + "/./../" + report_name() + "//"});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->suite, report_name());
}

TEST_F(DesignsTest, FromWithinTheFolder) {
  for (const SuiteCell& cell : cells_) {
    LocatedRecord located = RecordOf(cell);
    located.record.add_curve()->set_step(7 + cell.seed);
    lra::testing::StoreScoredRun(RunsOf(RowOf(cell))[cell.seed], &located);
  }
  const WorkingFolder within(Folder());
  const auto report = AblateSuite({.folder = "."});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->suite, report_name());
  ASSERT_THAT(report->designs, SizeIs(1));
  const AblationTask& task = report->designs[0].ablation.tasks[0];
  ASSERT_THAT(task.folders, SizeIs(4));
  for (const std::vector<AblationRun>& runs : task.folders) {
    ASSERT_THAT(runs, SizeIs(3));
    for (size_t seed = 0; seed < runs.size(); ++seed) {
      ASSERT_EQ(runs[seed].curve.size(), 1) << runs[seed].directory;
      EXPECT_EQ(runs[seed].curve[0].step(), 7 + static_cast<int64_t>(seed));
    }
  }
}

TEST_F(DesignsTest, TablesInPrintAreFoundByTheirNames) {
  WriteAll();
  const auto report = AblateSuite({.folder = Folder(), .published = {"cosformer2022_table6"}});
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_THAT(report->published, SizeIs(1));
  EXPECT_EQ(report->published[0].name(), "cosformer2022_table6");
  const absl::Status unknown =
      AblateSuite({.folder = Folder(), .published = {"cosformer2022_table"}}).status();
  EXPECT_EQ(unknown.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(unknown.message()), HasSubstr("unknown published table"));
}

TEST_F(DesignsTest, NamesWhatIsMissing) {
  WriteAll();
  ASSERT_TRUE(RemoveAll(RunDirectory(Folder(), cells_[0])).ok());
  ASSERT_TRUE(RemoveAll(RunDirectory(Folder(), cells_[5])).ok());
  SuiteFailure failure;
  failure.set_exit_code(2);
  failure.set_message("no space left");
  ASSERT_TRUE(WriteFailure(Folder(), cells_[5], failure).ok());
  EXPECT_EQ(cells_[5].seed, 1u);
  EXPECT_THAT(
      Refusal(absl::StatusCode::kFailedPrecondition),
      AllOf(HasSubstr("the design is not complete; missing are\n"),
            HasSubstr("listops, attention relu, positions absolute: seed 0 (waiting)"),
            HasSubstr("listops, attention relu, positions none: seed 1 (failed: no space left)"),
            Not(HasSubstr("cosformer")),
            HasSubstr("\n`lra run` goes on with what is left; `lra run` tries again what failed "
                      "with --retry-failed alone")));
}

TEST_F(DesignsTest, AFolderWithoutARunIsAllMissing) {
  EXPECT_THAT(Refusal(absl::StatusCode::kFailedPrecondition),
              HasSubstr("positions none: seed 0 (waiting), seed 1 (waiting), seed 2 (waiting)"));
}

TEST_F(DesignsTest, ARunWithOtherSettingsIsMissing) {
  WriteAll();
  SuiteCell other = cells_[2];
  other.config.mutable_train()->set_steps(99);
  Write(other, FirstRight(700));
  EXPECT_THAT(Refusal(absl::StatusCode::kFailedPrecondition),
              HasSubstr("holds a run with other settings"));
}

TEST_F(DesignsTest, UnlikeExamplesAreRefused) {
  WriteAll();
  LocatedRecord located = RecordOf(cells_[3]);
  (*located.record.mutable_data()->mutable_split_fingerprint())["test"] = "bbbb";
  lra::testing::StoreScoredRun(FirstRight(700), &located);
  EXPECT_THAT(
      Refusal(absl::StatusCode::kFailedPrecondition),
      AllOf(HasSubstr("the fingerprint of the examples differs"), HasSubstr(located.directory)));
  WriteAll();
  Write(cells_[3], FirstRight(700, 1999));
  EXPECT_THAT(Refusal(absl::StatusCode::kFailedPrecondition),
              HasSubstr("has 1,999 test examples, those of other runs of its cell have 2,000"));
}

TEST_F(DesignsTest, ADivergedRunDropsItsSeed) {
  SuiteFile suite = TwoByTwo();
  suite.mutable_group(0)->set_seeds("0-3");
  Begin(suite);
  for (const SuiteCell& cell : cells_) {
    if (cell.seed < 3) Write(cell, RunsOf(RowOf(cell))[cell.seed]);
    if (cell.seed == 3 && RowOf(cell) == 'A') WriteDiverged(cell);
    if (cell.seed == 3 && RowOf(cell) != 'A') Write(cell, FirstRight(600));
  }
  const auto report = AblateSuite({.folder = Folder()});
  ASSERT_TRUE(report.ok()) << report.status();
  const AblationEffect& effect = EffectOf(report->designs[0], "attention: cosformer - relu");
  EXPECT_THAT(effect.dropped_seeds, ElementsAre(3));
  EXPECT_NEAR(effect.p, 0.04202962, 5e-9);
}

TEST_F(DesignsTest, EachGroupIsADesignAndThoseWithoutFactorsAreNone) {
  SuiteFile suite = TwoByTwo();
  *suite.add_group() = suite.group(0);
  suite.mutable_group(1)->clear_factor();
  *suite.add_group() = suite.group(1);
  suite.mutable_group(2)->clear_attention();
  suite.mutable_group(2)->add_attention("relu");
  Begin(suite);
  WriteAll();
  const auto report = AblateSuite({.folder = Folder()});
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_THAT(report->designs, SizeIs(2));
  EXPECT_EQ(report->designs[0].ablation.title, "attention x positions on listops");
  EXPECT_EQ(report->designs[1].ablation.title, "attention on listops");
  suite.mutable_group()->DeleteSubrange(0, 2);
  Begin(suite);
  EXPECT_THAT(Refusal(absl::StatusCode::kInvalidArgument), HasSubstr("has no design"));
}

// What a group says of one attention must not be refused where a cell has another.
TEST_F(DesignsTest, ASearchBelongsToTheCells) {
  SuiteFile suite = TwoByTwo();
  SuiteSearch* search = suite.mutable_group(0)->mutable_search();
  search->add_learning_rate(0.001);
  SuiteMethodSearch* of = search->add_for_attention();
  of->set_attention("cosformer");
  of->add_learning_rate(0.003);
  Begin(suite);
  WriteAll();
  const auto report = AblateSuite({.folder = Folder()});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_NEAR(EffectOf(report->designs[0], "attention: cosformer - relu").p, 0.04202962, 5e-9);
}

// Data set P, as pairs: B and D against A and C; of ReLU, none against absolute positions.
TEST_F(DesignsTest, APairIsADesign) {
  SuiteFile suite = TwoByTwo();
  SuiteGroup* const group = suite.mutable_group(0);
  SuitePair* pair = group->add_pair();
  pair->set_name("re-weighting");
  pair->mutable_first()->set_attention("relu");
  pair->mutable_second()->set_attention("cosformer");
  *suite.add_group() = *group;
  suite.mutable_group(1)->clear_factor();
  suite.mutable_group(1)->clear_pair();
  pair = suite.mutable_group(1)->add_pair();
  pair->set_name("positions");
  pair->mutable_first()->set_attention("relu");
  pair->mutable_second()->set_attention("relu");
  pair->mutable_first()->set_name("absolute");
  for (const auto& [one, value] : {std::pair(pair->mutable_first(), "SINUSOID"),
                                   std::pair(pair->mutable_second(), "NO_POSITIONS")}) {
    one->add_set(absl::StrCat("model.positions=", value));
    one->add_set("model.dropout=0.4");  // over for_task's: the runs of the first group
  }
  Begin(suite);
  EXPECT_THAT(cells_, SizeIs(4 * 3));
  WriteAll();
  const auto report = AblateSuite({.folder = Folder()});
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_THAT(report->designs, SizeIs(2));
  EXPECT_EQ(report->designs[0].ablation.title, "re-weighting x positions on listops");
  EXPECT_NEAR(EffectOf(report->designs[0], "re-weighting: cosformer - relu").p, 0.04202962, 5e-9);
  // Both pairs are one family, and the other factor is another.
  EXPECT_EQ(EffectOf(report->designs[0], "re-weighting: cosformer - relu").family_tests, 2);
  EXPECT_EQ(report->designs[1].effects[0].family_tests, 2);
  EXPECT_EQ(EffectOf(report->designs[0], "positions: none - absolute").family_tests, 1);
  ASSERT_THAT(report->designs[1].ablation.factors, SizeIs(1));
  const AblationFactor& positions = report->designs[1].ablation.factors[0];
  EXPECT_EQ(positions.name, "positions");
  EXPECT_EQ(positions.levels[0], "absolute");
  EXPECT_EQ(positions.levels[1], "relu, model.positions=NO_POSITIONS, model.dropout=0.4");
  EXPECT_NEAR(report->designs[1].effects[0].estimate->mean,
              EffectOf(report->designs[0], "positions: none - absolute, at re-weighting relu")
                  .estimate->mean,
              1e-12);
}

// Below the folder of a finished suite lie one of which no run has begun, and one without a design.
TEST_F(DesignsTest, SeveralSuitesAtOnce) {
  WriteAll();
  const std::string waiting = folder_.File("waiting"), plain = folder_.File("plain");
  SuiteFile table = TwoByTwo();
  table.mutable_group(0)->clear_factor();
  ASSERT_TRUE(ClaimSuiteFolder(waiting, TwoByTwo()).ok());
  ASSERT_TRUE(ClaimSuiteFolder(plain, table).ok());
  EXPECT_TRUE(IsDesigned(TwoByTwo()));
  EXPECT_FALSE(IsDesigned(table));
  const std::vector<std::string> paths = {Folder() + "/", waiting};
  const std::vector<std::string> folders = SuiteFoldersBelow(paths);
  EXPECT_THAT(folders, ElementsAre(Folder(), plain, waiting));
  const auto found = FindRunRecords({Folder()});
  ASSERT_TRUE(found.ok()) << found.status();
  const auto effects = AblateSuites(folders, *found, AblateRequest());
  ASSERT_TRUE(effects.ok()) << effects.status();
  ASSERT_THAT(effects->reports, SizeIs(1));
  EXPECT_EQ(effects->reports[0].suite, report_name());
  const AblationResult& result = effects->reports[0].designs[0];
  EXPECT_NEAR(EffectOf(result, "attention: cosformer - relu").p, 0.04202962, 5e-9);
  EXPECT_THAT(effects->problems,
              ElementsAre(waiting + ": no effects: runs are missing; `lra ablate` names them"));
}

TEST_F(DesignsTest, ExplicitCellsAreNoDesign) {
  SuiteFile suite = TwoByTwo();
  suite.mutable_group(0)->clear_factor();
  suite.mutable_group(0)->add_cell()->set_attention("relu");
  Begin(suite);
  EXPECT_THAT(Refusal(absl::StatusCode::kInvalidArgument), HasSubstr("has no design"));
}

}  // namespace
}  // namespace lra
