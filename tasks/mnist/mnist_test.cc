#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "datasets/dataset.h"
#include "datasets/mapped_split.h"
#include "datasets/split_view.h"
#include "lra/config.h"
#include "tasks/import_test_util.h"
#include "tasks/mnist/idx.h"
#include "tasks/task_check.h"

namespace lra {
namespace {

using mnist::MakeIdx;
using mnist::ParseIdx;
using ::testing::ElementsAre;

constexpr uint32_t kSide = 28, kPixels = kSide * kSide;

// Image i is full of the value i + 1.
std::string Images(uint32_t count) {
  std::string pixels;
  for (uint32_t i = 0; i < count; ++i) pixels.append(kPixels, static_cast<char>(i + 1));
  return MakeIdx({count, kSide, kSide}, pixels);
}

class MnistTest : public ImportTestBase {
 protected:
  MnistTest() : ImportTestBase("mnist_pixels", {"train_images=3", "test_images=2"}) {}
  static Entries Good() {
    return {{"train-images-idx3-ubyte", Images(3)},
            {"train-labels-idx1-ubyte", MakeIdx({3}, "\x07\x02\x01")},
            {"t10k-images-idx3-ubyte", Images(2)},
            {"t10k-labels-idx1-ubyte", MakeIdx({2}, absl::string_view("\x00\x09", 2))}};
  }
};

TEST(MnistPixelsTest, KeepsEveryPromise) {
  const TestFolder folder;
  const auto lines = CheckTask({.task = "mnist_pixels", .scratch = folder.File("check")});
  ASSERT_TRUE(lines.ok()) << lines.status();
  for (const TaskCheckLine& line : *lines)
    EXPECT_TRUE(line.passed) << line.name << ": " << line.detail;
}

TEST_F(MnistTest, ImagesMeetTheirLabels) {
  ExpectImports(WriteFolder(Good()));
  const Dataset data = *Dataset::Open(Out(), {});
  const internal::MappedSplit& train = *data.split("train");
  std::vector<int32_t> labels, values;
  for (int64_t i = 0; i < 3; ++i) {
    labels.push_back(train.label(i));
    values.push_back(train.Bytes(i)[kPixels - 1]);
  }
  EXPECT_THAT(labels, ElementsAre(7, 2, 1));
  EXPECT_THAT(values, ElementsAre(1, 2, 3));
}

// All 256 values are ids to guess, black ones too.
TEST_F(MnistTest, EveryPixelIsGuessed) {
  ExpectImports(WriteFolder(Good()));
  DataView view = LoadView("mnist_pixels", "fair", "smoke", {}).value();
  view.set_split(DataView::TEST_AS_VALIDATION);
  const Dataset data = *Dataset::Open(Out(), {.view = &view});
  const SplitView train = *SplitView::Create(data, "train", view);
  EXPECT_TRUE(train.spec().guesses_tokens());
  EXPECT_TRUE(train.spec().zero_is_token());
  EXPECT_EQ(train.spec().classes(), 256);
  EXPECT_EQ(train.spec().metric_name(), "bits_per_token");
  std::vector<int32_t> ids;
  train.Read(2, &ids);
  EXPECT_EQ(ids, std::vector<int32_t>(kPixels, 3));
}

TEST_F(MnistTest, SameFromEveryWrapping) { ExpectSameFromEveryWrapping(); }

TEST_F(MnistTest, RefusesWithTheFileAndWhatIsWrong) {
  const std::string images = "train-images-idx3-ubyte", labels = "t10k-labels-idx1-ubyte";
  const std::string good = Images(3);
  ExpectRefused(
      Good(),
      {{Drop(labels), {"no file t10k-labels-idx1-ubyte"}, absl::StatusCode::kNotFound},
       {Put("more/" + images, good), {images, "twice"}},
       {Put(images, good.substr(0, 9)), {images, "has 9 bytes, its header alone 16"}},
       {Put(images, good.substr(0, good.size() - 1)), {images, "2351 bytes behind", "2352"}},
       {Put(images, good + "x"), {images, "2353 bytes behind", "2352"}},
       {Put(images, Images(2)), {images, "2 x 28 x 28", "3 x 28 x 28"}},
       {Put(labels, MakeIdx({60}, std::string(60, '\0'))), {labels, "60 bytes, must be of 2"}},
       {Put(labels, Images(2)), {labels, "begins with 0x00000803"}},
       {Put(labels, MakeIdx({2}, "\x01\x0a")), {labels, "label 1 is 10, must be 0 to 9"}},
       {Put(labels, std::string("\x1f\x8b\x08", 3)), {labels}},
       {All({Drop(labels), Put(labels + ".gz", "\x1f\x8b\x08 cut off")}), {labels + ".gz"}}});
}

TEST_F(MnistTest, AFileThatIsTooLongIsNamedOnce) {
  Entries entries = Good();
  Put("t10k-labels-idx1-ubyte", std::string(10 * kPixels, 'x'))(&entries);
  EXPECT_EQ(Refusal(WriteFolder(entries)).message(),
            "t10k-labels-idx1-ubyte: the file is longer than 2384 bytes");
}

TEST(IdxTest, RoundTripAndTypes) {
  const std::string file = MakeIdx({2, 3}, "abcdef");
  EXPECT_EQ(file.substr(0, 4), std::string("\x00\x00\x08\x02", 4));
  EXPECT_EQ(*ParseIdx(file, {2, 3}), "abcdef");
  EXPECT_FALSE(ParseIdx(file, {3, 2}).ok());
  EXPECT_FALSE(ParseIdx(file, {6}).ok());
}

TEST(MnistRealTest, TheFirstDigitIsAFive) {
  const std::string raw = RealData("train-images-idx3-ubyte.gz");
  if (raw.empty()) GTEST_SKIP() << "set LRA_TEST_DATA to a folder with train-images-idx3-ubyte.gz";
  const TestFolder folder;
  PrepareOptions options;
  options.task = "mnist_pixels";
  options.raw = raw.substr(0, raw.rfind('/'));
  options.out = folder.File("data");
  options.quiet = true;
  const auto made = Prepare(options);
  ASSERT_TRUE(made.ok()) << made.status();
  const Dataset data = *Dataset::Open(folder.File("data"), {});
  EXPECT_EQ(data.split("train")->examples, 60000);
  EXPECT_EQ(data.split("test")->examples, 10000);
  EXPECT_EQ(data.split("train")->label(0), 5);
}

}  // namespace
}  // namespace lra
