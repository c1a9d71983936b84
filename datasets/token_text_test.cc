#include "datasets/token_text.h"

#include <gtest/gtest.h>

namespace lra {
namespace {

TEST(TokenTextTest, BytesAreCharacters) {
  TaskSpec spec;
  spec.set_content(TaskSpec::TEXT);
  EXPECT_EQ(TokenText(spec, 1 + 'a'), "a");
  EXPECT_EQ(TokenText(spec, 1 + ' '), "_");
  EXPECT_EQ(TokenText(spec, 1 + '\n'), "\\x0a");
  EXPECT_EQ(TokenText(spec, 256), "\\xff");
  EXPECT_EQ(TokenText(spec, 257), "<eos>");
  EXPECT_EQ(TokenText(spec, 0), "");
}

// It stands behind the end mark, where there is one.
TEST(TokenTextTest, TheIdOfHiddenTokensIsNoEndMark) {
  TaskSpec spec;
  spec.set_content(TaskSpec::TEXT);
  spec.set_hides_tokens(true);
  spec.set_vocabulary_size(259);
  EXPECT_EQ(TokenText(spec, 257), "<eos>");
  EXPECT_EQ(TokenText(spec, 258), "<mask>");
  spec.set_vocabulary_size(258);
  EXPECT_EQ(TokenText(spec, 257), "<mask>");
}

TEST(TokenTextTest, NamesWinAndPixelsHaveNone) {
  TaskSpec spec;
  spec.add_token_names("<pad>");
  spec.add_token_names("[MAX");
  EXPECT_EQ(TokenText(spec, 1), "[MAX");
  EXPECT_EQ(TokenText(spec, 2), "");
  EXPECT_EQ(TokenText(spec, -1), "");
  TaskSpec image;
  image.set_content(TaskSpec::GREY_IMAGE);
  EXPECT_EQ(TokenText(image, 100), "");
}

}  // namespace
}  // namespace lra
