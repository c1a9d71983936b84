// Imports the Pathfinder release as a user does, in every kind of archive, and broken trees.
#include "tasks/pathfinder/tree_reader.h"

#include <array>
#include <cstdlib>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "datasets/archive.h"
#include "datasets/dataset.h"
#include "datasets/mapped_split.h"
#include "datasets/png.h"
#include "lra/files.h"
#include "lra/sha256.h"
#include "tasks/import_test_util.h"

namespace lra {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr auto kMissing = absl::StatusCode::kNotFound;
constexpr int64_t kHuge = int64_t{34} << 20;
const std::string kRoot = "lra_release/lra_release/pathfinder32/curv_contour_length_14/";

// A picture in which every pixel's value tells batch, image and place.
std::vector<uint8_t> Pixels(int side, int batch, int image) {
  std::vector<uint8_t> pixels(static_cast<size_t>(side) * side);
  for (size_t i = 0; i < pixels.size(); ++i) {
    pixels[i] = static_cast<uint8_t>(i * 3 + i / side + 40 * batch + 11 * image);
  }
  return pixels;
}

std::string Png(int side, int batch, int image) {
  return *EncodePng(Pixels(side, batch, image), side, side, 1);
}

std::string Path(int batch, int image) {
  return absl::StrCat("imgs/", batch, "/sample_", image, ".png");
}

std::string Row(int batch, int image, int label, int contour_paddles = 14) {
  return absl::StrCat("imgs/", batch, " sample_", image, ".png ", image, " ", label, " 1.0 ",
                      contour_paddles, " 4 2 0.5 1 1\n");
}

// Batches 2 and 10, whose lists are neither in the order of their numbers nor of their paths.
Entries GoodTree(const std::string& root = kRoot, int side = 32) {
  const int n = absl::StrContains(root, "curv_baseline") ? 6 : 14;
  return {{root + Path(10, 0), Png(side, 10, 0)},
          {root + Path(10, 1), Png(side, 10, 1)},
          {root + Path(2, 10), Png(side, 2, 10)},
          {root + Path(2, 9), Png(side, 2, 9)},
          {root + "metadata/10.npy", Row(10, 1, 1, n) + Row(10, 0, 0, n)},
          {root + "metadata/2.npy", Row(2, 9, 1, n) + Row(2, 10, 1, n)}};
}

// A PNG chunk, written from the PNG specification.
std::string Chunk(const std::string& type, const std::string& data) {
  const auto big_endian = [](uint32_t n) {
    return std::string{static_cast<char>(n >> 24), static_cast<char>(n >> 16),
                       static_cast<char>(n >> 8), static_cast<char>(n)};
  };
  uint32_t crc = 0xffffffff;
  for (const char byte : type + data) {
    crc ^= static_cast<uint8_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
  }
  return big_endian(static_cast<uint32_t>(data.size())) + type + data + big_endian(~crc);
}

// A 32 x 32 image without pixels: its type is known before pixels are read.
std::string HeaderOnly(char depth, char color) {
  const std::string size("\0\0\0\x20\0\0\0\x20", 8);
  return "\x89PNG\r\n\x1a\n" + Chunk("IHDR", size + std::string{depth, color, 0, 0, 0}) +
         Chunk("IDAT", "") + Chunk("IEND", "");
}

class TreeReaderTest : public ImportTestBase {
 protected:
  explicit TreeReaderTest(std::string task = "pathfinder32", std::vector<std::string> set = {})
      : ImportTestBase(std::move(task), std::move(set)) {}

  void ExpectStored(int side, const std::vector<std::array<int, 3>>& batch_image_label) const {
    const Dataset data = *Dataset::Open(Out(), {});
    const auto& all = *data.split("all");
    ASSERT_EQ(all.examples, static_cast<int64_t>(batch_image_label.size()));
    for (int64_t i = 0; i < all.examples; ++i) {
      const auto [batch, image, label] = batch_image_label[i];
      const auto bytes = all.Bytes(i);
      EXPECT_EQ(std::vector<uint8_t>(bytes.begin(), bytes.end()), Pixels(side, batch, image)) << i;
      EXPECT_EQ(all.label(i), label) << i;
    }
  }
};

TEST_F(TreeReaderTest, TheSampleIsTheSameFromEveryWrapping) {
  const Manifest manifest = ExpectSameFromEveryWrapping();
  ASSERT_EQ(manifest.skipped_size(), 1);  // the sample has an empty file, like the release
  EXPECT_EQ(manifest.skipped(0).reason(), "imgs/1/sample_3.png is empty");
  EXPECT_EQ(manifest.skipped(0).count(), 1);
  EXPECT_EQ(manifest.splits(0).name(), "all");
}

TEST_F(TreeReaderTest, BatchesAreOrderedByNumberAndImagesByLine) {
  const Manifest manifest = ExpectImports(WriteTar(GoodTree()));
  ExpectStored(32, {{2, 9, 1}, {2, 10, 1}, {10, 1, 1}, {10, 0, 0}});
  EXPECT_THAT(manifest.splits(0).label_count(), ElementsAre(1, 3));
  ASSERT_EQ(manifest.sources_size(), 2);
  EXPECT_EQ(manifest.sources(0).name(), "imgs");
  EXPECT_EQ(manifest.sources(1).name(), "metadata");
  const std::string lists[] = {Row(2, 9, 1) + Row(2, 10, 1), Row(10, 1, 1) + Row(10, 0, 0)};
  EXPECT_EQ(manifest.sources(1).size_bytes(),
            static_cast<int64_t>(lists[0].size() + lists[1].size()));
  std::string digests;  // in the order of the batches
  for (const std::string& list : lists) {
    const Sha256Digest digest = Sha256Of(list);
    digests.append(digest.begin(), digest.end());
  }
  EXPECT_EQ(manifest.sources(1).sha256(), Sha256Hex(digests));
}

// All sizes are in one archive, as in lra_release.gz.
TEST_F(TreeReaderTest, FilesOfOtherSizesAndDifficultiesArePassedOver) {
  ExpectImports(WriteTar(GoodTree()));
  const auto expected = Contents(Out());
  Entries release = GoodTree();
  for (const char* other :
       {"pathfinder32/curv_baseline/", "pathfinder32/curv_contour_length_9/",
        "pathfinder64/curv_contour_length_14/", "pathfinder128/curv_contour_length_14/"}) {
    for (Entry& entry : GoodTree(absl::StrCat("lra_release/lra_release/", other), 16)) {
      release.insert(release.begin(), std::move(entry));
    }
  }
  for (const char* other : {"imgs/2/notes.txt", "imgs/2/sample_x.png", "imgs/x/sample_1.png",
                            "metadata/all.npy", "metadata/2.npy.bak", "metadata/._2.npy"}) {
    release.push_back({kRoot + other, "words"});
  }
  ExpectImports(WriteTar(release));
  EXPECT_EQ(Contents(Out()), expected);
}

TEST_F(TreeReaderTest, AFolderThatNamesNeitherIsTheDifficultyAskedFor) {
  ExpectImports(WriteTar(GoodTree()));
  const auto expected = Contents(Out());
  for (const std::string root :
       {"", "curv_contour_length_14/", "pathfinder32/", "any/folder/", "pathfinder/"}) {
    ExpectImports(WriteTar(GoodTree(root)));
    EXPECT_EQ(Contents(Out()), expected) << root;
  }
}

TEST_F(TreeReaderTest, LinksDevicesAndPathsOutOfTheArchiveTouchNothing) {
  const std::vector<std::string> names = {kRoot + Path(2, 9), kRoot + Path(3, 1),
                                          kRoot + "metadata/3.npy", "../metadata/4.npy"};
  ExpectLinksRefused(GoodTree(), names);
  Entries hostile = HostileEntries(names);
  hostile.push_back({"../../escaped.png", "written?"});
  hostile.push_back({"/tmp/lra-escaped.png", "written?"});
  hostile.push_back({kRoot + "huge", "", AE_IFREG, kHuge});  // it must be skipped without unpacking
  ExpectPassedOver(GoodTree(), hostile);
  EXPECT_FALSE(FileExists("/tmp/lra-escaped.png"));
}

TEST_F(TreeReaderTest, CutArchivesAreRefused) { ExpectCutsAreRefused(GoodTree(), true); }

TEST_F(TreeReaderTest, BrokenPicturesAreRefused) {
  const std::string good = Png(32, 2, 9), name = kRoot + Path(2, 9) + ": ";
  std::string wrong_crc = good;
  wrong_crc[good.size() - 20] ^= 1;  // in the last chunk of pixels or its checksum
  const auto put = [](const std::string& bytes, int64_t zeros = 0) {
    return Put({kRoot + Path(2, 9), bytes, AE_IFREG, zeros});
  };
  const std::string rgb = *EncodePng(std::vector<uint8_t>(3 * 1024), 32, 32, 3);
  ExpectRefused(
      GoodTree(),
      {{put(Png(31, 2, 9)), {name + "the PNG is 31 x 31; 32 x 32 is expected"}},
       {put(Png(64, 2, 9)), {name + "the PNG is 64 x 64; 32 x 32 is expected"}},
       {put(*EncodePng(std::vector<uint8_t>(1024), 64, 16, 1)), {name + "the PNG is 64 x 16; 32"}},
       {put(rgb), {name + "the PNG is RGB; grey is expected"}},
       {put(HeaderOnly(8, 3)), {name + "the PNG is indexed by a palette; grey is expected"}},
       {put(HeaderOnly(8, 4)), {name + "the PNG is grey with alpha; grey is expected"}},
       {put(HeaderOnly(16, 0)), {name + "the PNG has 16 bits a sample; 8 are expected"}},
       {put(HeaderOnly(1, 0)), {name + "the PNG has 1 bits a sample; 8 are expected"}},
       {put(HeaderOnly(8, 0)), {name + "no sound PNG: at byte "}},
       {put(good.substr(0, good.size() / 2)), {name + "no sound PNG: at byte "}},
       {put(good.substr(0, good.size() - 1)), {name + "no sound PNG: at byte "}},
       {put(good.substr(0, 20)), {name + "no sound PNG: at byte "}},
       {put(wrong_crc), {name + "no sound PNG: at byte "}},
       {put(good + "x"), {name + "the PNG ends at byte ", "; nothing may follow"}},
       {put("\xff\xd8\xff\xe0 a JPEG"), {name + "no PNG: it begins with \"\\xff\\xd8\\xff"}},
       {put("x"), {name + "no PNG: it begins with \"x\""}},
       {put(std::string(100, '\0')), {name + "no PNG: it begins with \"\\x00"}},
       {put(good, kHuge), {name + "the file is longer than 1048576 bytes"}}});
}

TEST_F(TreeReaderTest, BrokenListsAreRefused) {
  const std::string name = kRoot + "metadata/2.npy", good = Row(2, 9, 1) + Row(2, 10, 1);
  const auto put = [&](const std::string& text, int64_t zeros = 0) {
    return Put({name, text, AE_IFREG, zeros});
  };
  const auto third = [&](const std::string& row) { return put(good + row + "\n"); };
  ExpectRefused(
      GoodTree(),
      {{third("imgs/2 sample_9.png 9 1"), {"metadata/2.npy:3: image 9 is listed twice"}},
       {third("imgs/2 sample_11.png 11 1"),
        {"metadata/2.npy:3: imgs/2/sample_11.png is missing in " + raw_},
        kMissing},
       {put(Row(2, 9, 1)), {"imgs/2/sample_10.png has no line in metadata/2.npy"}},
       {put(""), {"imgs/2/sample_9.png has no line in metadata/2.npy"}},
       {Drop(name), {"imgs/2/sample_9.png has no line in metadata/2.npy"}},
       {third("imgs/2 sample_11.png 11 2"), {name + ":3: column 4 is \"2\"; a label 0 or 1"}},
       {third("imgs/2 sample_11.png 11 1.0"), {name + ":3: column 4 is \"1.0\"; a label"}},
       {third("imgs/2 sample_11.png 12 1"), {name + ":3: column 3 is \"12\"; 11, the number in"}},
       {third("imgs/2 sample_011.png 011 1"), {name + ":3: column 2 is \"sample_011.png\"; sa"}},
       {third("imgs/2 sample_11.jpg 11 1"), {name + ":3: column 2 is \"sample_11.jpg\"; sample"}},
       {third("imgs/2/.. sample_11.png 11 1"), {name + ":3: column 1 is \"imgs/2/..\"; "}},
       {third("/etc/2 sample_11.png 11 1"), {name + ":3: column 1 is \"/etc/2\"; "}},
       {third("imgs/2 sample_11.png 11"), {name + ":3: the line has 3 of at least 4 columns"}},
       {third("imgs/3 sample_11.png 11 1"), {name + ":3: the path is of batch 3, not 2"}},
       {third(std::string("imgs/2 sample_11.png 11 1\0", 26)), {name + ":3: column 4 is \"1\\x00"}},
       {third("\xff\xfe"), {name + ":3: the line has 1 of at least 4 columns"}},
       {third(std::string(1 << 20, 'x') + " a 1 1"), {name + ":3: column 1 is \"xxx"}},
       {put(std::string("\x93NUMPY\x01\0v\0{'descr': '<i8'", 25)), {name + ": is a NumPy array"}},
       {put(good, kHuge), {name + ": the file is longer than 33554432 bytes"}},
       {Put("copy/metadata/2.npy", good), {"metadata/2.npy: batch 2 was there before"}},
       {Again(name, good), {name + ": batch 2 was there before"}}});
}

TEST_F(TreeReaderTest, IncompleteAndDoubleTreesAreRefused) {
  const auto swap_root = [](const std::string& root) {
    return [root](Entries* entries) { *entries = GoodTree(root); };
  };
  const std::string wanted = "of pathfinder32/curv_contour_length_14";
  ExpectRefused(
      GoodTree(),
      {{Drop(kRoot), {raw_, " has no metadata/*.npy " + wanted}, kMissing},
       {Drop(kRoot + "metadata/"), {raw_, " has no metadata/*.npy " + wanted}, kMissing},
       {Drop(kRoot + "imgs/"), {raw_, " has no images " + wanted}, kMissing},
       {swap_root("pathfinder64/curv_contour_length_14/"),
        {"no metadata/*.npy " + wanted},
        kMissing},
       {swap_root("pathfinder32/curv_baseline/"), {"has no metadata/*.npy " + wanted}, kMissing},
       {Drop(kRoot + Path(10, 0)),
        {"metadata/10.npy:2: imgs/10/sample_0.png is missing in " + raw_},
        kMissing},
       {Put(kRoot + Path(10, 7), Png(32, 10, 7)),
        {"imgs/10/sample_7.png has no line in metadata/10"}},
       {Put(kRoot + Path(3, 0), Png(32, 3, 0)),
        {"imgs/3/sample_0.png has no line in metadata/3.npy"}},
       {Put({kRoot + Path(10, 0), kRoot + Path(10, 1), 0u}),
        {Path(10, 0) + ": is a hard link to " + kRoot + Path(10, 1)}},
       {Put({kRoot + Path(10, 0), "sample_1.png", AE_IFLNK}),
        {Path(10, 0) + ": is a link to sample_1.png"}},
       {Again(kRoot + Path(10, 0), Png(32, 1, 1)), {Path(10, 0) + ": the same image was there"}},
       {Again(kRoot + Path(10, 0), ""), {Path(10, 0) + ": the same image was there before"}},
       {Put("copy/" + Path(10, 0), Png(32, 10, 0)), {Path(10, 0) + ": the same image was there"}},
       {All({Put(kRoot + Path(10, 0), ""), Put(kRoot + Path(10, 1), ""),
             Put(kRoot + Path(2, 9), ""), Put(kRoot + Path(2, 10), "")}),
        {" has no images " + wanted},
        kMissing}});
}

// The release has one empty file; more mean that the tree was not unpacked completely.
TEST_F(TreeReaderTest, OneEmptyPictureIsLeftOut) {
  Entries entries = GoodTree();
  All({Put(kRoot + Path(2, 9), "")})(&entries);
  const Manifest manifest = ExpectImports(WriteTar(entries));
  ExpectStored(32, {{2, 10, 1}, {10, 1, 1}, {10, 0, 0}});
  ASSERT_EQ(manifest.skipped_size(), 1);
  EXPECT_EQ(manifest.skipped(0).reason(), "imgs/2/sample_9.png is empty");
}

TEST_F(TreeReaderTest, SoIsOneThatIsNotListed) {
  Entries entries = GoodTree();
  All({Put(kRoot + Path(2, 50), "")})(&entries);
  const Manifest manifest = ExpectImports(WriteTar(entries));
  ExpectStored(32, {{2, 9, 1}, {2, 10, 1}, {10, 1, 1}, {10, 0, 0}});
  ASSERT_EQ(manifest.skipped_size(), 1);
  EXPECT_EQ(manifest.skipped(0).reason(), "imgs/2/sample_50.png is empty");
}

TEST_F(TreeReaderTest, TwoEmptyPicturesAreAnError) {
  Entries entries = GoodTree();
  All({Put(kRoot + Path(2, 9), ""), Put(kRoot + Path(2, 50), "")})(&entries);
  const absl::Status status = Import(WriteTar(entries)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()),
              testing::HasSubstr("2 pictures are empty files, first imgs/2/sample_50.png"));
}

// The sixth column says how long the contours are, so another difficulty under this one's name is
// noticed.
TEST_F(TreeReaderTest, TheContoursOfAnotherDifficultyAreRefused) {
  Entries entries = GoodTree();
  All({Put(kRoot + "metadata/2.npy", "imgs/2 sample_9.png 9 1 1.0 6 2 2 0.5 1 1\n")})(&entries);
  const absl::Status status = Import(WriteTar(entries)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), testing::AllOf(testing::HasSubstr("metadata/2.npy:1"),
                                                            testing::HasSubstr("have 6 dashes")));
}

// Imports each of the other tasks from its own folder.
class OtherSizesTest : public TreeReaderTest,
                       public testing::WithParamInterface<std::pair<const char*, int>> {
 protected:
  OtherSizesTest() : TreeReaderTest(GetParam().first, {"difficulty=EASY"}) {}
};

TEST_P(OtherSizesTest, ReadTheirOwnFolder) {
  const int side = GetParam().second;
  Entries release = GoodTree();
  for (Entry& entry : GoodTree(absl::StrCat("x/pathfinder", side, "/curv_baseline/"), side)) {
    release.insert(release.begin(), std::move(entry));
  }
  ExpectImports(WriteTar(release));
  ExpectStored(side, {{2, 9, 1}, {2, 10, 1}, {10, 1, 1}, {10, 0, 0}});
}

INSTANTIATE_TEST_SUITE_P(Sizes, OtherSizesTest,
                         testing::Values(std::pair("pathfinder64", 64), std::pair("pathx", 128),
                                         std::pair("pathfinder256", 256)));

// Every label of the release's sample must be as its metadata says.
class RealTreeTest : public TreeReaderTest, public testing::WithParamInterface<int> {
 protected:
  static constexpr const char* kSets[] = {"EASY", "INTERMEDIATE", "HARD"};
  RealTreeTest()
      : TreeReaderTest("pathfinder32", {absl::StrCat("difficulty=", kSets[GetParam()])}) {}
};

TEST_P(RealTreeTest, LabelsAreThoseOfTheMetadata) {
  const std::string raw = RealData("lra_release-sample.gz");
  if (raw.empty()) GTEST_SKIP() << "LRA_TEST_DATA has no lra_release-sample.gz";
  constexpr const char* kFolders[] = {"curv_baseline", "curv_contour_length_9",
                                      "curv_contour_length_14"};
  // Maps a batch to its list; the first and fourth words of a line are compared.
  std::map<int, std::string> lists;
  auto source = *OpenRawSource(raw);
  while (const auto entry = *source->Next()) {
    const std::vector<std::string> parts = absl::StrSplit(entry->name, '/');
    if (!absl::StrContains(entry->name, absl::StrCat(kFolders[GetParam()], "/metadata/"))) continue;
    std::string& text = lists[std::atoi(parts.back().c_str())];
    char buffer[4096];
    while (const size_t count = *source->Read(buffer, sizeof(buffer))) text.append(buffer, count);
  }
  std::vector<int> labels;
  for (const auto& [batch, text] : lists) {
    for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
      const std::vector<std::string> words = absl::StrSplit(line, ' ');
      labels.push_back(words[3] == "1");
    }
  }
  const Manifest manifest = ExpectImports(raw);
  EXPECT_EQ(manifest.splits(0).examples(), GetParam() == 2 ? 3000 : 1000);
  const Dataset data = *Dataset::Open(Out(), {});
  ASSERT_EQ(data.split("all")->examples, static_cast<int64_t>(labels.size()));
  for (size_t i = 0; i < labels.size(); ++i) EXPECT_EQ(data.split("all")->label(i), labels[i]) << i;
}

INSTANTIATE_TEST_SUITE_P(Difficulties, RealTreeTest, testing::Values(0, 1, 2));

}  // namespace
}  // namespace lra
