#include "tasks/image/pickle_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tasks/image/pickle_test_util.h"

namespace lra::image {
namespace {

using testing::HasSubstr;
using Kind = PickleValue::Kind;

const std::string kProtocol2("\x80\x02", 2);
const std::string kArray = "cnumpy.core.multiarray\n_reconstruct\n";
const std::string kNdarray = "cnumpy\nndarray\n";
const std::string kDtype = "cnumpy\ndtype\n";

std::string Words(const PickleValue& value) {
  switch (value.kind) {
    case Kind::kNone:
      return "None";
    case Kind::kBool:
      return value.integer == 1 ? "True" : "False";
    case Kind::kInt:
      return absl::StrCat(value.integer);
    case Kind::kBytes:
      return absl::StrCat("b'", value.bytes, "'");
    case Kind::kText:
      return absl::StrCat("'", value.bytes, "'");
    default:
      break;
  }
  std::string words;
  for (const PickleValue* item : value.items) {
    absl::StrAppend(&words, words.empty() ? "" : ", ", Words(*item));
  }
  if (value.kind == Kind::kTuple) return absl::StrCat("(", words, ")");
  return value.kind == Kind::kList ? absl::StrCat("[", words, "]") : absl::StrCat("{", words, "}");
}

TEST(PickleReaderTest, ReadsValues) {
  using std::string;
  // Each pickle stands beside what pickle.loads makes of it (for a dictionary, its keys and values
  // in a row).
  const std::vector<std::pair<string, string>> table = {
      {"N.", "None"},
      {"\x88.", "True"},
      {"\x89.", "False"},
      {"K\xff.", "255"},
      {"M\x01\xff.", "65281"},
      {"J\xff\xff\xff\xff.", "-1"},
      {string("J\x00\x00\x00\x80.", 6), "-2147483648"},
      {string("\x8a\x00.", 3), "0"},
      {"\x8a\x01\x7f.", "127"},
      {"\x8a\x01\x80.", "-128"},
      {string("\x8a\x02\x80\x00.", 5), "128"},
      {string("\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x80.", 11), "-9223372036854775808"},
      {string("U\x00.", 3), "b''"},
      {"U\x03"
       "a\nb.",
       "b'a\nb'"},
      {string("T\x02\x00\x00\x00xy.", 8), "b'xy'"},
      {"C\x02xy.", "b'xy'"},
      {string("B\x02\x00\x00\x00xy.", 8), "b'xy'"},
      {string("\x8e\x02\x00\x00\x00\x00\x00\x00\x00xy.", 12), "b'xy'"},
      {string("\x96\x02\x00\x00\x00\x00\x00\x00\x00xy.", 12), "b'xy'"},
      {string("X\x02\x00\x00\x00xy.", 8), "'xy'"},
      {"\x8c\x02xy.", "'xy'"},
      {string("\x8d\x02\x00\x00\x00\x00\x00\x00\x00xy.", 12), "'xy'"},
      {").", "()"},
      {"K\x01\x85.", "(1)"},
      {"K\x01K\x02\x86.", "(1, 2)"},
      {"K\x01K\x02K\x03\x87.", "(1, 2, 3)"},
      {"K\x01(K\x02(K\x03tt\x86.", "(1, (2, (3)))"},
      {"].", "[]"},
      {"]K\x01"
       "a(K\x02K\x03"
       "e(e.",
       "[1, 2, 3]"},
      {"}.", "{}"},
      {"}K\x01K\x02s(K\x03K\x04K\x05K\x06u(u.", "{1, 2, 3, 4, 5, 6}"},
      {"](K\x07q\x05h\x05h\x05"
       "e.",
       "[7, 7, 7]"},
      {string("](K\x07r\x00\x01\x00\x00j\x00\x01\x00\x00"
              "e.",
              16),
       "[7, 7]"},
      {string("\x94.", 2)
           .insert(0,
                   "]\x94(K\x07\x94h\x01"
                   "e"),
       "[7, 7]"},
      {string("\x95\x02\x00\x00\x00\x00\x00\x00\x00N.", 11), "None"},
  };
  for (const auto& [pickle, words] : table) {
    const std::string bytes = kProtocol2 + pickle;
    const auto parsed = Pickle::Parse(bytes);
    ASSERT_TRUE(parsed.ok()) << words << ": " << parsed.status();
    EXPECT_EQ(Words(parsed->root()), words);
  }
}

TEST(PickleReaderTest, FindsTheLastOfAKey) {
  const std::string bytes = kProtocol2 +
                            "}(U\x01"
                            "aK\x01U\x01"
                            "bK\x02\x8c\x01"
                            "aK\x03K\x04K\x05u.";
  const auto pickle = Pickle::Parse(bytes);
  ASSERT_TRUE(pickle.ok()) << pickle.status();
  EXPECT_EQ(FindKey(pickle->root(), "a")->integer, 3);
  EXPECT_EQ(FindKey(pickle->root(), "b")->integer, 2);
  EXPECT_EQ(FindKey(pickle->root(), "c"), nullptr);
  EXPECT_EQ(FindKey(pickle->root(), ""), nullptr);
}

TEST(PickleReaderTest, AValueMayHoldItself) {
  const auto pickle = Pickle::Parse(kProtocol2 +
                                    "]q\x01h\x01"
                                    "ah\x01"
                                    "a.");
  ASSERT_TRUE(pickle.ok()) << pickle.status();
  EXPECT_EQ(pickle->root().items[0], &pickle->root());
}

TEST(PickleReaderTest, NamesByteAndOpcode) {
  using std::string;
  const std::vector<std::pair<string, string>> table = {
      {"", "byte 2: the bytes end before the opcode STOP"},
      {"N", "byte 3: the bytes end before the opcode STOP"},
      {".", "byte 2, opcode '.': the end, but not of one value"},
      {"NN.", "byte 4, opcode '.': the end, but not of one value"},
      {"N(.", "byte 4, opcode '.': the end, but not of one value"},
      {"N.x", "byte 3, opcode '.': 1 bytes behind the end"},
      {"\x80\x02N.", "byte 2, opcode 0x80: protocol 2; one of 2 to 5, once, is expected"},
      {"K", "byte 2, opcode 'K': 1 bytes should follow; 0 are left"},
      {"J\x01\x01\x01", "byte 2, opcode 'J': 4 bytes should follow; 3 are left"},
      {"U\x05"
       "abc.",
       "byte 2, opcode 'U': 5 bytes should follow; 4 are left"},
      {"T\xff\xff\xff\xff"
       "a",
       "byte 2, opcode 'T': 4294967295 bytes should follow; 1 are left"},
      {"\x8e\xff\xff\xff\xff\xff\xff\xff\xff"
       "a",
       "opcode 0x8e: 18446744073709551615 bytes"},
      {string("\x95\x03\x00\x00\x00\x00\x00\x00\x00N.", 11),
       "opcode 0x95: 3 bytes should follow; 2"},
      {"\x8a\x09", "byte 2, opcode 0x8a: an integer of 9 bytes"},
      {"K\x01\x86", "byte 4, opcode 0x86: the stack holds too few values"},
      {"K\x01(\x85", "byte 5, opcode 0x85: the stack holds too few values"},
      {"K\x01t", "byte 4, opcode 't': there is no mark"},
      {"]e", "byte 3, opcode 'e': there is no mark"},
      {"]a", "byte 3, opcode 'a': a list to add to is expected"},
      {"NNa", "byte 4, opcode 'a': a list to add to is expected"},
      {"]NNs", "byte 5, opcode 's': a dictionary to add to is expected"},
      {"}(Nu", "byte 5, opcode 'u': a key without a value"},
      {"q\x01", "byte 2, opcode 'q': the stack is empty"},
      {"\x94", "byte 2, opcode 0x94: the stack is empty"},
      {"h\x01", "byte 2, opcode 'h': nothing was kept under 1"},
      {"j\xff\xff\xff\xff", "byte 2, opcode 'j': nothing was kept under 4294967295"},
      // Code that pickle.loads would run.
      {"cos\nsystem\nU\x04true\x85R.",
       "byte 2, opcode 'c': the name \"system\" of module \"os\"; only"},
      {"cbuiltins\neval\n", "the name \"eval\" of module \"builtins\"; only those that make NumPy"},
      {"\x8c\x02os\x8c\x06system\x93",
       "byte 14, opcode 0x93: the name \"system\" of module \"os\""},
      {"cnumpy\nload\n", "the name \"load\" of module \"numpy\""},
      {"cnumpy\nndarray", "byte 2, opcode 'c': a name without an end"},
      {"c" + string(100, 'x') + "\ny\n", "xxx\"...; only those"},
      {"K\x01K\x01\x93", "byte 6, opcode 0x93: a name that is no string"},
      {"K\x01)R", "byte 5, opcode 'R': a call of an integer with a tuple"},
      {kNdarray + "NR", "opcode 'R': a call of a global name with None"},
      {kNdarray + ")R", "opcode 'R': a call that makes no array, no type and no bytes"},
      {kArray + ")R", "opcode 'R': a call that makes no array"},
      {kArray + kDtype + "NN\x87R", "opcode 'R': a call that makes no array"},
      {kDtype + ")R", "opcode 'R': a call that makes no array"},
      {kDtype + "K\x01\x85R", "opcode 'R': a call that makes no array"},
      {"c_codecs\nencode\n\x8c\x01"
       "a\x8c\x05utf-8\x86R",
       "opcode 'R': a call that makes no array"},
      {"cnumpy.core.numeric\n_frombuffer\n)R", "opcode 'R': a call that makes no array"},
      {"]Nb", "byte 4, opcode 'b': a state that a list does not have"},
      {"Nb", "byte 3, opcode 'b': the stack is empty"},
      {kArray + kNdarray + "NN\x87R)b", "opcode 'b': a state that an array does not have"},
      {kDtype + "U\x02u1\x85R(K\x03U\x01|N(NtNtb", "opcode 'b': a state that a type does not have"},
      // Opcodes of other objects, of protocol 0, of classes, and of what lies outside of the
      // pickle.
      {"I1\n.", "byte 2, opcode 'I': a dictionary of strings, integers, lists and arrays has no"},
      {"i__main__\nX\n", "byte 2, opcode 'i'"},
      {"o", "byte 2, opcode 'o'"},
      {"P1\n", "byte 2, opcode 'P'"},
      {"\x81", "byte 2, opcode 0x81"},
      {"\x82\x01", "byte 2, opcode 0x82"},
      {"\x97", "byte 2, opcode 0x97"},
      {string(1, '\0'), "byte 2, opcode 0x00"},
  };
  for (const auto& [pickle, words] : table) {
    const auto parsed = Pickle::Parse(kProtocol2 + pickle);
    EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument) << words;
    EXPECT_THAT(std::string(parsed.status().message()), HasSubstr(words));
    EXPECT_LT(parsed.status().message().size(), 300u);
  }
}

TEST(PickleReaderTest, ReadsProtocols2To5) {
  for (int protocol = 0; protocol < 256; ++protocol) {
    const std::string pickle = {'\x80', static_cast<char>(protocol), 'N', '.'};
    EXPECT_EQ(Pickle::Parse(pickle).ok(), protocol >= 2 && protocol <= 5) << protocol;
  }
  for (const absl::string_view other : {"", "\x80", "(dp0\n.", "}q\x01.", "\x1f\x8b\x08", "N."}) {
    EXPECT_THAT(std::string(Pickle::Parse(other).status().message()),
                HasSubstr("byte 0: a pickle of protocol 2 to 5 begins with the byte 0x80; found"));
  }
}

TEST(PickleReaderTest, BoundsTheOpcodes) {
  const auto lists = [](int64_t n) {
    return kProtocol2 + "(" + std::string(static_cast<size_t>(n), ']') + "t.";
  };
  // PROTO, the mark, the tuple and STOP are four more opcodes.
  EXPECT_TRUE(Pickle::Parse(lists(kMaxPickleOpcodes - 4)).ok());
  EXPECT_THAT(std::string(Pickle::Parse(lists(kMaxPickleOpcodes - 3)).status().message()),
              HasSubstr("byte 262145, opcode '.': there are more than 262144 opcodes"));
}

}  // namespace
}  // namespace lra::image
