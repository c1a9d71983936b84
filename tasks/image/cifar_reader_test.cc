// Imports CIFAR-10 as a user does: binary files and pickles in every kind of archive, and broken
// ones.
#include "tasks/image/cifar_reader.h"

#include "absl/strings/str_cat.h"
#include "datasets/dataset.h"
#include "datasets/mapped_split.h"
#include "lra/files.h"
#include "tasks/image/cifar_binary.h"
#include "tasks/image/pickle_test_util.h"
#include "tasks/import_test_util.h"

namespace lra {
namespace {

using image::Python2Batch;
using testing::ElementsAre;

constexpr auto kMissing = absl::StatusCode::kNotFound;
constexpr int kImages = 3;  // in each file
constexpr int kBytes = image::kCifarRecordBytes;
constexpr int64_t kHuge = int64_t{66} << 20;
constexpr const char* kFiles[] = {"data_batch_1", "data_batch_2", "data_batch_3",
                                  "data_batch_4", "data_batch_5", "test_batch"};

int Label(int file, int i) { return (3 * file + i) % 10; }

std::string Pixels(int file, int i) {
  std::string pixels(image::kCifarImageBytes, '\0');
  for (size_t j = 0; j < pixels.size(); ++j) {
    pixels[j] = static_cast<char>(j * (7 + 2 * file) + 50 * i + j / 1024);
  }
  return pixels;
}

std::string BinaryFile(int file) {
  std::string bytes;
  for (int i = 0; i < kImages; ++i) {
    bytes += static_cast<char>(Label(file, i)) + Pixels(file, i);
  }
  return bytes;
}

std::string PickleFile(int file, int images = kImages) {
  std::vector<int> labels;
  std::string values;
  for (int i = 0; i < images; ++i) {
    labels.push_back(Label(file, i));
    values += Pixels(file, i);
  }
  return Python2Batch(labels, images, image::kCifarImageBytes, values);
}

const std::string kBinaries = "cifar-10-batches-bin/", kPickles = "cifar-10-batches-py/";

Entries GoodBinaries() {
  Entries entries = {{kBinaries + "batches.meta.txt", "airplane\n"},
                     {kBinaries + "readme.html", "<html>"}};
  for (int i = 0; i < 6; ++i) {
    entries.push_back({absl::StrCat(kBinaries, kFiles[i], ".bin"), BinaryFile(i)});
  }
  return entries;
}

Entries GoodPickles() {
  Entries entries = {{kPickles + "batches.meta", "no batch"}};
  for (int i = 0; i < 6; ++i) entries.push_back({kPickles + kFiles[i], PickleFile(i)});
  return entries;
}

class CifarReaderTest : public ImportTestBase {
 protected:
  CifarReaderTest() : ImportTestBase("image", {absl::StrCat("images_per_file=", kImages)}) {}

  void ExpectStored(const std::string& split, int first_file, int files) const {
    const Dataset data = *Dataset::Open(Out(), {});
    ASSERT_EQ(data.split(split)->examples, files * kImages);
    for (int n = 0; n < files * kImages; ++n) {
      const int file = first_file + n / kImages, i = n % kImages;
      const auto bytes = data.split(split)->Bytes(n);
      EXPECT_EQ(std::string(bytes.begin(), bytes.end()), Pixels(file, i)) << n;
      EXPECT_EQ(data.split(split)->label(n), Label(file, i)) << n;
    }
  }
};

TEST_F(CifarReaderTest, TheSampleIsTheSameFromEveryWrapping) {
  const Manifest manifest = ExpectSameFromEveryWrapping();
  EXPECT_EQ(manifest.splits(0).tokens(), 15 * 3072);
}

TEST_F(CifarReaderTest, FilesAreOrderedByTheirNumbers) {
  const Manifest manifest = ExpectImports(WriteFolder(GoodBinaries()));
  ExpectStored("train", 0, 5);
  ExpectStored("test", 5, 1);
  EXPECT_THAT(manifest.splits(1).label_count(), ElementsAre(0, 0, 0, 0, 0, 1, 1, 1, 0, 0));
  ASSERT_EQ(manifest.sources_size(), 6);
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(manifest.sources(i).name(), absl::StrCat(kFiles[i], ".bin"));
    EXPECT_EQ(manifest.sources(i).size_bytes(), kImages * kBytes);
    EXPECT_EQ(manifest.sources(i).sha256(), Sha256Hex(BinaryFile(i)));
  }
}

TEST_F(CifarReaderTest, PicklesGiveTheSameImages) {
  const Manifest binary = ExpectImports(WriteFolder(GoodBinaries()));
  const Manifest pickled = ExpectImports(WriteTar(GoodPickles()));
  ExpectStored("train", 0, 5);
  ExpectStored("test", 5, 1);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(pickled.splits(i).content_fingerprint(), binary.splits(i).content_fingerprint());
  }
  EXPECT_EQ(pickled.sources(0).sha256(), Sha256Hex(PickleFile(0)));
}

TEST_F(CifarReaderTest, LinksDevicesAndPathsOutOfTheArchiveTouchNothing) {
  const std::vector<std::string> names = {"data_batch_1.bin", kBinaries + "data_batch_2.bin",
                                          "../test_batch", "/tmp/x/data_batch_5.bin"};
  ExpectLinksRefused(GoodBinaries(), names);
  Entries hostile = HostileEntries(names);
  hostile.push_back({"../../escaped.bin", "written?"});
  hostile.push_back({"/tmp/lra-escaped.bin", "written?"});
  // it must be skipped without unpacking
  hostile.push_back({kBinaries + "readme.txt", "", AE_IFREG, kHuge});
  ExpectPassedOver(GoodBinaries(), hostile);
  EXPECT_FALSE(FileExists("/tmp/lra-escaped.bin"));
}

TEST_F(CifarReaderTest, CutArchivesAreRefused) {
  ExpectCutsAreRefused(GoodBinaries(), true);
  ExpectCutsAreRefused(GoodPickles(), true);
}

TEST_F(CifarReaderTest, BrokenBinariesAreRefused) {
  const auto put = [](const std::string& bytes, int64_t zeros = 0) {
    return Put({kBinaries + "data_batch_3.bin", bytes, AE_IFREG, zeros});
  };
  const auto labelled = [](int i, char label) {
    std::string bytes = BinaryFile(2);
    bytes[i * kBytes] = label;
    return bytes;
  };
  const std::string good = BinaryFile(2), name = kBinaries + "data_batch_3.bin: ";
  ExpectRefused(
      GoodBinaries(),
      {{put(labelled(0, 10)), {name + "record 0 (byte 0): the label is 10; 0 to 9 are"}},
       {put(labelled(1, 10)), {name + "record 1 (byte 3073): the label is 10; 0 to 9 are"}},
       {put(labelled(2, '\xff')), {name + "record 2 (byte 6146): the label is 255; 0 to 9"}},
       {put(""), {name + "ends after 0 bytes, in image 0 of 3; a file has 9219 bytes"}},
       {put(good.substr(0, 1)), {name + "ends after 1 bytes, in image 0 of 3"}},
       {put(good.substr(0, 2 * kBytes)), {name + "ends after 6146 bytes, in image 2 of 3"}},
       {put(good.substr(0, 3 * kBytes - 1)), {name + "ends after 9218 bytes, in image 2 of 3"}},
       {put(good + good.substr(0, kBytes)), {name + "goes on after its 3 images, at byte 9219"}},
       {put(good + "\n"), {name + "goes on after its 3 images, at byte 9219"}},
       {put(good, kHuge), {name + "goes on after its 3 images, at byte 9219"}},
       // With one byte of label too many, the next label is a pixel.
       {put("\x03" + good.substr(0, 3 * kBytes - 1)), {name + "record 1", "the label is "}},
       {Drop(kBinaries + "data_batch_3"),
        {raw_, " has no file data_batch_3 (with or wi"},
        kMissing},
       {Drop(kBinaries + "data_batch"),
        {" has no file data_batch_1, data_batch_2, data_batch_3, data_batch_4, data_batch_5 (with"},
        kMissing},
       {Drop(kBinaries), {raw_, " has no file data_batch_1, "}, kMissing},
       {All({Drop(kBinaries + "test"), Put(kBinaries + "my_test_batch.bin", good),
             Put(kBinaries + "._test_batch.bin", good), Put("test_batch.bin/x", good)}),
        {" has no file test_batch (with"},
        kMissing},
       {Put({kBinaries + "data_batch_3.bin", "data_batch_2.bin", 0u}),
        {"data_batch_3.bin: is a hard link to data_batch_2.bin"}},
       {Put({kBinaries + "data_batch_3.bin", "data_batch_2.bin", AE_IFLNK}),
        {"data_batch_3.bin: is a link to data_batch_2.bin"}},
       {Put("a/data_batch_3.bin", good), {" holds data_batch_3 twice, the second time as "}},
       {Again(kBinaries + "data_batch_3.bin", good),
        {" holds data_batch_3 twice, the second time as cifar-10-batches-bin/data_batch_3.bin"}},
       {Put("a/data_batch_3", PickleFile(2)), {" holds data_batch_3 twice, the second time as "}},
       {put(PickleFile(2)), {name + "record 0 (byte 0): the label is 128"}}});
}

TEST_F(CifarReaderTest, BrokenPicklesAreRefused) {
  const std::string pixels = Pixels(0, 0) + Pixels(0, 1) + Pixels(0, 2), good = PickleFile(2);
  const auto put = [](const std::string& bytes, int64_t zeros = 0) {
    return Put({kPickles + "data_batch_3", bytes, AE_IFREG, zeros});
  };
  const std::string name = kPickles + "data_batch_3: ", no_batch = name + "the pickle is no batch";
  const std::string system(
      "\x80\x02"
      "cos\nsystem\nU\x13touch /tmp/lra-ran-x\x85R.");
  ExpectRefused(
      GoodPickles(),
      {{put(""), {name}},
       {put("just words\n"), {name, "byte 0"}},
       {put(BinaryFile(2)), {name, "byte "}},
       {put(system), {name, "byte ", "os"}},
       {put("\x80\x02]."), {no_batch, "it holds a list; a dictionary is expected"}},
       {put("\x80\x02}."), {no_batch, "it has no key `labels`"}},
       {put("\x80\x02}U\x06labelsK\x03s."), {no_batch, "`labels` is an integer; a list is"}},
       {put("\x80\x02}U\x06labels]s."), {no_batch, "it has no key `data`"}},
       {put(Python2Batch({1, 10, 3}, 3, 3072, pixels)), {no_batch, "`labels`[1] is 10; 0 to 9"}},
       {put(Python2Batch({1, -1, 3}, 3, 3072, pixels)), {no_batch, "`labels`[1] is -1; 0 to 9"}},
       {put(Python2Batch({1, 2}, 3, 3072, pixels)), {no_batch, "there are 2 labels for 3 images"}},
       {put(Python2Batch({1, 2, 3}, 9, 1024, pixels)),
        {no_batch, "`data` has the shape (9, 1024)"}},
       {put(Python2Batch({1, 2, 3}, 3, 3072, pixels, "f4")), {no_batch, "the type \"f4\"; \"u1\""}},
       {put(Python2Batch({1, 2, 3}, 3, 3072, pixels + "x")), {no_batch, "`data` has 9217 bytes"}},
       {put(PickleFile(2, 2)), {name + "holds 2 images, not 3"}},
       {put(PickleFile(2, 4)), {name + "holds 4 images, not 3"}},
       {put(good.substr(0, good.size() / 2)), {name, "byte "}},
       {put(good.substr(0, good.size() - 1)), {name, "byte "}},
       {put(good + "\n"), {name, "byte "}},
       {put(good, kHuge), {name + "the file is longer than 67108864 bytes"}},
       {Drop(kPickles + "test_batch"), {raw_, " has no file test_batch (with or"}, kMissing},
       {Put("a/data_batch_3.bin", BinaryFile(2)), {" holds data_batch_3 twice"}},
       {Put("a/data_batch_3", good), {" holds data_batch_3 twice"}}});
  EXPECT_FALSE(FileExists("/tmp/lra-ran-x"));
}

TEST_F(CifarReaderTest, TheFirstWrongImageIsNamedWhateverTheThreads) {
  Entries entries = GoodBinaries();
  for (int file : {1, 3}) {
    std::string bytes = BinaryFile(file);
    for (int i = 1; i < kImages; ++i) bytes[i * kBytes] = 77;
    Put(absl::StrCat(kBinaries, kFiles[file], ".bin"), bytes)(&entries);
  }
  for (int threads : {1, 2, 8}) {
    EXPECT_THAT(std::string(Import(WriteFolder(entries), threads).status().message()),
                testing::HasSubstr("data_batch_2.bin: record 1 (byte 3073)"));
  }
}

// The official files, unpacked; each test file holds 1,000 images of every class, and the five
// others 5,000 together.
class RealCifarTest : public ImportTestBase {
 protected:
  RealCifarTest() : ImportTestBase("image") {}
};

TEST_F(RealCifarTest, TheOfficialFilesAreAllThere) {
  const std::string raw = RealData("cifar-10-batches-bin");
  if (raw.empty()) GTEST_SKIP() << "LRA_TEST_DATA has no cifar-10-batches-bin";
  const Manifest manifest = ExpectImports(raw);
  EXPECT_THAT(manifest.splits(0).label_count(), testing::Each(5000));
  EXPECT_THAT(manifest.splits(1).label_count(), testing::Each(1000));
  const Dataset data = *Dataset::Open(Out(), {});
  for (int file = 0; file < 6; ++file) {
    const std::string bytes = *ReadFile(absl::StrCat(raw, "/", kFiles[file], ".bin"));
    const auto* split = data.split(file == 5 ? "test" : "train");
    for (int i = 0; i < 10000; ++i) {
      const int64_t example = file == 5 ? i : file * 10000 + i;
      const absl::string_view record = absl::string_view(bytes).substr(i * kBytes, kBytes);
      ASSERT_EQ(split->label(example), record[0]);
      const auto stored = split->Bytes(example);
      ASSERT_TRUE(std::equal(stored.begin(), stored.end(), record.begin() + 1, record.end(),
                             [](uint8_t a, char b) { return a == static_cast<uint8_t>(b); }));
    }
  }
}

}  // namespace
}  // namespace lra
