#include "tasks/text_import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "datasets/manifest.h"
#include "lra/config.h"
#include "lra/data_root.h"
#include "lra/experiment.h"
#include "lra/files.h"
#include "lra/folder_test_util.h"
#include "tasks/data_only.h"
#include "tasks/inventory.h"
#include "tasks/raw_files.h"
#include "tasks/task.h"
#include "tasks/verify.h"

namespace lra {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class TextImportTest : public testing::Test {
 protected:
  TextImportTest() { setenv("LRA_DATA", folder_.File("data").c_str(), 1); }
  ~TextImportTest() override { unsetenv("LRA_DATA"); }

  std::string Write(const std::string& name, const std::string& bytes) const {
    EXPECT_EQ(WriteFileAtomically(folder_.File(name), bytes), absl::OkStatus());
    return folder_.File(name);
  }
  // A table of so many different texts of each label, the labels one after the other.
  std::string WriteTable(const std::string& name, const std::vector<std::string>& labels, int texts,
                         const std::string& more = "") const {
    std::string table = "text,label\n";
    for (const std::string& label : labels) {
      for (int i = 0; i < texts; ++i) {
        absl::StrAppend(&table, name, " ", label, " ", i, ",", label, "\n");
      }
    }
    return Write(name, table + more);
  }
  TextImportOptions Tables() const {
    TextImportOptions options;
    options.task = "reviews";
    options.train = WriteTable("train.csv", {"pos", "neg"}, 25);
    options.test = WriteTable("test.csv", {"pos", "neg"}, 2, "train.csv neg 3,neg\n");
    options.quiet = true;
    return options;
  }
  // The message of an import that must fail and leave nothing.
  std::string Refusal(const TextImportOptions& options) const {
    const absl::Status status = ImportTexts(options).status();
    EXPECT_FALSE(status.ok());
    const std::string root = folder_.File("data");
    EXPECT_TRUE(!FileExists(root) || std::filesystem::is_empty(root)) << status;
    return std::string(status.message());
  }

  const TestFolder folder_;
};

TEST_F(TextImportTest, MakesATaskOfTables) {
  TextImportOptions options = Tables();
  options.train = WriteTable("train.csv", {"pos", "neg"}, 25, "\"a line\nand one\",pos\n");
  const auto imported = ImportTexts(options);
  ASSERT_TRUE(imported.ok()) << imported.status();
  const Manifest& manifest = imported->manifest;
  EXPECT_THAT(manifest.class_names(), ElementsAre("neg", "pos"));
  EXPECT_EQ(manifest.spec().content(), TaskSpec::TEXT);
  EXPECT_EQ(manifest.spec().vocabulary_size(), 256);
  EXPECT_EQ(manifest.spec().token_names_size(), 0);
  EXPECT_EQ(manifest.spec().classes(), 2);
  EXPECT_EQ(manifest.spec().max_length_tokens(), 16);  // "train.csv pos 10"
  ASSERT_EQ(manifest.splits_size(), 2);
  EXPECT_THAT(manifest.splits(0).label_count(), ElementsAre(25, 26));
  EXPECT_THAT(manifest.splits(1).label_count(), ElementsAre(3, 2));
  ASSERT_EQ(manifest.duplicates_size(), 1);
  EXPECT_EQ(manifest.duplicates(0).split(), "test");
  EXPECT_EQ(manifest.duplicates(0).earlier_split(), "train");
  EXPECT_EQ(manifest.duplicates(0).count(), 1);
  ASSERT_EQ(manifest.sources_size(), 2);
  EXPECT_EQ(manifest.sources(1).name(), "train.csv");
  // A tenth of 25 and of 26.
  EXPECT_EQ(imported->view.split(), DataView::HOLDOUT);
  EXPECT_EQ(imported->validation_examples, 4);
  EXPECT_EQ(imported->longer_examples, 0);
  EXPECT_THAT(imported->notes, ElementsAre("1 of the 5 examples of test have an input that stands "
                                           "in train, too: a score on test is not one of unseen "
                                           "inputs"));

  EXPECT_EQ(imported->directory, folder_.File("data/reviews"));
  EXPECT_EQ(imported->rules_path, DataOnlyTaskPath("reviews"));
  EXPECT_TRUE(KnowsTask("reviews"));
  EXPECT_EQ(ResolveExperiment({.task = "reviews", .attention = "linear"})
                ->config.view()
                .max_length_tokens(),
            16);
  const auto report = VerifyDataset(imported->directory, {.quiet = true});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_THAT(report->problems, IsEmpty());
  const auto shown = ShowExamples(imported->directory, "train", 60);
  ASSERT_TRUE(shown.ok()) << shown.status();
  ASSERT_EQ(shown->size(), 51u);
  EXPECT_EQ((*shown)[0].source, "train.csv pos 0");
  EXPECT_EQ((*shown)[0].label, 1);
  EXPECT_EQ((*shown)[0].class_name, "pos");
  EXPECT_EQ((*shown)[50].source, "a line\\nand one");
}

TEST_F(TextImportTest, ExamplesDependOnTextsAndLabelsAlone) {
  std::string table = "label,text\n", objects;
  for (int i = 0; i < 10; ++i) {
    for (const std::string label : {"a", "b"}) {
      const std::string text = absl::StrCat("text of ", label, i);
      ASSERT_EQ(WriteSampleFile(folder_.File("train"), absl::StrCat(label, "/", i), text),
                absl::OkStatus());
    }
  }
  // In the order of a folder: class by class.
  for (const std::string label : {"a", "b"}) {
    for (int i = 0; i < 10; ++i) {
      absl::StrAppend(&table, label, ",text of ", label, i, "\n");
      absl::StrAppend(&objects, "{\"text\": \"text of ", label, i, "\", \"label\": \"", label,
                      "\"}\n");
    }
  }
  std::vector<std::string> fingerprints;
  for (const std::string& train :
       {Write("train.csv", table), Write("train.jsonl", objects), folder_.File("train")}) {
    TextImportOptions options;
    options.task = absl::StrCat("task", fingerprints.size());
    options.train = train;
    options.test = WriteTable("test.csv", {"b"}, 1);
    options.threads = 1 + static_cast<int>(fingerprints.size());
    options.quiet = true;
    const auto imported = ImportTexts(options);
    ASSERT_TRUE(imported.ok()) << imported.status();
    EXPECT_THAT(imported->manifest.class_names(), ElementsAre("a", "b"));
    fingerprints.push_back(imported->manifest.splits(0).content_fingerprint());
  }
  EXPECT_EQ(fingerprints[1], fingerprints[0]);
  EXPECT_EQ(fingerprints[2], fingerprints[0]);
}

TEST_F(TextImportTest, NumbersLabelsInTheirOrder) {
  TextImportOptions options = Tables();
  options.train = WriteTable("train.csv", {"10", "-1", "9", "2"}, 10);
  options.test = WriteTable("test.csv", {"2"}, 1);
  auto imported = ImportTexts(options);
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_THAT(imported->manifest.class_names(), ElementsAre("-1", "2", "9", "10"));
  options.task = "mixed";
  options.test = WriteTable("test.csv", {"caf\u00e9", "02", "2"}, 1);
  imported = ImportTexts(options);
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_THAT(imported->manifest.class_names(),
              ElementsAre("-1", "02", "10", "2", "9", "caf\u00e9"));
  // What no model can learn is said.
  EXPECT_THAT(imported->notes,
              ElementsAre("2 of the 3 examples of test have a class that train lacks, class 1 "
                          "(\"02\"), 5 (\"caf\u00e9\"): no model can learn it"));
}

TEST_F(TextImportTest, ANumberIsOneClass) {
  TextImportOptions options = Tables();
  options.train = WriteTable("train.csv", {"+1", "-1"}, 10);
  options.test = WriteTable("test.csv", {"+1", "-1"}, 1);
  const auto imported = ImportTexts(options);
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_THAT(imported->manifest.class_names(), ElementsAre("-1", "+1"));
  ASSERT_EQ(RemoveAll(imported->directory), absl::OkStatus());
  for (const char* again : {"1", "1.0", "10e-1"}) {
    options.test = WriteTable("test.csv", {again, "-1"}, 1);
    EXPECT_EQ(Refusal(options),
              absl::StrCat(options.train, ", ", options.test, ": the labels \"+1\" and \"", again,
                           "\" are one number; write it in one way"));
  }
  // One double, two numbers.
  options.train = WriteTable("train.csv", {"9007199254740992", "9007199254740993"}, 10);
  options.test = WriteTable("test.csv", {"9007199254740992", "nan", "inf"}, 1);
  EXPECT_EQ(ImportTexts(options).status(), absl::OkStatus());
}

TEST_F(TextImportTest, NumbersMayBeNames) {
  TextImportOptions options = Tables();
  const auto names = [&](const std::vector<std::string>& labels) {
    options.train = WriteTable("train.csv", labels, 10);
    options.test = WriteTable("test.csv", labels, 1);
    const auto imported = ImportTexts(options);
    EXPECT_TRUE(imported.ok()) << imported.status();
    if (!imported.ok()) return std::vector<std::string>();
    EXPECT_EQ(RemoveAll(imported->directory), absl::OkStatus());
    const auto& classes = imported->manifest.class_names();
    return std::vector<std::string>(classes.begin(), classes.end());
  };
  EXPECT_THAT(names({"1", "1.1", "1.10"}), ElementsAre("1", "1.1", "1.10"));  // sections
  EXPECT_THAT(names({"1", "01", "NA"}), ElementsAre("01", "1", "NA"));
  EXPECT_THAT(names({"100000", "1e5", "ABC"}), ElementsAre("100000", "1e5", "ABC"));
  options.train = WriteTable("train.csv", {"1", "1.0", "1.1"}, 10);
  options.test = WriteTable("test.csv", {"1"}, 1);
  EXPECT_THAT(Refusal(options), HasSubstr("the labels \"1\" and \"1.0\" are one number"));
}

TEST_F(TextImportTest, SaysWhichClassesTrainAndTestDoNotShare) {
  TextImportOptions options = Tables();
  options.test = WriteTable("test.csv", {"pos"}, 20);
  const auto imported = ImportTexts(options);
  ASSERT_TRUE(imported.ok()) << imported.status();
  const auto note = HasSubstr("test lacks class 0 (\"neg\"), of which train has examples");
  EXPECT_THAT(imported->notes, ElementsAre(note));
  EXPECT_THAT(VerifyDataset(imported->directory, {.quiet = true})->notes, testing::Contains(note));
  ASSERT_EQ(RemoveAll(imported->directory), absl::OkStatus());
  options.test = WriteTable("test.csv", {"0", "1"}, 20);
  EXPECT_THAT(Refusal(options), HasSubstr("test.csv: train and test share no class: train has "
                                          "class 2 (\"neg\"), 3 (\"pos\"), test has class 0"));
}

// A tenth of nine is none.
TEST_F(TextImportTest, SaysThatRareClassesAreNotInValidation) {
  TextImportOptions options = Tables();
  options.train = WriteTable("train.csv", {"pos"}, 30,
                             "a,neg\nb,neg\nc,neg\nd,neg\ne,neg\nf,neg\ng,neg\nh,neg\ni,neg\n");
  options.test = WriteTable("test.csv", {"pos", "neg"}, 5);
  auto imported = ImportTexts(options);
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(imported->validation_examples, 3);
  EXPECT_THAT(imported->notes,
              testing::Contains(HasSubstr("validation has no example of 1 of 2 classes")));
  options.task = "validated";
  options.validation = WriteTable("validation.csv", {"pos", "neg"}, 2);
  imported = ImportTexts(options);
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_THAT(imported->notes, testing::Not(testing::Contains(HasSubstr("validation has no"))));
}

// The rules must be ones that the program takes.
TEST_F(TextImportTest, RulesOfVeryLongTextsCanBeRead) {
  TextImportOptions options = Tables();
  options.train = WriteTable("train.csv", {"pos", "neg"}, 10,
                             absl::StrCat(std::string(kMostReadTokens + 5, 'x'), ",pos\n"));
  options.max_length_tokens = kMostReadTokens;
  const auto imported = ImportTexts(options);
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(imported->view.max_length_tokens(), kMostReadTokens);
  EXPECT_EQ(imported->longer_examples, 1);
  EXPECT_EQ(CheckRanges(*GenericRules(imported->manifest)), absl::OkStatus());
}

TEST_F(TextImportTest, ModelsReadTheBeginningOfLongTexts) {
  TextImportOptions options = Tables();
  options.train =
      WriteTable("train.csv", {"pos", "neg"}, 10, absl::StrCat(std::string(5000, 'x'), ",pos\n"));
  auto imported = ImportTexts(options);
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(imported->manifest.spec().max_length_tokens(), 5000);
  EXPECT_EQ(imported->view.max_length_tokens(), kUsualTextTokens);
  EXPECT_EQ(imported->longer_examples, 1);
  options.task = "whole";
  options.max_length_tokens = 6000;
  imported = ImportTexts(options);
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(imported->view.max_length_tokens(), 5000);
  EXPECT_EQ(imported->longer_examples, 0);
}

TEST_F(TextImportTest, TakesAValidationSplitOrOnePool) {
  TextImportOptions options = Tables();
  options.validation = WriteTable("validation.csv", {"pos", "neg"}, 3);
  auto imported = ImportTexts(options);
  ASSERT_TRUE(imported.ok()) << imported.status();
  ASSERT_EQ(imported->manifest.splits_size(), 3);
  EXPECT_EQ(imported->manifest.splits(1).name(), "validation");
  EXPECT_EQ(imported->view.split(), DataView::OFFICIAL);
  EXPECT_EQ(imported->validation_examples, 6);
  options = TextImportOptions();
  options.task = "pool";
  options.all = WriteTable("all.csv", {"pos", "neg"}, 12);
  options.quiet = true;
  options.out = folder_.File("elsewhere");
  imported = ImportTexts(options);
  ASSERT_TRUE(imported.ok()) << imported.status();
  ASSERT_EQ(imported->manifest.splits_size(), 1);
  EXPECT_EQ(imported->manifest.splits(0).name(), "all");
  EXPECT_EQ(imported->view.split(), DataView::SEED42);
  EXPECT_EQ(imported->validation_examples, 2);
  EXPECT_THAT(imported->notes, ElementsAre(HasSubstr("move or link it to ")));
  EXPECT_FALSE(KnowsTask("pool"));
  // It brings its rules along.
  ASSERT_EQ(std::rename(options.out.c_str(), folder_.File("data/pool").c_str()), 0);
  EXPECT_TRUE(KnowsTask("pool"));
}

TEST_F(TextImportTest, RefusesWhatCannotBeTrained) {
  TextImportOptions options = Tables();
  options.task = "listops";
  EXPECT_THAT(Refusal(options), HasSubstr("task \"listops\" has code and rules"));
  options.task = "My Reviews";
  EXPECT_THAT(Refusal(options), HasSubstr("lower-case letters, digits and _ make a name"));
  options = Tables();
  options.test = "";
  EXPECT_THAT(Refusal(options), HasSubstr("give --train and --test"));
  options.all = options.train;
  EXPECT_THAT(Refusal(options), HasSubstr("--all is one pool"));
  options = Tables();
  options.test = folder_.File("nowhere.csv");
  EXPECT_THAT(Refusal(options), HasSubstr("no file or folder"));
  options.test = Write("empty.csv", "text,label\n");
  EXPECT_THAT(Refusal(options), HasSubstr("empty.csv: has no examples"));
  options.test = Write("latin.csv", "text,label\nx,caf\xe9\n");
  EXPECT_THAT(Refusal(options),
              HasSubstr("latin.csv: line 2: the label is \"caf\\xe9\", which is not UTF-8"));
  options = Tables();
  options.train = options.test = WriteTable("one.csv", {"pos"}, 20);
  EXPECT_THAT(Refusal(options),
              HasSubstr(absl::StrCat(options.train, ", ", options.test,
                                     ": every label is \"pos\"; two classes are the least")));
  options = Tables();
  options.train = WriteTable("few.csv", {"pos", "neg"}, 9);
  EXPECT_EQ(
      Refusal(options),
      absl::StrCat("the largest class of ", options.train,
                   " has 9 texts, 10 are needed for one of them to validate; give --validation"));
  options = Tables();
  options.all = WriteTable("pool.csv", {"pos", "neg", "even"}, 3);
  options.train = options.test = "";
  EXPECT_EQ(Refusal(options), absl::StrCat(options.all, " has 9 texts, 10 are the least"));
  // The columns were taken for each other.
  options = Tables();
  options.train = WriteTable("train.csv", {"pos", "neg"}, 100);
  options.fields = {.label = "text", .text = "label"};
  EXPECT_THAT(Refusal(options),
              HasSubstr("test.csv: the labels of 205 texts have 204 values, such as "));
}

TEST_F(TextImportTest, WhatIsThereIsLeftAlone) {
  const TextImportOptions options = Tables();
  ASSERT_TRUE(ImportTexts(options).ok());
  const std::string manifest = *ReadFile(folder_.File("data/reviews/manifest.textproto"));
  const absl::Status again = ImportTexts(options).status();
  EXPECT_EQ(again.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(again.message()), HasSubstr("it is left alone: remove it, or choose"));
  EXPECT_EQ(*ReadFile(folder_.File("data/reviews/manifest.textproto")), manifest);
}

}  // namespace
}  // namespace lra
