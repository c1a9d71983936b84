#include "tasks/task_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "datasets/data_directory.h"
#include "datasets/data_test_util.h"
#include "lra/config.h"
#include "lra/folder_test_util.h"
#include "tasks/inventory.h"

namespace lra {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

TEST(DescribeTaskTest, AGeneratedTask) {
  const auto facts = DescribeTask("listops");
  ASSERT_TRUE(facts.ok()) << facts.status();
  EXPECT_EQ(facts->version, 1);
  EXPECT_EQ(facts->spec.classes(), 10);
  ASSERT_EQ(facts->generated.size(), 3u);
  EXPECT_EQ(facts->generated[0].name, "train");
  EXPECT_EQ(facts->generated[0].examples, 96000);
  EXPECT_TRUE(facts->has_oracle_of_generated);
  EXPECT_EQ(facts->block_examples, 1);
  ASSERT_EQ(facts->baselines.size(), 7u);
  EXPECT_EQ(facts->baselines[0].name, "majority");
  EXPECT_EQ(facts->baselines[1].bar, "root operator");
  EXPECT_EQ(facts->baselines[6].bar, "depth 5");
  const std::map<std::string, std::string> options(facts->options.begin(), facts->options.end());
  EXPECT_EQ(options.at("max_depth"), "10");
}

// Tokens are guessed there, so that no label's baseline is a bar.
TEST(DescribeTaskTest, ATaskOfTokens) {
  const auto facts = DescribeTask("mnist_pixels");
  ASSERT_TRUE(facts.ok()) << facts.status();
  std::vector<std::string> names;
  for (const BaselineFacts& baseline : facts->baselines) names.push_back(baseline.name);
  EXPECT_THAT(names, testing::Contains("unigram"));
  EXPECT_THAT(names, testing::Not(testing::Contains("majority")));
}

TEST(DescribeTaskTest, NeighboursThatDependOnEachOtherAreCountedInBlocks) {
  EXPECT_EQ(DescribeTask("bytes_lm")->block_examples, 80);
  EXPECT_EQ(DescribeTask("text")->block_examples, 80);
  EXPECT_EQ(DescribeTask("mnist_pixels")->block_examples, 100);
  EXPECT_EQ(DescribeTask("image")->block_examples, 1);
}

// Advice on how to get data is given without the task's code.
TEST(DescribeTaskTest, ConfigsKnowWhichTasksAreImported) {
  for (const std::string& name : TaskRegistry::Get().Names())
    EXPECT_EQ(LoadTaskFile(name)->is_imported(), DescribeTask(name)->generated.empty()) << name;
}

TEST(DescribeTaskTest, AnImportedTask) {
  const auto facts = DescribeTask("text");
  ASSERT_TRUE(facts.ok()) << facts.status();
  EXPECT_THAT(facts->generated, IsEmpty());
  EXPECT_THAT(facts->imported_from, HasSubstr("aclImdb"));
  EXPECT_FALSE(facts->has_oracle_of_generated);
  ASSERT_EQ(facts->baselines.size(), 3u);
  EXPECT_EQ(facts->baselines[1].bar, "order");
  EXPECT_EQ(facts->baselines[2].bar, "n-grams");
  EXPECT_THAT(std::string(DescribeTask("txt").status().message()), HasSubstr("\"text\""));
}

TEST(KnowledgeOfTaskTest, OracleAndShortcutOfTheDataSetsOrigin) {
  Manifest manifest;
  *manifest.mutable_spec() = (*MakeTask("listops"))->Spec();
  manifest.set_origin("generated");
  const auto knowledge = KnowledgeOfTask(manifest);
  ASSERT_TRUE(knowledge.ok()) << knowledge.status();
  const std::vector<uint16_t> ids = {12, 10, 3, 15};  // [MAX 9 2 ]
  const auto label = knowledge->oracle({.tokens = ids});
  ASSERT_TRUE(label.ok()) << label.status();
  EXPECT_EQ(*label, 9);
  const std::vector<int32_t> max = {12, 10, 3, 15}, min = {11, 10, 3, 15};
  EXPECT_NE(knowledge->shortcut(max), knowledge->shortcut(min));
  EXPECT_LT(knowledge->shortcut(max), knowledge->shortcut_values);
}

TEST(KnowledgeOfTaskTest, NothingOfATaskThatIsNotHere) {
  Manifest manifest;
  manifest.mutable_spec()->set_name("somebody_elses");
  const auto knowledge = KnowledgeOfTask(manifest);
  ASSERT_TRUE(knowledge.ok()) << knowledge.status();
  EXPECT_EQ(knowledge->oracle, nullptr);
  EXPECT_EQ(knowledge->shortcut, nullptr);
  EXPECT_EQ(knowledge->shortcut_values, 0);
}

// A folder that holds data wins over a task of the same name.
TEST(DataDirectoryOfTest, AFolderOrATasksUsualPlace) {
  const TestFolder folder;
  setenv("LRA_DATA", folder.path().c_str(), 1);
  EXPECT_EQ(DataDirectoryOf("listops"), folder.File("listops"));
  EXPECT_EQ(DataDirectoryOf("elsewhere"), "elsewhere");
  WriteTestData(folder.File("text"), SmallSpec(), {{"train", {{{1, 2}, {}, 0}}}});
  EXPECT_EQ(DataDirectoryOf(folder.File("text")), folder.File("text"));
  unsetenv("LRA_DATA");
}

}  // namespace
}  // namespace lra
