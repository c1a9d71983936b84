#include "lra/task_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "lra/config.h"
#include "lra/config_folder_test_util.h"
#include "lra/files.h"

namespace lra {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Two protocols, the second from the first; a preset for every task and one for single tasks.
class TaskFilesTest : public ConfigFolderTest {
 protected:
  void SetUp() override {
    Write("protocols/rules", R"(
      name: "rules" version: 3 base { train { steps: 10 log_every_steps: 5 } }
      task { key: "old" value { train { steps: 20 } } })");
    Write("protocols/later", R"(
      name: "later" version: 1 extends: "rules" base { train { log_every_steps: 7 } })");
    Write("presets/wide", R"(name: "wide" version: 1 base { model { width: 8 } })");
    Write("presets/each", R"(
      name: "each" version: 1 task { key: "old" value { model { width: 4 } } })");
    Write("tasks/old", R"(name: "old" version: 1 order: 2)");
    Write("tasks/new", R"(
      name: "new" version: 1
      protocol { key: "rules" value { train { steps: 30 batch_examples: 3 } } }
      protocol { key: "later" value { train { steps: 40 } } }
      preset { key: "wide" value { model { width: 16 } } })");
  }

  // What a run of the task under the protocol and the preset is told so far.
  ExperimentConfig Merged(const char* task, const char* protocol, const char* preset) {
    ConfigBuilder builder(task);
    EXPECT_EQ(builder.AddProtocol(protocol), absl::OkStatus());
    EXPECT_EQ(builder.AddPreset(preset), absl::OkStatus());
    return builder.config();
  }
};

TEST_F(TaskFilesTest, TasksWithoutAnOrderComeLastByName) {
  Write("tasks/ahead", R"(name: "ahead" version: 1)");
  Write("tasks/zero", R"(name: "zero" version: 1 order: 1)");
  EXPECT_THAT(TasksInOrder(), ElementsAre("zero", "old", "ahead", "new"));
}

TEST_F(TaskFilesTest, ATaskMaySayThatNeighboursDependOnEachOther) {
  Write("tasks/cut", R"(name: "cut" version: 1 block_examples: 7)");
  Write("tasks/wrong", R"(name: "wrong" version: 1 block_examples: 0)");
  EXPECT_EQ(BlockExamplesOf("cut"), 7);
  EXPECT_EQ(BlockExamplesOf("wrong"), 1);
  EXPECT_EQ(BlockExamplesOf("old"), 1);
  EXPECT_EQ(BlockExamplesOf("nowhere"), 1);
}

TEST_F(TaskFilesTest, ATasksRulesHoldUnderAnEarlierVersionAndWhatExtendsIt) {
  ASSERT_EQ(MakeDirectories(folder_.File("protocols/earlier")), absl::OkStatus());
  Write("protocols/earlier/rules@2",
        R"(name: "rules" version: 2 extends: "rules" base { train { log_every_steps: 6 } })");
  Write("protocols/other", R"(name: "other" version: 1 extends: "rules@2")");
  for (const char* protocol : {"rules@2", "other"}) {
    const ExperimentConfig config = Merged("new", protocol, "wide");
    EXPECT_EQ(config.train().steps(), 30) << protocol;
    EXPECT_EQ(config.train().log_every_steps(), 6) << protocol;
  }
}

TEST_F(TaskFilesTest, ATaskBringsItsOwnRulesAndSizes) {
  const ExperimentConfig config = Merged("new", "rules", "wide");
  EXPECT_EQ(config.train().steps(), 30);
  EXPECT_EQ(config.train().log_every_steps(), 5);
  EXPECT_EQ(config.train().batch_examples(), 3);
  EXPECT_EQ(config.model().width(), 16);
  EXPECT_EQ(config.protocol(), "rules@3");
}

// The protocol's own rules come first, then the task's, the extended protocol's before its own.
TEST_F(TaskFilesTest, RulesUnderAnExtendedProtocolHoldUnderThoseThatExtendIt) {
  const ExperimentConfig config = Merged("new", "later", "wide");
  EXPECT_EQ(config.train().steps(), 40);
  EXPECT_EQ(config.train().batch_examples(), 3);
  EXPECT_EQ(config.train().log_every_steps(), 7);
}

TEST_F(TaskFilesTest, OtherTasksAreUntouched) {
  const ExperimentConfig config = Merged("old", "rules", "wide");
  EXPECT_EQ(config.train().steps(), 20);
  EXPECT_FALSE(config.train().has_batch_examples());
  EXPECT_EQ(config.model().width(), 8);
  // Pages and versions of a protocol are about its own file.
  EXPECT_EQ(LoadFragment("protocols", "rules")->task().count("new"), 0u);
  EXPECT_EQ(LoadFragmentForAllTasks("protocols", "rules")->task().count("new"), 1u);
}

TEST_F(TaskFilesTest, OnlyOneFileSpeaksForATask) {
  Write("tasks/old", R"(
    name: "old" version: 1 protocol { key: "rules" value { train { steps: 1 } } })");
  const absl::Status status = LoadFragmentForTask("protocols", "rules", "old").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("tasks/old.textproto speaks for rules, but protocols/rules.textproto names "
                        "the task itself"));
}

TEST_F(TaskFilesTest, AMissingRuleSaysWhereItWouldStand) {
  Write("tasks/bare", R"(name: "bare" version: 1)");
  EXPECT_THAT(
      std::string(ConfigBuilder("bare").AddProtocol("rules").message()),
      HasSubstr("protocol \"rules@3\" has no rules for task \"bare\"; it has old; others "
                "bring their own in configs/tasks/<name>.textproto or beside their data, as "
                "protocol { key: \"rules\" value { ... } }"));
  ConfigBuilder builder("new");
  ASSERT_TRUE(builder.AddProtocol("rules").ok());
  EXPECT_THAT(std::string(builder.AddPreset("each").message()),
              HasSubstr("preset \"each\" has no sizes for task \"new\"; it has old"));
}

TEST_F(TaskFilesTest, NamesThatCanBeUsedForATask) {
  EXPECT_THAT(NamesForTask("protocols", "new").value(), ElementsAre("later", "rules"));
  EXPECT_THAT(NamesForTask("presets", "new").value(), ElementsAre("wide"));
  EXPECT_THAT(NamesForTask("presets", "old").value(), ElementsAre("each", "wide"));
  Write("tasks/bare", R"(name: "bare" version: 1)");
  EXPECT_THAT(NamesForTask("protocols", "bare").value(), IsEmpty());
}

}  // namespace
}  // namespace lra
