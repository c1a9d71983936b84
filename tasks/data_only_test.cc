#include "tasks/data_only.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "datasets/data_test_util.h"
#include "lra/config.h"
#include "lra/data_root.h"
#include "lra/experiment.h"
#include "lra/files.h"
#include "lra/folder_test_util.h"
#include "tasks/baseline_method.h"
#include "tasks/inventory.h"
#include "tasks/task_facts.h"

namespace lra {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Manifest WithSplits(const TaskSpec& spec, const std::vector<std::string>& splits) {
  Manifest manifest;
  *manifest.mutable_spec() = spec;
  for (const std::string& name : splits) manifest.add_splits()->set_name(name);
  return manifest;
}

TaskSpec Spec(TaskSpec::Content content) {
  TaskSpec spec;
  spec.set_content(content);
  spec.set_max_length_tokens(content == TaskSpec::RGB_IMAGE ? 48 : 16);
  if (content == TaskSpec::RGB_IMAGE || content == TaskSpec::GREY_IMAGE)
    spec.set_image_side_pixels(4);
  return spec;
}

std::string ViewOf(const TaskSpec& spec, const std::vector<std::string>& splits) {
  const auto view = GenericView(WithSplits(spec, splits));
  return view.ok() ? view->ShortDebugString() : std::string(view.status().message());
}

TEST(GenericViewTest, FollowsFromContentAndSplits) {
  const std::vector<std::string> all = {"all"}, three = {"train", "validation", "test"};
  EXPECT_EQ(ViewOf(Spec(TaskSpec::IDS), three),
            "max_length_tokens: 16 split: OFFICIAL end_mark: false pad_to: LONGEST");
  EXPECT_EQ(ViewOf(Spec(TaskSpec::TEXT), {"train", "test"}),
            "max_length_tokens: 16 split: HOLDOUT unit: BYTE end_mark: false pad_to: LONGEST");
  EXPECT_EQ(ViewOf(Spec(TaskSpec::GREY_IMAGE), all),
            "max_length_tokens: 16 split: SEED42 pixels: IDS_PLUS_ONE");
  EXPECT_EQ(ViewOf(Spec(TaskSpec::RGB_IMAGE), all),
            "max_length_tokens: 16 split: SEED42 grey: TENSORFLOW pixels: IDS_PLUS_ONE");
  TaskSpec pairs = Spec(TaskSpec::TEXT);
  pairs.set_is_pair(true);
  EXPECT_THAT(ViewOf(pairs, three), HasSubstr("literals: RAW"));
  TaskSpec trees = Spec(TaskSpec::IDS);
  trees.set_close_bracket_id(3);
  EXPECT_THAT(ViewOf(trees, three), HasSubstr("brackets: CLOSE_ONLY"));
  EXPECT_THAT(ViewOf(trees, {"train", "validation"}), HasSubstr("the splits train and test"));
}

TEST(GenericViewTest, ReadsNoMoreThanAModelMay) {
  TaskSpec ids = Spec(TaskSpec::IDS);
  ids.set_max_length_tokens(3'000'000);
  EXPECT_EQ(GenericView(WithSplits(ids, {"all"}))->max_length_tokens(), kMostReadTokens);
  TaskSpec picture = Spec(TaskSpec::GREY_IMAGE);
  picture.set_image_side_pixels(1024);
  EXPECT_EQ(GenericView(WithSplits(picture, {"all"}))->max_length_tokens(), kMostReadTokens);
  picture.set_image_side_pixels(1025);
  EXPECT_THAT(ViewOf(picture, {"all"}), HasSubstr("a side of 1024 pixels is the most"));
  // The bound is the field's.
  DataView view;
  view.set_max_length_tokens(kMostReadTokens);
  EXPECT_EQ(CheckRanges(view), absl::OkStatus());
  view.set_max_length_tokens(kMostReadTokens + 1);
  EXPECT_NE(CheckRanges(view), absl::OkStatus());
}

TEST(TextBySpecTest, IsReadable) {
  TaskSpec ids = Spec(TaskSpec::IDS);
  for (const char* name : {"<pad>", "A"}) ids.add_token_names(name);
  const std::vector<uint16_t> tokens = {1, 2}, bytes = {'a', '"', 0xe9, 10};
  EXPECT_EQ(TextBySpec(ids, {.tokens = tokens}), "A 2");
  EXPECT_EQ(TextBySpec(Spec(TaskSpec::TEXT), {.tokens = bytes}), "a\\\"\\xe9\\n");
  const std::vector<uint16_t> accented = {0xc3, 0xa9, '!'};
  EXPECT_EQ(TextBySpec(Spec(TaskSpec::TEXT), {.tokens = accented}), "\u00e9!");
  ids.set_is_pair(true);
  EXPECT_EQ(TextBySpec(ids, {.tokens = tokens, .tokens_b = tokens}), "A 2 | A 2");
}

TEST(DataOnlyTaskTest, TextsAndPicturesHaveTheBaselinesOfTheirKind) {
  const auto names = [](const TaskSpec& spec) {
    Manifest manifest;
    *manifest.mutable_spec() = spec;
    std::vector<std::string> all;
    for (const auto& method : MakeDataOnlyTask(manifest)->Baselines(DataView()))
      all.push_back(method->facts().name);
    return all;
  };
  TaskSpec pairs = Spec(TaskSpec::TEXT), pictures = Spec(TaskSpec::GREY_IMAGE);
  pairs.set_is_pair(true);
  EXPECT_THAT(names(Spec(TaskSpec::TEXT)), ElementsAre("bag_of_units", "ngram_linear"));
  EXPECT_THAT(names(pairs), ElementsAre("lengths", "bag_of_units", "ngram_linear", "overlap"));
  EXPECT_THAT(names(pictures), ElementsAre("pixel_linear"));
  EXPECT_THAT(names(Spec(TaskSpec::IDS)), IsEmpty());
}

TEST(DataOnlyTaskTest, EncodesSingleTextsAlone) {
  const auto encoded = [](const TaskSpec& spec) {
    Manifest manifest;
    *manifest.mutable_spec() = spec;
    return MakeDataOnlyTask(manifest)->Encode({.bytes = "a\xe9", .label = 1});
  };
  const auto text = encoded(Spec(TaskSpec::TEXT));
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(text->tokens, ElementsAre('a', 0xe9));
  EXPECT_EQ(text->label, 1);
  TaskSpec pairs = Spec(TaskSpec::TEXT);
  pairs.set_is_pair(true);
  for (const TaskSpec& spec : {pairs, Spec(TaskSpec::IDS), Spec(TaskSpec::GREY_IMAGE)}) {
    EXPECT_EQ(encoded(spec).status().code(), absl::StatusCode::kUnimplemented);
  }
}

class AdoptDataTest : public testing::Test {
 protected:
  AdoptDataTest() { setenv("LRA_DATA", folder_.path().c_str(), 1); }
  ~AdoptDataTest() override { unsetenv("LRA_DATA"); }

  // Data of a task of this name, in the folder of its name.
  std::string Write(const std::string& name, const std::string& task) {
    TaskSpec spec = SmallSpec();
    spec.set_name(task);
    WriteTestData(folder_.File(name), spec,
                  {{"train", {{{1, 2}, {}, 0}, {{2, 2}, {}, 1}}}, {"test", {{{2, 1}, {}, 1}}}});
    return folder_.File(name);
  }
  std::string Refusal(const std::string& directory) {
    return std::string(AdoptData(directory, {.quiet = true}).status().message());
  }
  const TestFolder folder_;
};

TEST_F(AdoptDataTest, MakesATaskOfData) {
  const std::string directory = Write("mine", "mine");
  EXPECT_FALSE(KnowsTask("mine"));
  EXPECT_THAT(
      std::string(ResolveExperiment({.task = "mine", .attention = "linear"}).status().message()),
      HasSubstr("lra data adopt mine"));
  for (const absl::Status& unknown : {MakeTask("mine").status(), LoadTaskFile("mine").status()}) {
    EXPECT_EQ(unknown.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(unknown.message()), HasSubstr("lra data adopt mine"));
  }
  EXPECT_THAT(DataSetNames(), Contains("mine"));
  EXPECT_EQ(Inspect("mine", directory)->command, "lra data adopt mine");

  const auto adopted = AdoptData(directory, {.quiet = true});
  ASSERT_TRUE(adopted.ok()) << adopted.status();
  const std::string path = adopted->rules_path;
  EXPECT_EQ(path, DataOnlyTaskPath("mine"));
  EXPECT_TRUE(KnowsTask("mine"));
  EXPECT_THAT(ConfigNames("tasks"), Contains("mine"));
  EXPECT_EQ((*MakeTask("mine"))->Spec().name(), "mine");
  EXPECT_EQ((*MakeTask("mine"))->Splits().size(), 2u);
  EXPECT_EQ(DescribeTask("mine")->baselines.size(), 1u);
  EXPECT_EQ(Inspect("mine", directory)->command, "");
  EXPECT_EQ(CheckDataOfTask(directory, "mine"), absl::OkStatus());
  for (const char* protocol : {"fair", "strong"}) {
    for (const char* preset : {"small", "smoke"}) {
      const auto resolved = ResolveExperiment(
          {.task = "mine", .attention = "linear", .protocol = protocol, .preset = preset});
      ASSERT_TRUE(resolved.ok()) << resolved.status();
      EXPECT_EQ(resolved->config.view().split(), DataView::HOLDOUT);
    }
  }
  // The view is the task's own.
  std::string rules = *ReadFile(path);
  rules.replace(rules.find("split: HOLDOUT"), 14, "split: OFFICIAL");
  ASSERT_EQ(WriteFileAtomically(path, rules), absl::OkStatus());
  EXPECT_EQ(ResolveExperiment({.task = "mine", .attention = "linear"})->config.view().split(),
            DataView::OFFICIAL);
  // Its rules are those of a version of the task.
  rules.replace(rules.find("version: "), 10, "version: 7");
  ASSERT_EQ(WriteFileAtomically(path, rules), absl::OkStatus());
  EXPECT_THAT(std::string(CheckDataOfTask(directory, "mine").message()), HasSubstr("for 7"));
}

TEST_F(AdoptDataTest, SaysWhatASplitHoldsOfAnotherAndWhichClassesAreEmpty) {
  TaskSpec spec = SmallSpec();
  spec.set_name("mine");
  spec.set_classes(9);
  // Labels that were counted from 1.
  WriteTestData(folder_.File("mine"), spec,
                {{"train", {{{1, 2}, {}, 1}, {{2, 2}, {}, 2}}}, {"test", {{{2, 2}, {}, 1}}}});
  const auto adopted = AdoptData(folder_.File("mine"), {.quiet = true});
  ASSERT_TRUE(adopted.ok()) << adopted.status();
  ASSERT_EQ(adopted->report.duplicates.size(), 1u);
  EXPECT_EQ(adopted->report.duplicates[0].earlier_split(), "train");
  EXPECT_EQ(adopted->report.duplicates[0].split(), "test");
  EXPECT_EQ(adopted->report.duplicates[0].count(), 1);
  EXPECT_THAT(adopted->report.notes,
              Contains("no split has an example of class 0, 3, 4, 5, 6 and 2 more; classes are 0 "
                       "to 8: are labels counted from 1?"));
}

TEST_F(AdoptDataTest, RefusesWhatItWouldNotFindAgain) {
  EXPECT_THAT(Refusal(Write("listops", "listops")), HasSubstr("has code and rules"));
  EXPECT_THAT(Refusal(Write("elsewhere", "mine")), HasSubstr("move or link it to"));
  EXPECT_THAT(Refusal(Write("..mine", "../mine")), HasSubstr("make a name"));
  EXPECT_THAT(ConfigNames("tasks"), Not(Contains("elsewhere")));
  const std::string directory = Write("mine", "mine");
  ASSERT_TRUE(AdoptData(directory, {.quiet = true}).ok());
  EXPECT_THAT(Refusal(directory), HasSubstr("exists already; delete it to have it written anew"));
  // Data that is not as its manifest says gets no rules.
  ASSERT_EQ(RemoveAll(DataOnlyTaskPath("mine")), absl::OkStatus());
  const std::string labels = JoinPath(directory, ShardFileName("test", 0, 1, "labels"));
  std::string bytes = *ReadFile(labels);
  bytes.back() ^= 1;
  ASSERT_EQ(WriteFileAtomically(labels, bytes), absl::OkStatus());
  EXPECT_THAT(Refusal(directory), HasSubstr("sha256"));
  EXPECT_FALSE(FileExists(DataOnlyTaskPath("mine")));
}

// A misspelt field is told as that, and not as a task that lacks rules.
TEST_F(AdoptDataTest, RulesThatCannotBeReadAreThereAllTheSame) {
  const std::string directory = Write("mine", "mine");
  const auto adopted = AdoptData(directory, {.quiet = true});
  ASSERT_TRUE(adopted.ok()) << adopted.status();
  const std::string& path = adopted->rules_path;
  ASSERT_EQ(WriteFileAtomically(path, *ReadFile(path) + "versoin: 2\n"), absl::OkStatus());
  EXPECT_TRUE(KnowsTask("mine"));
  const auto wrong = HasSubstr("no field named \"versoin\". Did you mean \"version\"?");
  EXPECT_THAT(std::string(MakeTask("mine").status().message()), wrong);
  const auto status = Inspect("mine", directory);
  ASSERT_TRUE(status.ok()) << status.status();
  EXPECT_THAT(status->description, wrong);
  EXPECT_EQ(status->command, "");
}

TEST_F(AdoptDataTest, ACopyUnderAnotherNameIsTold) {
  ASSERT_TRUE(AdoptData(Write("mine", "mine"), {.quiet = true}).ok());
  const std::string copy = folder_.File("mine2");
  std::filesystem::copy(folder_.File("mine"), copy);
  EXPECT_EQ(
      LoadTaskFile("mine2").status().message(),
      absl::StrCat(DataOnlyTaskPath("mine2"),
                   " calls itself \"mine\", not \"mine2\" as its folder is called, by which a "
                   "task's data and rules are found; call the folder \"mine\", or make data "
                   "of the name \"mine2\""));
  EXPECT_THAT(VerifyDataset(copy, {.quiet = true})->notes,
              Contains(HasSubstr("mine2 holds task \"mine\"; move or link it to ")));
  EXPECT_THAT(VerifyDataset(folder_.File("mine"), {.quiet = true})->notes,
              Not(Contains(HasSubstr("move or link"))));
}

// A task with code is not replaced by a file beside its data.
TEST_F(AdoptDataTest, TheProgramsOwnTasksWin) {
  Write("listops", "listops");
  ASSERT_EQ(WriteFileAtomically(DataOnlyTaskPath("listops"), "name: \"listops\" data_only: true"),
            absl::OkStatus());
  EXPECT_FALSE(LoadTaskFile("listops")->data_only());
}

}  // namespace
}  // namespace lra
