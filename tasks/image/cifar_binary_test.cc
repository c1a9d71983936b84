#include "tasks/image/cifar_binary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

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

TEST(CifarBinaryTest, NamesRecordAndValue) {
  std::string record = Record(1);
  for (const int label : {10, 255}) {
    record[0] = static_cast<char>(label);
    const absl::Status status = ParseCifarRecord(record, 1).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()),
                HasSubstr(absl::StrCat("record 1 (byte 3073): the label is ", label,
                                       "; 0 to 9 are expected")));
  }
  // CIFAR-100 has two label bytes in each record.
  record.resize(3074);
  for (const size_t size : {0, 1, 3072, 3074}) {
    EXPECT_THAT(std::string(ParseCifarRecord(record.substr(0, size), 17).status().message()),
                HasSubstr(absl::StrCat("record 17 has ", size, " bytes; a record has 3073")));
  }
}

}  // namespace
}  // namespace lra::image
