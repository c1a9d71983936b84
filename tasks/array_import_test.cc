#include "tasks/array_import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "datasets/archive_test_util.h"
#include "datasets/npy.h"
#include "lra/experiment.h"
#include "lra/files.h"
#include "lra/folder_test_util.h"
#include "tasks/inventory.h"
#include "tasks/verify.h"

namespace lra {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

template <class T>
TestEntry ArrayOf(const std::string& name, const std::vector<T>& values,
                  const std::vector<int64_t>& shape) {
  return {name + ".npy",
          absl::StrCat(FormatNpyHeader(NpyTypeOf<T>(), shape),
                       absl::string_view(reinterpret_cast<const char*>(values.data()),
                                         values.size() * sizeof(T)))};
}

class ArrayImportTest : public testing::Test {
 protected:
  ArrayImportTest() { setenv("LRA_DATA", folder_.File("data").c_str(), 1); }
  ~ArrayImportTest() override { unsetenv("LRA_DATA"); }

  std::string Write(const std::string& name, const std::vector<TestEntry>& arrays) const {
    WriteArchive(folder_.File(name), /*zip=*/true, arrays);
    return folder_.File(name);
  }
  // So many sequences of 1 to 3 ids behind which zeros stand, with labels 0 and 1 in turn.
  std::string WritePadded(const std::string& name, int64_t examples, int32_t step) const {
    std::vector<int32_t> tokens;
    std::vector<int64_t> labels;
    for (int64_t i = 0; i < examples; ++i) {
      for (int64_t n = 0; n < 4; ++n)
        tokens.push_back(n <= i % 3 ? static_cast<int32_t>(1 + i * step + n) : 0);
      labels.push_back(i % 2);
    }
    return Write(name,
                 {ArrayOf("tokens", tokens, {examples, 4}), ArrayOf("labels", labels, {examples})});
  }
  ImportOptions Options(const std::string& train, const std::string& test) const {
    ImportOptions options;
    options.task = "votes";
    options.train = train;
    options.test = test;
    options.quiet = true;
    return options;
  }
  // The message of an import that must fail and leave nothing.
  std::string Refusal(const ImportOptions& options) const {
    const absl::Status status = ImportArrays(options).status();
    EXPECT_FALSE(status.ok());
    const std::string root = folder_.File("data");
    EXPECT_TRUE(!FileExists(root) || std::filesystem::is_empty(root)) << status;
    return std::string(status.message());
  }
  // The same for a test file of these arrays, beside a training file that is right.
  std::string Refusal(const std::vector<TestEntry>& test) const {
    return Refusal(Options(WritePadded("train.npz", 30, 5), Write("test.npz", test)));
  }

  const TestFolder folder_;
};

TEST_F(ArrayImportTest, MakesATaskOfPaddedSequences) {
  const auto imported =
      ImportArrays(Options(WritePadded("train.npz", 30, 5), WritePadded("test.npz", 6, 100)));
  ASSERT_TRUE(imported.ok()) << imported.status();
  const TaskSpec& spec = imported->manifest.spec();
  EXPECT_EQ(spec.content(), TaskSpec::IDS);
  EXPECT_EQ(spec.vocabulary_size(), 504);  // 1 + 5 * 100 + 2 of test is the largest id
  EXPECT_EQ(spec.max_length_tokens(), 3);
  EXPECT_EQ(spec.classes(), 2);
  ASSERT_EQ(imported->manifest.splits_size(), 2);
  EXPECT_EQ(imported->manifest.splits(0).examples(), 30);
  EXPECT_EQ(imported->manifest.splits(0).tokens(), 60);
  EXPECT_THAT(imported->manifest.splits(1).label_count(), ElementsAre(3, 3));
  EXPECT_EQ(imported->view.split(), DataView::HOLDOUT);
  EXPECT_EQ(imported->validation_examples, 2);
  EXPECT_THAT(imported->notes, Not(testing::Contains(HasSubstr("counted from 1"))));
  ASSERT_EQ(imported->manifest.sources_size(), 2);
  EXPECT_EQ(imported->manifest.sources(1).name(), "train.npz");
  const auto report = VerifyDataset(imported->directory, {.quiet = true});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_THAT(report->problems, IsEmpty());
  const auto shown = ShowExamples(imported->directory, "test", 3);
  ASSERT_TRUE(shown.ok()) << shown.status();
  EXPECT_EQ((*shown)[2].source, "201 202 203");
  EXPECT_EQ((*shown)[2].label, 0);
  const auto run = ResolveExperiment({.task = "votes", .attention = "linear"});
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->config.view().max_length_tokens(), 3);
}

TEST_F(ArrayImportTest, AsksWhetherLabelsAreCountedFrom1) {
  std::vector<uint8_t> tokens(30, 1), labels;
  for (uint8_t i = 0; i < 30; ++i) labels.push_back(1 + i % 3);
  ImportOptions options;
  options.task = "votes";
  options.all =
      Write("all.npz", {ArrayOf("tokens", tokens, {30, 1}), ArrayOf("labels", labels, {30})});
  options.quiet = true;
  const auto imported = ImportArrays(options);
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(imported->manifest.spec().classes(), 4);
  EXPECT_THAT(
      imported->notes,
      testing::Contains("no split has an example of class 0; classes are 0 to 3: are labels "
                        "counted from 1?"));
}

TEST_F(ArrayImportTest, PaddingAndOffsetsSayTheSame) {
  const std::string test = WritePadded("test.npz", 4, 1);
  std::vector<std::string> fingerprints;
  std::vector<uint16_t> flat;
  std::vector<int64_t> offsets = {0};
  std::vector<uint8_t> labels;
  for (uint16_t i = 0; i < 30; ++i) {
    for (uint16_t n = 0; n <= i % 3; ++n) flat.push_back(1 + i * 5 + n);
    offsets.push_back(static_cast<int64_t>(flat.size()));
    labels.push_back(i % 2);
  }
  for (const std::string& train :
       {WritePadded("train.npz", 30, 5),
        Write("flat.npz", {ArrayOf("offsets", offsets, {31}), ArrayOf("labels", labels, {30}),
                           ArrayOf("tokens", flat, {60})})}) {
    ImportOptions options = Options(train, test);
    options.task = absl::StrCat("task", fingerprints.size());
    options.max_length_tokens = 2;
    const auto imported = ImportArrays(options);
    ASSERT_TRUE(imported.ok()) << imported.status();
    EXPECT_EQ(imported->longer_examples, 11);  // 10 of train, one of test
    EXPECT_EQ(imported->view.max_length_tokens(), 2);
    EXPECT_EQ(imported->manifest.spec().max_length_tokens(), 3);
    fingerprints.push_back(imported->manifest.splits(0).content_fingerprint());
  }
  EXPECT_EQ(fingerprints[0], fingerprints[1]);
}

// A picture of two by two pixels: the red plane first, then green, then blue.
TEST_F(ArrayImportTest, PicturesAreStoredPlaneByPlane) {
  std::vector<uint8_t> pixels, labels;
  for (uint8_t i = 0; i < 20; ++i) {
    for (uint8_t value = 0; value < 12; ++value) pixels.push_back(10 * i + value);
    labels.push_back(i % 2);
  }
  ImportOptions options;
  options.task = "pictures";
  options.all =
      Write("all.npz", {ArrayOf("images", pixels, {20, 2, 2, 3}), ArrayOf("labels", labels, {20})});
  options.quiet = true;
  const auto imported = ImportArrays(options);
  ASSERT_TRUE(imported.ok()) << imported.status();
  const TaskSpec& spec = imported->manifest.spec();
  EXPECT_EQ(spec.content(), TaskSpec::RGB_IMAGE);
  EXPECT_EQ(spec.image_side_pixels(), 2);
  EXPECT_EQ(spec.vocabulary_size(), 256);
  EXPECT_EQ(imported->view.max_length_tokens(), 4);
  const auto shown = ShowExamples(imported->directory, "all", 2);
  ASSERT_TRUE(shown.ok()) << shown.status();
  EXPECT_EQ((*shown)[1].source, "10 13 16 19 11 14 17 20 12 15 18 21");
  const auto report = VerifyDataset(imported->directory, {.quiet = true});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_THAT(report->problems, IsEmpty());
}

TEST_F(ArrayImportTest, NamesWhatIsWrongWithArrays) {
  using Ids = std::vector<int32_t>;
  const TestEntry labels = ArrayOf("labels", Ids{0, 1}, {2});
  const auto tokens = [](const Ids& ids, const std::vector<int64_t>& shape) {
    return ArrayOf("tokens", ids, shape);
  };
  EXPECT_THAT(Refusal({tokens({1, 2}, {2, 1})}), HasSubstr("test.npz: has no array \"labels\""));
  EXPECT_THAT(Refusal({labels}), HasSubstr("test.npz: has no array \"tokens\""));
  EXPECT_THAT(Refusal({labels, tokens({1, 2, 3}, {3, 1})}),
              HasSubstr("array \"tokens\": its shape is [3, 1]; of 2 labels it is [2, N]"));
  EXPECT_THAT(Refusal({labels, ArrayOf("tokens", std::vector<float>{1, 2}, {2, 1})}),
              HasSubstr("array \"tokens\": its type is <f4; integers are read"));
  EXPECT_THAT(Refusal({labels, tokens({1, 0, 0, 2}, {2, 2})}),
              HasSubstr("test.npz, example 1, token 0: is 0; ids are 1 to 65535, and 0 is padding "
                        "behind the end: where 0 is a value, add 1 to all"));
  EXPECT_THAT(Refusal({labels, tokens({1, 70000}, {2, 1})}),
              HasSubstr("example 1, token 0: is 70000; ids are 1 to 65535"));
  EXPECT_THAT(Refusal({labels, tokens({1, 0}, {2, 1})}),
              HasSubstr("test.npz, example 1: has no tokens"));
  EXPECT_THAT(Refusal({ArrayOf("labels", Ids{0, -1}, {2}), tokens({1, 2}, {2, 1})}),
              HasSubstr("test.npz, example 1: its label is -1; labels are 0 to 9999"));
  EXPECT_THAT(Refusal({labels, tokens({1, 2, 3}, {3}), ArrayOf("offsets", Ids{0, 2, 4}, {3})}),
              HasSubstr("test.npz, example 1: its offsets are 2 and 4; they rise from 0 to the "
                        "number of all tokens, 3"));
  EXPECT_THAT(Refusal({labels, tokens({1, 2, 3}, {3}), ArrayOf("offsets", Ids{0, 3}, {2})}),
              HasSubstr("array \"offsets\": its shape is [2]; of 2 labels it is [3]"));
  EXPECT_THAT(Refusal({labels, ArrayOf("images", std::vector<uint8_t>{1, 2}, {2, 1, 1})}),
              HasSubstr("train.npz holds ids, " + folder_.File("test.npz") +
                        " grey pictures of 1 x 1 pixels; all files hold ids, or pictures of one "
                        "kind and side"));
  EXPECT_THAT(Refusal({labels, ArrayOf("images", std::vector<uint8_t>{1, 2, 3, 4}, {2, 1, 2})}),
              HasSubstr("array \"images\": its shape is [2, 1, 2]; of 2 labels it is [2, side, "));
  EXPECT_THAT(Refusal({labels, ArrayOf("images", std::vector<uint8_t>{}, {2, 0, 0})}),
              HasSubstr("array \"images\": its side is 0 pixels; 1 to 4096 are taken"));
  EXPECT_THAT(Refusal({labels, ArrayOf("images", std::vector<uint8_t>{}, {2, 0, 0, 3})}),
              HasSubstr("array \"images\": its side is 0 pixels; 1 to 4096 are taken"));
  EXPECT_THAT(Refusal({labels, tokens({1, 2}, {2, 1}),
                       ArrayOf("images", std::vector<uint8_t>{1, 2}, {2, 1, 1})}),
              HasSubstr("array \"images\": stands beside tokens; give one of them"));
  EXPECT_THAT(Refusal({labels, tokens({}, {2, 0})}), HasSubstr("example 0: has no tokens"));
  EXPECT_THAT(Refusal({ArrayOf("labels", Ids{}, {0}), tokens({}, {0, 1})}),
              HasSubstr("test.npz: has no examples"));
  const std::vector<uint64_t> huge = {1, uint64_t{1} << 63};
  EXPECT_THAT(Refusal({ArrayOf("labels", huge, {2}), tokens({1, 2}, {2, 1})}),
              HasSubstr("example 1: its label is 9223372036854775807; labels are 0 to 9999"));
  EXPECT_THAT(Refusal({labels, ArrayOf("tokens", huge, {2, 1})}),
              HasSubstr("example 1, token 0: is 9223372036854775807; ids are 1 to 65535"));
  EXPECT_THAT(Refusal({labels, ArrayOf("images", Ids{1, 2}, {2, 1, 1})}),
              HasSubstr("array \"images\": its type is <i4; pixels are 0 to 255, as uint8"));
}

TEST_F(ArrayImportTest, NamesWhatIsWrongWithFiles) {
  const std::string train = WritePadded("train.npz", 30, 5), few = WritePadded("few.npz", 6, 5);
  EXPECT_THAT(Refusal(Options(few, train)),
              HasSubstr("the largest class of " + few + " has 3 examples, 10 are needed"));
  EXPECT_TRUE(absl::IsNotFound(ImportArrays(Options(train, folder_.File("none.npz"))).status()));
  ImportOptions pool = Options("", "");
  pool.all = few;
  EXPECT_THAT(Refusal(pool), HasSubstr("few.npz has 6 examples, 10 are the least"));
  pool.all = train;
  pool.threads = 2;
  EXPECT_THAT(Refusal(pool), HasSubstr("--threads changes nothing where arrays are imported"));
  std::vector<uint8_t> pixels(20), labels(20);
  for (int i = 0; i < 20; ++i) labels[i] = i % 2;
  pool.all =
      Write("images.npz", {ArrayOf("images", pixels, {20, 1, 1}), ArrayOf("labels", labels, {20})});
  pool.threads = 0;
  pool.max_length_tokens = 1;
  EXPECT_THAT(Refusal(pool), HasSubstr("--max-length cuts texts and ids; pictures are read whole"));
  ImportOptions options = Options(train, "test.csv");
  EXPECT_THAT(AreArrays(options).status().message(), HasSubstr("give one kind"));
  options.test = few;
  EXPECT_TRUE(*AreArrays(options));
  options.task = "listops";
  EXPECT_THAT(Refusal(options), HasSubstr("needs another name"));
}

}  // namespace
}  // namespace lra
