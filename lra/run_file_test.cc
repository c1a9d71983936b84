// On the configurations of the tree.
#include "lra/run_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "lra/config.h"
#include "lra/files.h"
#include "lra/folder_test_util.h"

namespace lra {
namespace {

using testing::HasSubstr;
using testing::Not;

// What the file means.
std::string Meaning(const std::string& path) {
  const auto resolved = ResolveExperiment({.run_file = path});
  EXPECT_TRUE(resolved.ok()) << resolved.status();
  return resolved.ok() ? resolved->config.DebugString() : "";
}

std::string Meaning(const ExperimentChoice& choice) {
  const auto resolved = ResolveExperiment(choice);
  EXPECT_TRUE(resolved.ok()) << resolved.status();
  return resolved.ok() ? resolved->config.DebugString() : "";
}

// Takes away every "#" inside of `overrides` that stands before a field or a brace.
std::string Uncommented(const std::string& text) {
  const size_t overrides = text.find("overrides {");
  return text.substr(0, overrides) +
         std::regex_replace(text.substr(overrides), std::regex("# ( *(\\w+: |\\w+ \\{|\\[|\\}))"),
                            "$1");
}

TEST(RunFileTextTest, MeansWhatTheChoiceMeansForEveryTaskAndAttention) {
  const TestFolder folder;
  std::vector<ExperimentChoice> choices = {
      {.task = "text", .attention = "none", .sets = {"block.name=dilated_convolution"}},
      {.task = "listops",
       .attention = "factorized",
       .protocol = "strong",
       .preset = "smoke",
       .sets = {"seed=7", "attention.options.scale=LEARNED", "view.brackets=NONE",
                "search.learning_rate=1e-3,1e-4", "search.budget_trials=2",
                "search.select=VALIDATION"}}};
  for (const std::string& task : ConfigNames("tasks"))
    choices.push_back({.task = task, .attention = "linear"});
  for (const std::string& attention : ConfigNames("attentions"))
    choices.push_back({.task = "listops", .attention = attention});
  int files = 0;
  for (const ExperimentChoice& choice : choices) {
    SCOPED_TRACE(choice.task + " " + choice.attention);
    const std::string path = folder.File(std::to_string(++files));
    ASSERT_EQ(WriteRunFile(choice, path), absl::OkStatus());
    EXPECT_EQ(Meaning(path), Meaning(choice));
    // The values behind "#" are those that are so anyway.
    ASSERT_EQ(WriteFileAtomically(path, Uncommented(*ReadFile(path))), absl::OkStatus());
    EXPECT_EQ(Meaning(path), Meaning(choice));
  }
}

TEST(RunFileTextTest, SaysWhatPeopleChange) {
  const auto text = RunFileText({.task = "listops",
                                 .attention = "cosformer",
                                 .sets = {"train.steps=7", "attention.options.scale=LENGTH"}},
                                "a/mine.textproto");
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(*text, HasSubstr("lra train --config a/mine.textproto  "));
  EXPECT_THAT(*text, HasSubstr("\ntask: \"listops\"\n"));
  EXPECT_THAT(*text, HasSubstr("\nprotocol: \"fair@1\"\n"));
  EXPECT_THAT(*text, HasSubstr("    # Optimiser steps. (whole, 1 to 100000000)\n    steps: 7\n"));
  EXPECT_THAT(*text, HasSubstr("    # learning_rate: 0.001\n"));
  EXPECT_THAT(*text, HasSubstr("        # (FIXED, LENGTH)\n        scale: LENGTH\n"));
  EXPECT_THAT(*text, HasSubstr("        # epsilon: 1e-06\n"));
  EXPECT_THAT(*text, HasSubstr("  # seed: 0\n"));
  // Fields that few people change do not stand there.
  EXPECT_THAT(*text, Not(HasSubstr("norm_epsilon")));
}

TEST(RunFileTextTest, RefusesToOverwriteAndWhatTrainingRefuses) {
  const TestFolder folder;
  const std::string path = folder.File("mine");
  const ExperimentChoice good = {.task = "listops", .attention = "linear"};
  ASSERT_EQ(WriteFileAtomically(path, "mine"), absl::OkStatus());
  EXPECT_EQ(WriteRunFile(good, path).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(*ReadFile(path), "mine");
  const std::string fresh = folder.File("fresh");
  EXPECT_THAT(std::string(WriteRunFile({.task = "lisops", .attention = "linear"}, fresh).message()),
              HasSubstr("did you mean \"listops\""));
  EXPECT_EQ(
      WriteRunFile({.task = "listops", .attention = "linear", .run_file = path}, fresh).code(),
      absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(FileExists(fresh));
}

}  // namespace
}  // namespace lra
