#include "datasets/example.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "datasets/data_test_util.h"

namespace lra {
namespace {

using testing::HasSubstr;

std::string Bytes(const Sha256Digest& digest) {
  return std::string(reinterpret_cast<const char*>(digest.data()), digest.size());
}

// The bytes are written by hand as docs/format.md describes them.
TEST(ExampleDigestTest, IsTheDocumentedBytes) {
  const EncodedExample example{{1, 2, 258}, {}, 7};
  const Sha256Digest input = Sha256Of(std::string("\x01\x00\x02\x00\x02\x01", 6));
  ExampleHasher hasher;
  const ExampleDigest digest = hasher.Hash(SmallSpec(300), example);
  EXPECT_EQ(digest.input, input);
  EXPECT_EQ(digest.example, Sha256Of(Bytes(input) + std::string("\x07\x00\x00\x00", 4)));
}

TEST(ExampleDigestTest, CoversBothTextsOfAPair) {
  const EncodedExample example{{1}, {2}, 1};
  const std::string both =
      Bytes(Sha256Of(std::string("\x01\x00", 2))) + Bytes(Sha256Of(std::string("\x02\x00", 2)));
  ExampleHasher hasher;
  const ExampleDigest digest = hasher.Hash(SmallSpec(16, true), example);
  EXPECT_EQ(digest.input, Sha256Of(both));
  EXPECT_EQ(digest.example, Sha256Of(both + std::string("\x01\x00\x00\x00", 4)));
}

// Other extra columns are no part of the digest.
TEST(ExampleDigestTest, CoversHowManyTokensAreGiven) {
  const EncodedExample example{{1, 2, 258}, {}, 7, {9, 2}};
  const Sha256Digest input = Sha256Of(std::string("\x01\x00\x02\x00\x02\x01", 6));
  ExampleHasher hasher(/*prompt_place=*/1);
  const ExampleDigest digest = hasher.Hash(SmallSpec(300), example);
  EXPECT_EQ(digest.input, input);
  EXPECT_EQ(digest.example, Sha256Of(Bytes(input) + std::string("\x07\x00\x00\x00\x02\x00", 6)));
}

TEST(PromptPlaceTest, CountsTheValuesOfTheColumnsInFront) {
  ExtraColumn tips;
  tips.set_name("tips");
  tips.add_shape(4);
  tips.add_shape(2);
  EXPECT_EQ(PromptPlace(std::vector<ExtraColumn>{}), -1);
  EXPECT_EQ(PromptPlace(std::vector<ExtraColumn>{tips}), -1);
  EXPECT_EQ(PromptPlace(std::vector<ExtraColumn>{tips, PromptColumn()}), 8);
}

TEST(CheckExampleTest, NamesWhatIsWrong) {
  const TaskSpec spec = SmallSpec();
  EXPECT_TRUE(CheckExample(spec, {{1, 15}, {}, 2}).ok());
  const auto message = [&](const EncodedExample& example) {
    return std::string(CheckExample(spec, example).message());
  };
  EXPECT_THAT(message({{}, {}, 0}), HasSubstr("no tokens"));
  EXPECT_THAT(message({{1, 0}, {}, 0}), HasSubstr("token 1 has id 0; ids are 1 to 15"));
  EXPECT_THAT(message({{16}, {}, 0}), HasSubstr("token 0 has id 16"));
  EXPECT_THAT(message({{1}, {}, 3}), HasSubstr("label 3; labels are 0 to 2"));
  EXPECT_THAT(message({{1}, {}, -1}), HasSubstr("label -1"));
  EXPECT_THAT(message({std::vector<uint16_t>(41, 1), {}, 0}), HasSubstr("41 tokens; at most 40"));
  EXPECT_FALSE(CheckExample(SmallSpec(16, true), {{1}, {}, 0}).ok());
}

}  // namespace
}  // namespace lra
