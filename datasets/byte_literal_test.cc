#include "datasets/byte_literal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"

namespace lra {
namespace {

using testing::HasSubstr;

struct Golden {
  std::string literal;
  size_t size_bytes;
  const char* bytes;
};

// The expected bytes are those of ast.literal_eval of Python 3.11.
const std::vector<Golden>& Goldens() {
  static const auto* const kTable = new std::vector<Golden>{
      {"b''", 0, ""},
      {"b\"\"", 0, ""},
      {"b'plain text'", 10, "plain text"},
      {"b'\\\\\\'\\\"\\a\\b\\f\\n\\r\\t\\v'", 10, "\\'\"\007\010\014\012\015\011\013"},
      {"b\"it's\"", 4, "it's"},
      {"b'say \"x\"'", 7, "say \"x\""},
      {"b\"\\'\\\"\"", 2, "'\""},
      {"b'\\0\\7\\12\\123\\1234\\08\\9\\777\\400\\377'", 13, "\000\007\012SS4\0008\\9\377\000\377"},
      {"b'\\x00\\x7f\\x80\\xff\\xAf\\xfFF'", 7, "\000\177\200\377\257\377F"},
      {"b'\\q\\(\\N{DASH}\\u1234\\U0001F600\\X41\\ \\%\\e\\s'", 40,
       "\\q\\(\\N{DASH}\\u1234\\U0001F600\\X41\\ \\%\\e\\s"},
      {"b'\\\\n\\\\x41\\\\\\\\'", 8, "\\n\\x41\\\\"},
      {"b'a\\\012b\\\015\012c\\\015d'", 4, "abcd"},
      {"b'a\001\013\014\037\177'", 6, "a\001\013\014\037\177"},
      {"b'1 Introduction\\nWe \\xe2\\x80\\x9cparse\\xe2\\x80\\x9d \\xc3\\xa9'", 32,
       "1 Introduction\012We \342\200\234parse\342\200\235 \303\251"},
      {"b\"zvvX1'\\ X\"", 9, "zvvX1'\\ X"},
      {"b\"7 \\\\vb\\\\0 F\"", 9, "7 \\vb\\0 F"},
      {"b'rv8f78\\7\\\011'", 9, "rv8f78\007\\\011"},
      {"b'7\\zv'", 4, "7\\zv"},
      {"b'\\v8at0\011\\Faf'", 10, "\0138at0\011\\Faf"},
      {"b'b\\\\1z\\r\\b'", 6, "b\\1z\015\010"},
      {"b\"\\9\"", 2, "\\9"},
      {"b\"\\18'z9a\"", 6, "\0018'z9a"},
      {"b\"bf\"", 2, "bf"},
      {"b'z\\\\\"F\\\\'", 5, "z\\\"F\\"},
      {"b\"'\"", 1, "'"},
      {"b'781\\\\\\''", 5, "781\\'"},
      {"b\"\\z7f\011\"", 5, "\\z7f\011"},
      {"b\"8\\b\"", 2, "8\010"},
      {"b\"t\0117xb\"", 5, "t\0117xb"},
      {"b'at'", 2, "at"},
      {"b\"\\\\\\b\"", 2, "\\\010"},
      {"b\"1\\\\n\\vf9f\"", 7, "1\\n\013f9f"},
      {"b'\\\\xnFb\\\\78'", 8, "\\xnFb\\78"},
      {"b'\\fbf\\\\\\v'", 5, "\014bf\\\013"},
      {"b'\\atffrfF1vv'", 10, "\007tffrfF1vv"},
      {"b\"\\nb\\9\"", 4, "\012b\\9"},
      {"b'\\zf9vx\"fr'", 9, "\\zf9vx\"fr"},
      {"b\"8t  \"", 4, "8t  "},
      {"b'r\"1f'", 4, "r\"1f"},
      {"b\"fF\011\0117vf\\\011\\a\"", 10, "fF\011\0117vf\\\011\007"},
      {"b'\\v\\8088 n\\9'", 10, "\013\\8088 n\\9"},
  };
  return *kTable;
}

TEST(ByteLiteralTest, DecodesAsPythonDoes) {
  for (const Golden& golden : Goldens()) {
    EXPECT_TRUE(LooksLikeByteLiteral(golden.literal)) << golden.literal;
    const std::string expected(golden.bytes, golden.size_bytes);
    const auto bytes = DecodeByteLiteral(golden.literal);
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    EXPECT_EQ(*bytes, expected) << golden.literal;
    EXPECT_EQ(*DecodeByteLiteralPrefix(golden.literal), expected) << golden.literal;
  }
}

TEST(ByteLiteralTest, LooksAtBothEnds) {
  for (const char* text : {"b''", "b\"\"", "b'x'", "b'\\'"}) {
    EXPECT_TRUE(LooksLikeByteLiteral(text)) << text;
  }
  for (const char* text : {"", "b", "b'", "b\"", "b'x", "b'x\"", "b\"x'", "'x'", "B'x'", " b'x'",
                           "b'x' ", "rb'x'", "b`x`", "be'"}) {
    EXPECT_FALSE(LooksLikeByteLiteral(text)) << text;
  }
}

TEST(ByteLiteralTest, NamesTheByte) {
  const std::vector<std::pair<std::string, std::string>> table = {
      {"", "byte 0 of the bytes literal, \"\": b' or b\" is expected"},
      {"b", "byte 0 of the bytes literal, \"b\": b' or b\""},
      {"text", "byte 0 of the bytes literal, \"text\": b' or b\""},
      {"B'x'", "byte 0"},
      {"b'", "byte 2 of the bytes literal, \"\": the closing quote is missing"},
      {"b'abc", "byte 5 of the bytes literal, \"\": the closing quote is missing"},
      {"b'abc\"", "byte 6 of the bytes literal, \"\": the closing quote is missing"},
      {"b'abc\\'", "byte 7 of the bytes literal, \"\": the closing quote is missing"},
      {"b'abc\\", "byte 5 of the bytes literal, \"\\\\\": the literal ends inside an escape"},
      {"b'\\x", "byte 2 of the bytes literal, \"\\\\x\": the literal ends inside an escape"},
      {"b'\\xa", "byte 2 of the bytes literal, \"\\\\xa\": the literal ends inside an escape"},
      {"b'\\12", "byte 2 of the bytes literal, \"\\\\12\": the literal ends inside an escape"},
      {"b'\\123", "byte 6 of the bytes literal, \"\": the closing quote is missing"},
      {"b'a'b'", "byte 3 of the bytes literal, \"\\'b\\'\": the quote ends the literal; nothing"},
      {"b'a' ", "byte 3 of the bytes literal, \"\\' \": the quote ends"},
      {"b'''a'''", "byte 2 of the bytes literal, \"\\'\\'a\\'\": the quote ends"},
      {"b'\\x4'", "byte 2 of the bytes literal, \"\\\\x4\\'\": \\x needs two hexadecimal digits"},
      {"b'ab\\xg0'", "byte 4 of the bytes literal, \"\\\\xg0\": \\x needs two"},
      {"b'\\x'", "\\x needs two"},
      {"b'a\nb'", "byte 3 of the bytes literal, \"\\nb\\'\": line ends, NUL and bytes above 127"},
      {"b'a\r'", "byte 3 of the bytes literal, \"\\r\\'\": line ends"},
      {std::string("b'a\0'", 5), "byte 3 of the bytes literal, \"\\x00\\'\": line ends, NUL"},
      {"b'\x80'", "byte 2 of the bytes literal, \"\\x80\\'\": line ends, NUL and bytes above"},
      {"b'\\\xc3\xa9'", "byte 3 of the bytes literal, \"\\xc3\\xa9\\'\": line ends"},
  };
  for (const auto& [literal, words] : table) {
    const auto bytes = DecodeByteLiteral(literal);
    EXPECT_EQ(bytes.status().code(), absl::StatusCode::kInvalidArgument) << literal;
    EXPECT_THAT(std::string(bytes.status().message()), HasSubstr(words));
  }
}

TEST(ByteLiteralTest, DropsWhatTheCutWentThrough) {
  const std::vector<std::pair<std::string, std::string>> table = {
      {"b'", ""},
      {"b\"", ""},
      {"b'abc", "abc"},
      {"b'it\\'", "it'"},
      {"b'abc\\", "abc"},
      {"b'abc\\x", "abc"},
      {"b'abc\\xe", "abc"},
      {"b'abc\\xe2", "abc\xe2"},
      {"b'abc\\\\", "abc\\"},
      {"b'abc\\1", "abc"},
      {"b'abc\\12", "abc"},
      {"b'abc\\123", "abcS"},
      {"b'abc\\n", "abc\n"},
      {"b'abc\\q", "abc\\q"},
      {"b'abc\\\n", "abc"},
      {"b'abc\\\r", "abc"},
  };
  for (const auto& [literal, expected] : table) {
    const auto bytes = DecodeByteLiteralPrefix(literal);
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    EXPECT_EQ(*bytes, expected) << literal;
  }
  for (const char* literal : {"", "b", "abc", "b'\\xz", "b'a'b", "b'a\n", "b'\xff"}) {
    EXPECT_EQ(DecodeByteLiteralPrefix(literal).status().code(), absl::StatusCode::kInvalidArgument)
        << literal;
  }
}

TEST(ByteLiteralTest, EveryCutGivesAPrefix) {
  for (const Golden& golden : Goldens()) {
    const std::string whole(golden.bytes, golden.size_bytes);
    for (size_t size = 2; size <= golden.literal.size(); ++size) {
      const auto bytes = DecodeByteLiteralPrefix(golden.literal.substr(0, size));
      ASSERT_TRUE(bytes.ok()) << bytes.status();
      EXPECT_TRUE(absl::StartsWith(whole, *bytes)) << golden.literal << " cut to " << size;
      // An escape has at most four bytes, so at most three are dropped.
      EXPECT_GE(bytes->size() * 4 + 6, size) << golden.literal << " cut to " << size;
    }
  }
}

}  // namespace
}  // namespace lra
