#include "lra/shell_word.h"

#include <gtest/gtest.h>

namespace lra {
namespace {

TEST(ShellWordTest, QuotesWhatTheShellWouldRead) {
  EXPECT_EQ(ShellWord("runs/mine-2.textproto"), "runs/mine-2.textproto");
  EXPECT_EQ(ShellWord("my run.textproto"), "'my run.textproto'");
  EXPECT_EQ(ShellWord("a$b"), "'a$b'");
  EXPECT_EQ(ShellWord("~me"), "'~me'");
  EXPECT_EQ(ShellWord("it's"), "'it'\\''s'");
  EXPECT_EQ(ShellWord("größe"), "'größe'");
  EXPECT_EQ(ShellWord(""), "''");
  EXPECT_EQ(QuotedShellWord("plain"), "'plain'");
}

}  // namespace
}  // namespace lra
