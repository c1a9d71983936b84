#include "models/base/safetensors.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "lra/files.h"
#include "lra/folder_test_util.h"

namespace lra {
namespace {

using ::testing::HasSubstr;

// Makes a file from its header text and data.
std::string Assemble(const std::string& header, const std::string& data) {
  const uint64_t length = header.size();
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header + data;
}

// The message of the DataLoss that reading `bytes` gives.
std::string RefusalOf(const std::string& bytes) {
  const TestFolder folder;
  const std::string path = folder.File("hostile.safetensors");
  EXPECT_TRUE(WriteFileAtomically(path, bytes).ok());
  const auto file = ReadSafetensors(path);
  EXPECT_EQ(file.status().code(), absl::StatusCode::kDataLoss) << file.status();
  EXPECT_THAT(std::string(file.status().message()), HasSubstr(path));
  return std::string(file.status().message());
}

TEST(SafetensorsTest, BytesAreTheFormatToTheLetter) {
  const TestFolder folder;
  const std::string path = folder.File("pinned.safetensors");
  const at::Tensor tensor = at::arange(2, at::kInt);
  const auto digest = WriteSafetensors(path, {{"a", tensor}}, {{"k", "v"}});
  ASSERT_TRUE(digest.ok()) << digest.status();
  const std::string json =
      R"({"__metadata__":{"k":"v"},"a":{"dtype":"I32","shape":[2],"data_offsets":[0,8]}})";
  const std::string padded = json + std::string((8 - json.size() % 8) % 8, ' ');
  const std::string expected = Assemble(padded, std::string("\0\0\0\0\1\0\0\0", 8));
  EXPECT_EQ(*ReadFile(path), expected);
  EXPECT_EQ(*digest, Sha256Hex(expected));
}

TEST(SafetensorsTest, RoundTripKeepsTypesShapesOrderAndValues) {
  const TestFolder folder;
  const std::string path = folder.File("round.safetensors");
  const at::Tensor strided = at::arange(6, at::kFloat).view({2, 3}).t();  // [3, 2], not contiguous
  const std::vector<std::pair<std::string, at::Tensor>> tensors = {
      {"z.weight", strided},
      {"count", at::full({}, 7, at::kLong)},
      {"mask", at::full({3}, true, at::kBool)},
      {"bytes", at::full({5}, 250, at::kByte)},
      {"none", at::empty({0, 4}, at::kDouble)},
      {"half", at::full({2}, 0.5, at::kBFloat16)},
  };
  ASSERT_TRUE(WriteSafetensors(path, tensors, {{"format", "lra"}}).ok());
  const auto file = ReadSafetensors(path);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->metadata.at("format"), "lra");
  ASSERT_EQ(file->tensors.size(), tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    // An empty tensor comes before the one that begins at the same byte, as it did when it was
    // written.
    EXPECT_EQ(file->tensors[i].first, tensors[i].first);
    EXPECT_EQ(file->tensors[i].second.scalar_type(), tensors[i].second.scalar_type());
    EXPECT_TRUE(file->tensors[i].second.equal(tensors[i].second)) << tensors[i].first;
  }
}

TEST(SafetensorsTest, WriterRefusesWhatTheFormatCannotHold) {
  const TestFolder folder;
  const std::string path = folder.File("refused.safetensors");
  const at::Tensor one = at::full({1}, 1, at::kFloat);
  const auto code = [&](const std::vector<std::pair<std::string, at::Tensor>>& tensors) {
    return WriteSafetensors(path, tensors, {}).status().code();
  };
  EXPECT_EQ(code({{"a", one}, {"a", one}}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({{"", one}}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({{"__metadata__", one}}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({{"a\n", one}}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({{"a", at::Tensor()}}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({{"a", at::full({1}, 1, at::kComplexFloat)}}), absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(FileExists(path));
}

TEST(SafetensorsTest, TruncatedAndOversizedHeaders) {
  EXPECT_THAT(RefusalOf(""), HasSubstr("too few"));
  EXPECT_THAT(RefusalOf("1234567"), HasSubstr("too few"));
  EXPECT_THAT(RefusalOf(std::string(8, '\xff')), HasSubstr("claims 18446744073709551615 bytes"));
  const std::string whole =
      Assemble(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", "abcd");
  EXPECT_THAT(RefusalOf(whole.substr(0, whole.size() - 1)), HasSubstr("\"a\""));
  EXPECT_THAT(RefusalOf(whole + "x"), HasSubstr("1 bytes at the end"));
  EXPECT_THAT(RefusalOf(whole.substr(0, 20)), HasSubstr("claims"));
}

TEST(SafetensorsTest, BadJson) {
  EXPECT_THAT(RefusalOf(Assemble("{\"a\":", "")), HasSubstr("not valid JSON"));
  EXPECT_THAT(RefusalOf(Assemble("", "")), HasSubstr("not valid JSON"));
  EXPECT_THAT(RefusalOf(Assemble(std::string(100000, '['), "")), HasSubstr("not valid JSON"));
  EXPECT_THAT(RefusalOf(Assemble("[]", "")), HasSubstr("not a JSON object"));
  EXPECT_THAT(RefusalOf(Assemble("{} trailing", "")), HasSubstr("not valid JSON"));
  EXPECT_THAT(RefusalOf(Assemble(R"({"__metadata__":{"a":1}})", "")), HasSubstr("not a string"));
  EXPECT_THAT(RefusalOf(Assemble(R"({"__metadata__":3})", "")), HasSubstr("not an object"));
}

TEST(SafetensorsTest, DuplicateNamesAtAnyDepth) {
  const std::string one = R"("a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]})";
  EXPECT_THAT(RefusalOf(Assemble("{" + one + "," + one + "}", "x")), HasSubstr("\"a\" twice"));
  EXPECT_THAT(RefusalOf(Assemble(
                  R"({"a":{"dtype":"U8","dtype":"I8","shape":[1],"data_offsets":[0,1]}})", "x")),
              HasSubstr("\"dtype\" twice"));
}

struct HostileCase {
  const char* entry;  // the entry of tensor "a"; the file has 8 data bytes
  const char* message;
};

class HostileEntryTest : public ::testing::TestWithParam<HostileCase> {};

TEST_P(HostileEntryTest, IsRefusedNamingTheTensor) {
  const std::string refusal =
      RefusalOf(Assemble(std::string("{\"a\":") + GetParam().entry + "}", "12345678"));
  EXPECT_THAT(refusal, HasSubstr("tensor \"a\""));
  EXPECT_THAT(refusal, HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    All, HostileEntryTest,
    ::testing::Values(
        HostileCase{R"({"dtype":"F32","shape":[2]})", "exactly dtype"},
        HostileCase{R"({"dtype":"F32","shape":[2],"data_offsets":[0,8],"x":1})", "exactly dtype"},
        HostileCase{R"({"dtype":1,"shape":[2],"data_offsets":[0,8]})", "exactly dtype"},
        HostileCase{R"({"dtype":"F12","shape":[2],"data_offsets":[0,8]})", "unknown dtype"},
        HostileCase{R"({"dtype":"F32","shape":[-2],"data_offsets":[0,8]})", "shape"},
        HostileCase{R"({"dtype":"F32","shape":[2.0],"data_offsets":[0,8]})", "shape"},
        HostileCase{R"({"dtype":"F32","shape":2,"data_offsets":[0,8]})", "shape"},
        HostileCase{R"({"dtype":"F32","shape":[2],"data_offsets":[0]})", "two offsets"},
        HostileCase{R"({"dtype":"F32","shape":[2],"data_offsets":[8,0]})", "outside"},
        HostileCase{R"({"dtype":"F32","shape":[4],"data_offsets":[0,16]})", "outside"},
        HostileCase{R"({"dtype":"F32","shape":[3],"data_offsets":[0,8]})", "do not give"},
        HostileCase{R"({"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,8]})",
                    "do not give"},
        HostileCase{R"({"dtype":"F32","shape":[0,4611686018427387904],"data_offsets":[0,0]})",
                    "do not give"},
        HostileCase{R"({"dtype":"F32","shape":[9223372036854775808],"data_offsets":[0,8]})",
                    "shape"},
        HostileCase{R"({"dtype":"BOOL","shape":[8],"data_offsets":[0,8]})", "a byte above 1"},
        HostileCase{R"({"dtype":"F32","shape":[1],"data_offsets":[4,8]})", "after a gap"}));

TEST(SafetensorsTest, OverlapIsRefused) {
  EXPECT_THAT(RefusalOf(Assemble(R"({"a":{"dtype":"U8","shape":[6],"data_offsets":[0,6]},)"
                                 R"("b":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}})",
                                 "12345678")),
              HasSubstr("tensor \"b\" begins at byte 4, inside the tensor before it"));
}

TEST(SafetensorsTest, MissingFileIsNotFound) {
  const TestFolder folder;
  EXPECT_EQ(ReadSafetensors(folder.File("no.such.file")).status().code(),
            absl::StatusCode::kNotFound);
}

// A header of `count` empty tensors or, as metadata, of `count` values.
std::string ManyNames(int count, bool as_metadata) {
  std::string header = as_metadata ? "{\"__metadata__\":{" : "{";
  for (int i = 0; i < count; ++i) {
    absl::StrAppend(&header, i == 0 ? "" : ",", "\"n", i, "\":",
                    as_metadata ? R"("v")" : R"({"dtype":"F32","shape":[0],"data_offsets":[0,0]})");
  }
  return header + (as_metadata ? "}}" : "}");
}

// The quadratic parser took more than a minute for either.
TEST(SafetensorsTest, ManyNamesTakeTimeInProportion) {
  const absl::Time begin = absl::Now();
  const auto tensors = ParseSafetensors("many", Assemble(ManyNames(100'000, false), ""));
  ASSERT_TRUE(tensors.ok()) << tensors.status();
  ASSERT_EQ(tensors->tensors.size(), 100'000u);
  EXPECT_EQ(tensors->tensors[2].first, "n2");  // in the order of the file, not of the alphabet
  const auto metadata = ParseSafetensors("many", Assemble(ManyNames(200'000, true), ""));
  ASSERT_TRUE(metadata.ok()) << metadata.status();
  EXPECT_EQ(metadata->metadata.size(), 200'000u);
  EXPECT_LT(absl::Now() - begin, absl::Seconds(20));
}

TEST(SafetensorsTest, MoreNamesThanTheLimitAreRefused) {
  const std::string why = "names 250001 tensors and values of metadata, at most 250000 are read";
  EXPECT_THAT(RefusalOf(Assemble(ManyNames(250'001, false), "")), HasSubstr(why));
  EXPECT_THAT(RefusalOf(Assemble(ManyNames(250'000, true), "")), HasSubstr(why));
}

}  // namespace
}  // namespace lra
