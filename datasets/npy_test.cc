#include "datasets/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "datasets/npy_test_util.h"
#include "lra/files.h"
#include "lra/folder_test_util.h"
#include "lra/random.h"

namespace lra {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A file as numpy.save writes it, with `dict` padded by blanks to `total` bytes.
std::string File(const std::string& dict, const std::string& values, size_t total = 128) {
  std::string header = dict + std::string(total - 10 - dict.size() - 1, ' ') + "\n";
  std::string length = {static_cast<char>(header.size() & 0xff),
                        static_cast<char>(header.size() >> 8)};
  return std::string("\x93NUMPY\x01\x00", 8) + length + header + values;
}

TEST(NpyHeaderTest, IsWhatNumpyWrites) {
  EXPECT_EQ(FormatNpyHeader(NpyType::kUint8, {3}),
            File("{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }", ""));
  EXPECT_EQ(FormatNpyHeader(NpyType::kFloat32, {2000, 10}),
            File("{'descr': '<f4', 'fortran_order': False, 'shape': (2000, 10), }", ""));
  EXPECT_EQ(FormatNpyHeader(NpyType::kInt16, {}),
            File("{'descr': '<i2', 'fortran_order': False, 'shape': (), }", ""));
  EXPECT_EQ(FormatNpyHeader(NpyType::kInt8, {3}),
            File("{'descr': '|i1', 'fortran_order': False, 'shape': (3,), }", ""));
  EXPECT_EQ(FormatNpyHeader(NpyType::kUint32, {3}),
            File("{'descr': '<u4', 'fortran_order': False, 'shape': (3,), }", ""));
  EXPECT_EQ(FormatNpyHeader(NpyType::kUint64, {3}),
            File("{'descr': '<u8', 'fortran_order': False, 'shape': (3,), }", ""));
  EXPECT_EQ(FormatNpyHeader(NpyType::kFloat64, {3, 2}),
            File("{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2), }", ""));
}

TEST(NpyHeaderTest, ReadsBackEveryTypeAndShape) {
  const std::vector<std::vector<int64_t>> shapes = {{}, {0}, {5}, {2, 3}, {4, 1, 2}, {0, 7}};
  for (NpyType type : {NpyType::kUint8, NpyType::kUint16, NpyType::kInt16, NpyType::kInt32,
                       NpyType::kInt64, NpyType::kFloat32, NpyType::kInt8, NpyType::kUint32,
                       NpyType::kUint64, NpyType::kFloat64, NpyType::kFloat16}) {
    for (const auto& shape : shapes) {
      int64_t count = 1;
      for (int64_t size : shape) count *= size;
      const std::string header = FormatNpyHeader(type, shape);
      EXPECT_EQ(header.size() % 64, 0u);
      const auto parsed =
          ParseNpyHeader(header + std::string(count * NpyItemBytes(type), 'x'), "file");
      ASSERT_TRUE(parsed.ok()) << parsed.status();
      EXPECT_EQ(parsed->type, type);
      EXPECT_EQ(parsed->shape, shape);
      EXPECT_EQ(parsed->values, count);
      EXPECT_EQ(parsed->data_offset_bytes, static_cast<int64_t>(header.size()));
    }
  }
}

TEST(NpyHeaderTest, NamesNoRemedyWhereThereIsNone) {
  for (const char* descr : {"", ">", ">f3", "|S3", "|O", "<c8"}) {
    const absl::Status status =
        ParseNpyHeader(
            File(absl::StrCat("{'descr': '", descr, "', 'fortran_order': False, 'shape': (1,), }"),
                 "abcd"),
            "f")
            .status();
    EXPECT_THAT(std::string(status.message()), testing::EndsWith("<f2 <f4 <f8")) << descr;
  }
}

TEST(NpyHeaderTest, RefusesWhatIsNotTheFormat) {
  const auto dict = [](const std::string& descr, const std::string& order,
                       const std::string& shape) {
    return absl::StrCat("{'descr': '", descr, "', 'fortran_order': ", order, ", 'shape': ", shape,
                        ", }");
  };
  ASSERT_TRUE(ParseNpyHeader(File(dict("<i4", "False", "(1,)"), "abcd"), "f").ok());
  const std::vector<std::pair<std::string, std::string>> table = {
      {"", "mark"},
      {"\x93NUMPY", "mark"},
      {File(dict("<i4", "False", "(1,)"), "abcd").replace(6, 1, "\x02"), "version 1.0"},
      {File(dict("<i4", "False", "(1,)"), "abcd").substr(0, 9), "ends inside"},
      {File(dict("<i4", "False", "(1,)"), "abcd").substr(0, 100), "ends inside"},
      {File(dict(">i4", "False", "(1,)"), "abcd"), "<f4 <f8; .astype(\"<i4\") makes one of them"},
      {File(dict("|b1", "False", "(1,)"), "a"), "<f4 <f8; .astype(\"|u1\") makes one of them"},
      {File(dict("<f3", "False", "(1,)"), "abc"),
       "type is '<f3'; known: |u1 <u2 <u4 <u8 |i1 <i2 <i4 <i8 <f2 <f4 <f8"},
      {File(dict("|O", "False", "(1,)"), "abcd"), "type is '|O'"},
      {File(dict("<i4", "True", "(1,)"), "abcd"), "C order"},
      {File(dict("<i4", "False", "(1)"), "abcd"), "C order and a shape"},
      {File(dict("<i4", "False", "(-1,)"), "abcd"), "shape"},
      {File(dict("<i4", "False", "(1, 1,)"), "abcd"), "shape"},
      {File(dict("<i4", "False", "(99999999999999999999,)"), "abcd"), "shape"},
      {File(dict("<i4", "False", "(4611686018427387904, 4)"), ""), "shape"},
      {File(dict("<i4", "False", "(2,)"), "abcd"), "4 bytes of values; its shape (2,) needs 8"},
      {File(dict("<i4", "False", "(1,)"), "abcde"), "5 bytes"},
      {File(dict("<i4", "False", "(1,)"), "abcd", 121), "not aligned"},
      {File(dict("<i4", "False", "(1,)") + "x", "abcd"), "does not end"},
  };
  for (const auto& [bytes, words] : table) {
    const auto parsed = ParseNpyHeader(bytes, "some.npy");
    EXPECT_EQ(parsed.status().code(), absl::StatusCode::kDataLoss) << words;
    EXPECT_THAT(std::string(parsed.status().message()),
                testing::AllOf(HasSubstr("some.npy"), HasSubstr(words)));
  }
}

// Any bytes give an answer or an error, never a crash and never a shape that the file cannot hold.
TEST(NpyHeaderTest, SurvivesDamage) {
  RandomStream random(1, RandomDomain::kTest, {0, 0, 0});
  const std::string good =
      File("{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }", std::string(24, 'v'));
  int accepted = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string bytes = good.substr(0, random.Below(10) == 0 ? random.Below(good.size()) : 999);
    for (int64_t flips = random.Between(0, 3); flips > 0 && !bytes.empty(); --flips) {
      bytes[random.Below(std::min<size_t>(bytes.size(), 80))] =
          static_cast<char>(random.Below(256));
    }
    const auto parsed = ParseNpyHeader(bytes, "f");
    if (!parsed.ok()) continue;
    ++accepted;
    EXPECT_EQ(parsed->data_offset_bytes + parsed->values * NpyItemBytes(parsed->type),
              static_cast<int64_t>(bytes.size()));
  }
  EXPECT_GT(accepted, 0);
  EXPECT_LT(accepted, 10000);
}

TEST(NpyFileTest, WritesAndReadsFloats) {
  const TestFolder folder;
  const std::string path = JoinPath(folder.path(), "predictions.npy");
  ASSERT_TRUE(WriteNpy(path, {1.5f, -2.0f, 0.25f, 3e30f, 0.0f, -0.0f}, {3, 2}).ok());
  const auto read = ReadNpyFloat(path);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_THAT(read->values, ElementsAre(1.5f, -2.0f, 0.25f, 3e30f, 0.0f, -0.0f));
  EXPECT_THAT(read->shape, ElementsAre(3, 2));
}

// The bytes are those that numpy.float16 has: 1.5 is 0x3e00, -2 is 0xc000.
TEST(NpyFileTest, WritesAndReadsHalves) {
  const TestFolder folder;
  const std::string path = folder.File("predictions.npy");
  const std::vector<Half> values = {Half::Nearest(1.5f), Half::Nearest(-2)};
  ASSERT_TRUE(WriteNpyHalf(path, values, {1, 2}).ok());
  EXPECT_EQ(*ReadFile(path), File("{'descr': '<f2', 'fortran_order': False, 'shape': (1, 2), }",
                                  std::string("\x00\x3e\x00\xc0", 4)));
  const auto read = MappedNpy::Open(path);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_THAT(read->values<Half>(), ElementsAre(1.5f, -2));
}

// The bytes that were checked are read, whatever stands at the path by then.
TEST(NpyFileTest, ReadsTheFileThatItIsGiven) {
  const TestFolder folder;
  const std::string path = folder.File("values.npy");
  ASSERT_TRUE(WriteNpy(path, {1, 2}, {2}).ok());
  auto checked = MappedFile::Open(path);
  ASSERT_TRUE(checked.ok()) << checked.status();
  ASSERT_TRUE(WriteNpy(path, {3}, {1}).ok());
  const auto read = MappedNpy::FromFile(*std::move(checked), path);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_THAT(read->values<float>(), ElementsAre(1, 2));
}

TEST(NpyFileTest, RefusesAnotherTypeAndAMissingFile) {
  const TestFolder folder;
  const std::string path = JoinPath(folder.path(), "labels.npy");
  ASSERT_TRUE(WriteFileAtomically(path, FormatNpyHeader(NpyType::kInt32, {1}) + "abcd").ok());
  EXPECT_THAT(std::string(ReadNpyFloat(path).status().message()), HasSubstr("<i4, not <f4"));
  EXPECT_EQ(ReadNpyFloat(path + "x").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ReadNpyFloat(folder.path()).status().code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace lra
