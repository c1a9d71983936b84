// Data set P as a suite with records on disk, for the tests of designs.
#ifndef LRA_SUITE_DESIGNS_TEST_UTIL_H_
#define LRA_SUITE_DESIGNS_TEST_UTIL_H_

#include <gtest/gtest.h>

#include <filesystem>
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
#include "suite/designs.h"
#include "suite/state.h"

namespace lra::testing {

// Two attentions, two levels of positions, three seeds: data set P.
inline SuiteFile TwoByTwo() {
  SuiteFile suite;
  suite.set_description("Data set P");
  SuiteGroup* group = suite.add_group();
  group->add_task("listops");
  group->add_attention("relu");
  group->add_attention("cosformer");
  group->set_seeds("0-2");
  group->set_preset("smoke");
  group->add_set("model.dropout=0.2");
  SuiteTask* task = group->add_for_task();
  task->set_task("listops");
  task->add_set("model.dropout=0.3");
  SuiteFactor* factor = group->add_factor();
  factor->set_name("positions");
  for (const auto& [name, value] :
       {std::pair("absolute", "SINUSOID"), std::pair("none", "NO_POSITIONS")}) {
    SuiteLevel* level = factor->add_level();
    level->set_name(name);
    level->add_set(absl::StrCat("model.positions=", value));
    level->add_set("model.dropout=0.4");  // over the others
  }
  return suite;
}

class DesignsTest : public ::testing::Test {
 protected:
  void SetUp() override { Begin(TwoByTwo()); }

  void Begin(const SuiteFile& suite) {
    cells_ = *ExpandSuite(suite);
    ASSERT_TRUE(WriteFileAtomically(Folder() + "/suite.textproto", ToTextProto(suite)).ok());
  }
  std::string Folder() const { return folder_.path(); }
  std::string report_name() const { return std::filesystem::path(Folder()).filename(); }

  // cosformer is A and C of the data set, relu B and D; A and B have no positions.
  static char RowOf(const SuiteCell& cell) {
    const bool has_cosine = cell.config.attention().name() == "cosformer";
    const bool has_positions = cell.config.model().positions() == ModelConfig::SINUSOID;
    return has_positions ? (has_cosine ? 'C' : 'D') : (has_cosine ? 'A' : 'B');
  }
  LocatedRecord RecordOf(const SuiteCell& cell) {
    LocatedRecord located = MakeRun({.method = cell.config.attention().name(), .seed = cell.seed});
    located.directory = RunDirectory(Folder(), cell);
    located.record.mutable_spec()->set_name("listops");
    *located.record.mutable_config() = cell.config;
    return located;
  }
  void Write(const SuiteCell& cell, const ExampleValues& values) {
    LocatedRecord located = RecordOf(cell);
    StoreScoredRun(values, &located);
  }
  void WriteAll() {
    for (const SuiteCell& cell : cells_) Write(cell, RunsOf(RowOf(cell))[cell.seed]);
  }
  void WriteDiverged(const SuiteCell& cell) {
    LocatedRecord located = RecordOf(cell);
    located.record.clear_results();
    located.record.mutable_failure()->set_kind(RunFailure::DIVERGED);
    ASSERT_TRUE(WriteRunRecord(located.directory, located.record).ok());
  }
  std::string Refusal(absl::StatusCode code) {
    const absl::Status status = AblateSuite({.folder = Folder()}).status();
    EXPECT_EQ(status.code(), code) << status;
    return std::string(status.message());
  }
  static const AblationEffect& EffectOf(const AblationResult& result, const std::string& text) {
    for (const AblationEffect& effect : result.effects) {
      if (EffectText(result.ablation.factors, effect.plan) == text) return effect;
    }
    ADD_FAILURE() << text;
    return result.effects.front();
  }

  TestFolder folder_;
  std::vector<SuiteCell> cells_;
};

}  // namespace lra::testing

#endif  // LRA_SUITE_DESIGNS_TEST_UTIL_H_
