#include "tasks/image/cifar_binary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace lra::image {
namespace {

using testing::HasSubstr;

// Each pixel's value tells its place: 50 * plane + x + y.
std::string Record(int label) {
  std::string record(1, static_cast<char>(label));
  for (int plane = 0; plane < 3; ++plane) {
    for (int y = 0; y < 32; ++y) {
      for (int x = 0; x < 32; ++x) record.push_back(static_cast<char>(50 * plane + x + y));
    }
  }
  return record;
}

TEST(CifarBinaryTest, ReadsLabelAndPlanes) {
  const std::string record = Record(7);
  const auto image = ParseCifarRecord(record, 0);
  ASSERT_TRUE(image.ok()) << image.status();
  EXPECT_EQ(image->label, 7);
  EXPECT_EQ(image->red()[0], 0);
  EXPECT_EQ(image->red()[32 * 3 + 5], 8);
  EXPECT_EQ(image->green()[32 * 31 + 31], 112);
  EXPECT_EQ(image->blue()[0], 100);
  EXPECT_EQ(image->blue()[1023], 162);
}

TEST(CifarBinaryTest, ReadsAFile) {
  const std::string file = absl::StrCat(Record(0), Record(9), Record(3));
  const auto images = ParseCifarFile(file, 3);
  ASSERT_TRUE(images.ok()) << images.status();
  ASSERT_EQ(images->size(), 3u);
  EXPECT_EQ((*images)[0].label, 0);
  EXPECT_EQ((*images)[1].label, 9);
  EXPECT_EQ((*images)[2].label, 3);
  EXPECT_EQ((*images)[2].planes, reinterpret_cast<const uint8_t*>(file.data()) + 2 * 3073 + 1);
  EXPECT_TRUE(ParseCifarFile("", 0).ok());
}

TEST(CifarBinaryTest, NamesRecordAndValue) {
  const std::string two = absl::StrCat(Record(1), Record(2));
  std::string bad = two;
  bad[3073] = 10;
  std::string worse = two;
  worse[0] = '\xff';
  struct Case {
    std::string bytes;
    int64_t records;
    std::string words;
  };
  const std::vector<Case> table = {
      {bad, 2, "record 1 (byte 3073): the label is 10; 0 to 9 are expected"},
      {worse, 2, "record 0 (byte 0): the label is 255"},
      {two, 1, "6146 bytes, 2 x 3073 + 0; exactly 1 x 3073 are"},
      {two, 3, "exactly 3 x 3073 are expected"},
      {two.substr(0, 6145), 2, "6145 bytes, 1 x 3073 + 3072; exactly 2 x"},
      {two + "x", 2, "6147 bytes, 2 x 3073 + 1;"},
      {"", 10000, "0 bytes, 0 x 3073 + 0; exactly 10000 x"},
      // CIFAR-100 has two label bytes in each record.
      {std::string(3074 * 2, '\0'), 2, "6148 bytes"},
  };
  for (const Case& c : table) {
    const auto images = ParseCifarFile(c.bytes, c.records);
    EXPECT_EQ(images.status().code(), absl::StatusCode::kInvalidArgument) << c.words;
    EXPECT_THAT(std::string(images.status().message()), HasSubstr(c.words));
  }
  for (const size_t size : {0, 1, 3072}) {
    EXPECT_THAT(std::string(ParseCifarRecord(two.substr(0, size), 17).status().message()),
                HasSubstr(absl::StrCat("record 17 has ", size, " bytes; a record has 3073")));
  }
}

}  // namespace
}  // namespace lra::image
