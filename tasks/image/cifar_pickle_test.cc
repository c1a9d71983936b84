#include "tasks/image/cifar_pickle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "lra/random.h"
#include "tasks/image/pickle_test_util.h"

namespace lra::image {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Pickles of {"batch_label": "testing batch 1 of 1", "labels": [3, 9], "data": uint8 [2, 6],
// "filenames": [...]} with data[i, j] = (37 (6 i + j) + 200) mod 256.
struct Golden {
  std::string writer;
  absl::string_view hex;
};
const std::vector<Golden>& Goldens() {
  static const auto* const kTable = new std::vector<Golden>{
      {"NumPy 1.24.2, protocol 2",
       "80027d710028580b00000062617463685f6c6162656c7101581400000074657374696e6720626174636820"
       "31206f662031710258060000006c6162656c7371035d7104284b034b09655804000000646174617105636e"
       "756d70792e636f72652e6d756c746961727261790a5f7265636f6e7374727563740a7106636e756d70790a"
       "6e6461727261790a71074b00857108635f636f646563730a656e636f64650a7109580100000062710a5806"
       "0000006c6174696e31710b86710c52710d87710e52710f284b014b024b06867110636e756d70790a647479"
       "70650a71115802000000753171128988877113527114284b0358010000007c71154e4e4e4affffffff4aff"
       "ffffff4b00747116628968095812000000c388c3ad12375cc281c2a6c38bc3b0153a5f7117680b86711852"
       "711974711a62580900000066696c656e616d6573711b5d711c28580e000000615f735f3030303030342e70"
       "6e67711d5809000000625f735f302e706e67711e65752e"},
      {"NumPy 1.24.2, protocol 3",
       "80037d710028580b00000062617463685f6c6162656c7101581400000074657374696e6720626174636820"
       "31206f662031710258060000006c6162656c7371035d7104284b034b09655804000000646174617105636e"
       "756d70792e636f72652e6d756c746961727261790a5f7265636f6e7374727563740a7106636e756d70790a"
       "6e6461727261790a71074b00857108430162710987710a52710b284b014b024b0686710c636e756d70790a"
       "64747970650a710d58020000007531710e898887710f527110284b0358010000007c71114e4e4e4affffff"
       "ff4affffffff4b007471126289430cc8ed12375c81a6cbf0153a5f711374711462580900000066696c656e"
       "616d657371155d711628580e000000615f735f3030303030342e706e6771175809000000625f735f302e70"
       "6e67711865752e"},
      {"NumPy 1.24.2, protocol 4",
       "80049504010000000000007d94288c0b62617463685f6c6162656c948c1474657374696e67206261746368"
       "2031206f662031948c066c6162656c73945d94284b034b09658c0464617461948c156e756d70792e636f72"
       "652e6d756c74696172726179948c0c5f7265636f6e7374727563749493948c056e756d7079948c076e6461"
       "727261799493944b0085944301629487945294284b014b024b06869468098c0564747970659493948c0275"
       "3194898887945294284b038c017c944e4e4e4affffffff4affffffff4b0074946289430cc8ed12375c81a6"
       "cbf0153a5f947494628c0966696c656e616d6573945d94288c0e615f735f3030303030342e706e67948c09"
       "625f735f302e706e679465752e"},
      {"NumPy 1.24.2, protocol 5",
       "800595ef000000000000007d94288c0b62617463685f6c6162656c948c1474657374696e67206261746368"
       "2031206f662031948c066c6162656c73945d94284b034b09658c0464617461948c126e756d70792e636f72"
       "652e6e756d65726963948c0b5f66726f6d62756666657294939428960c00000000000000c8ed12375c81a6"
       "cbf0153a5f948c056e756d7079948c0564747970659493948c02753194898887945294284b038c017c944e"
       "4e4e4affffffff4affffffff4b007494624b024b0686948c014394749452948c0966696c656e616d657394"
       "5d94288c0e615f735f3030303030342e706e67948c09625f735f302e706e679465752e"},
      {"NumPy 2.4.6, protocol 2",
       "80027d710028580b00000062617463685f6c6162656c7101581400000074657374696e6720626174636820"
       "31206f662031710258060000006c6162656c7371035d7104284b034b09655804000000646174617105636e"
       "756d70792e5f636f72652e6d756c746961727261790a5f7265636f6e7374727563740a7106636e756d7079"
       "0a6e6461727261790a71074b00857108635f636f646563730a656e636f64650a7109580100000062710a58"
       "060000006c6174696e31710b86710c52710d87710e52710f284b014b024b06867110636e756d70790a6474"
       "7970650a71115802000000753171128988877113527114284b0358010000007c71154e4e4e4affffffff4a"
       "ffffffff4b00747116628968095812000000c388c3ad12375cc281c2a6c38bc3b0153a5f7117680b867118"
       "52711974711a62580900000066696c656e616d6573711b5d711c28580e000000615f735f3030303030342e"
       "706e67711d5809000000625f735f302e706e67711e65752e"},
      {"NumPy 2.4.6, protocol 3",
       "80037d710028580b00000062617463685f6c6162656c7101581400000074657374696e6720626174636820"
       "31206f662031710258060000006c6162656c7371035d7104284b034b09655804000000646174617105636e"
       "756d70792e5f636f72652e6d756c746961727261790a5f7265636f6e7374727563740a7106636e756d7079"
       "0a6e6461727261790a71074b00857108430162710987710a52710b284b014b024b0686710c636e756d7079"
       "0a64747970650a710d58020000007531710e898887710f527110284b0358010000007c71114e4e4e4affff"
       "ffff4affffffff4b007471126289430cc8ed12375c81a6cbf0153a5f711374711462580900000066696c65"
       "6e616d657371155d711628580e000000615f735f3030303030342e706e6771175809000000625f735f302e"
       "706e67711865752e"},
      {"NumPy 2.4.6, protocol 4",
       "80049505010000000000007d94288c0b62617463685f6c6162656c948c1474657374696e67206261746368"
       "2031206f662031948c066c6162656c73945d94284b034b09658c0464617461948c166e756d70792e5f636f"
       "72652e6d756c74696172726179948c0c5f7265636f6e7374727563749493948c056e756d7079948c076e64"
       "61727261799493944b0085944301629487945294284b014b024b06869468098c0564747970659493948c02"
       "753194898887945294284b038c017c944e4e4e4affffffff4affffffff4b0074946289430cc8ed12375c81"
       "a6cbf0153a5f947494628c0966696c656e616d6573945d94288c0e615f735f3030303030342e706e67948c"
       "09625f735f302e706e679465752e"},
      {"NumPy 2.4.6, protocol 5",
       "800595f0000000000000007d94288c0b62617463685f6c6162656c948c1474657374696e67206261746368"
       "2031206f662031948c066c6162656c73945d94284b034b09658c0464617461948c136e756d70792e5f636f"
       "72652e6e756d65726963948c0b5f66726f6d62756666657294939428960c00000000000000c8ed12375c81"
       "a6cbf0153a5f948c056e756d7079948c0564747970659493948c02753194898887945294284b038c017c94"
       "4e4e4e4affffffff4affffffff4b007494624b024b0686948c014394749452948c0966696c656e616d6573"
       "945d94288c0e615f735f3030303030342e706e67948c09625f735f302e706e679465752e"},
      {"NumPy 2.4.6, protocol 2, Fortran order, keys of bytes",
       "80027d710028635f636f646563730a656e636f64650a7101580b00000062617463685f6c6162656c710258"
       "060000006c6174696e317103867104527105581400000074657374696e672062617463682031206f662031"
       "7106680158060000006c6162656c73710768038671085271095d710a284b034b0965680158040000006461"
       "7461710b680386710c52710d636e756d70792e5f636f72652e6d756c746961727261790a5f7265636f6e73"
       "74727563740a710e636e756d70790a6e6461727261790a710f4b0085711068015801000000627111680386"
       "7112527113877114527115284b014b024b06867116636e756d70790a64747970650a711758020000007531"
       "7118898887711952711a284b0358010000007c711b4e4e4e4affffffff4affffffff4b0074711c62886801"
       "5812000000c388c2a6c3adc38b12c3b037155c3ac2815f711d680386711e52711f74712062680158090000"
       "0066696c656e616d6573712168038671225271235d712428580e000000615f735f3030303030342e706e67"
       "71255809000000625f735f302e706e67712665752e"},
      {"NumPy 2.4.6, protocol 5, Fortran order, keys of bytes",
       "800595f0000000000000007d9428430b62617463685f6c6162656c948c1474657374696e67206261746368"
       "2031206f6620319443066c6162656c73945d94284b034b0965430464617461948c136e756d70792e5f636f"
       "72652e6e756d65726963948c0b5f66726f6d62756666657294939428960c00000000000000c8a6edcb12f0"
       "37155c3a815f948c056e756d7079948c0564747970659493948c02753194898887945294284b038c017c94"
       "4e4e4e4affffffff4affffffff4b007494624b024b0686948c01469474945294430966696c656e616d6573"
       "945d94288c0e615f735f3030303030342e706e67948c09625f735f302e706e679465752e"},
      {"NumPy 2.4.6, protocol 5, read-only",
       "800595e9000000000000007d94288c0b62617463685f6c6162656c948c1474657374696e67206261746368"
       "2031206f662031948c066c6162656c73945d94284b034b09658c0464617461948c136e756d70792e5f636f"
       "72652e6e756d65726963948c0b5f66726f6d62756666657294939428430cc8ed12375c81a6cbf0153a5f94"
       "8c056e756d7079948c0564747970659493948c02753194898887945294284b038c017c944e4e4e4affffff"
       "ff4affffffff4b007494624b024b0686948c014394749452948c0966696c656e616d6573945d94288c0e61"
       "5f735f3030303030342e706e67948c09625f735f302e706e679465752e"},
      {"NumPy 2.4.6, protocol 5, not contiguous",
       "80059505010000000000007d94288c0b62617463685f6c6162656c948c1474657374696e67206261746368"
       "2031206f662031948c066c6162656c73945d94284b034b09658c0464617461948c166e756d70792e5f636f"
       "72652e6d756c74696172726179948c0c5f7265636f6e7374727563749493948c056e756d7079948c076e64"
       "61727261799493944b0085944301629487945294284b014b024b06869468098c0564747970659493948c02"
       "753194898887945294284b038c017c944e4e4e4affffffff4affffffff4b0074946289430cc8ed12375c81"
       "a6cbf0153a5f947494628c0966696c656e616d6573945d94288c0e615f735f3030303030342e706e67948c"
       "09625f735f302e706e679465752e"},
  };
  return *kTable;
}

TEST(CifarPickleTest, ReadsWhatNumpyWrites) {
  for (const Golden& golden : Goldens()) {
    const auto batch = ParseCifarPickle(absl::HexStringToBytes(golden.hex), 6);
    ASSERT_TRUE(batch.ok()) << golden.writer << ": " << batch.status();
    EXPECT_THAT(batch->labels, ElementsAre(3, 9)) << golden.writer;
    EXPECT_THAT(batch->pixels, ElementsAre(200, 237, 18, 55, 92, 129, 166, 203, 240, 21, 58, 95))
        << golden.writer;
  }
}

TEST(CifarPickleTest, ReadsWhatPython2Wrote) {
  std::string pixels;
  RandomStream random(3, RandomDomain::kTest, {0, 0, 0});
  for (int i = 0; i < 3 * kCifarImageBytes; ++i) {
    pixels.push_back(static_cast<char>(random.Below(256)));
  }
  const auto batch = ParseCifarPickle(Python2Batch({6, 0, 9}, 3, kCifarImageBytes, pixels));
  ASSERT_TRUE(batch.ok()) << batch.status();
  EXPECT_THAT(batch->labels, ElementsAre(6, 0, 9));
  EXPECT_EQ(std::string(batch->pixels.begin(), batch->pixels.end()), pixels);
  EXPECT_EQ(batch->size(), 3);
  EXPECT_EQ(batch->image(2).label, 9);
  EXPECT_EQ(*batch->image(2).blue(), static_cast<uint8_t>(pixels[2 * 3072 + 2048]));
}

TEST(CifarPickleTest, ReadsAFullBatch) {
  const std::vector<int> labels(10000, 7);
  const std::string pixels(30720000, 'x');
  const auto batch = ParseCifarPickle(Python2Batch(labels, 10000, kCifarImageBytes, pixels));
  ASSERT_TRUE(batch.ok()) << batch.status();
  EXPECT_EQ(batch->size(), 10000);
  EXPECT_EQ(batch->pixels.size(), pixels.size());
}

TEST(CifarPickleTest, NamesKeyAndWhatItHolds) {
  const std::string good = Python2Batch({1, 2}, 2, 3, "abcdef");
  ASSERT_TRUE(ParseCifarPickle(good, 3).ok());
  const auto replaced = [&](const std::string& old_bytes, const std::string& new_bytes) {
    EXPECT_THAT(good, HasSubstr(old_bytes));
    return absl::StrReplaceAll(good, {{old_bytes, new_bytes}});
  };
  const std::vector<std::pair<std::string, std::string>> table = {
      {std::string("\x80\x02]q\x01.", 6), "it holds a list; a dictionary is expected"},
      {replaced("U\x06labels", "U\x06Labels"), "it has no key `labels`"},
      {replaced("U\x04"
                "data",
                "U\x04"
                "date"),
       "it has no key `data`"},
      {Python2Batch({1, 10}, 2, 3, "abcdef"), "`labels`[1] is 10; 0 to 9 are expected"},
      {Python2Batch({-1, 1}, 2, 3, "abcdef"), "`labels`[0] is -1; 0 to 9"},
      {Python2Batch({1, 70000}, 2, 3, "abcdef"), "`labels`[1] is 70000; 0 to 9"},
      {replaced("K\1K\2e", "K\1Ne"), "`labels`[1] is None; an integer is expected"},
      {replaced("K\1K\2e",
                "K\1\x88"
                "e"),
       "`labels`[1] is a bool; an integer is expected"},
      {replaced("K\1K\2e",
                "K\1U\x01"
                "2e"),
       "`labels`[1] is bytes; an integer"},
      {replaced("]q\x05(K\1K\2e", "K\1"), "`labels` is an integer; a list is expected"},
      {Python2Batch({1}, 2, 3, "abcdef"), "there are 1 labels for 2 images"},
      {Python2Batch({1, 2, 3}, 2, 3, "abcdef"), "there are 3 labels for 2 images"},
      {Python2Batch({1, 2}, 3, 2, "abcdef"), "`data` has the shape (3, 2); (n, 3) is expected"},
      {Python2Batch({1, 2}, -2, 3, "abcdef"), "`data` has the shape (-2, 3)"},
      {replaced("K\2K\3\x86", "K\x06\x85"), "`data` has the shape (1 dimensions)"},
      {replaced("K\2K\3\x86", "NK\3\x86"), "`data` has the shape (2 dimensions)"},
      {Python2Batch({1, 2}, 2, 3, "abcde"), "`data` has 5 bytes of values; its shape (2, 3)"},
      {Python2Batch({1, 2}, 2, 3, "abcdefghi"), "`data` has 9 bytes of values; its shape (2, 3)"},
      {Python2Batch({1, 2}, 2147483647, 3, "abcdef"), "6 bytes of values; its shape (2147483647"},
      {Python2Batch({1, 2}, 2, 3, "abcdef", "f4"), "`data` has the type \"f4\"; \"u1\" is"},
      {Python2Batch({1, 2}, 2, 3, "abcdef", "i1"), "`data` has the type \"i1\""},
      {replaced("U\x04"
                "dataq",
                "U\x04"
                "dateq")
           .insert(good.size() - 2,
                   "U\x04"
                   "data]"),
       "`data` is a list; an array is expected"},
      {good.substr(0, good.size() - 1), "the bytes end before the opcode STOP"},
  };
  for (const auto& [bytes, words] : table) {
    const auto batch = ParseCifarPickle(bytes, 3);
    EXPECT_EQ(batch.status().code(), absl::StatusCode::kInvalidArgument) << words;
    EXPECT_THAT(std::string(batch.status().message()), HasSubstr(words));
  }
}

// Python 3 in protocol 2 writes bytes as text.
TEST(CifarPickleTest, NamesTheByteOfATextThatIsNoLatin1) {
  const std::string good = absl::HexStringToBytes(Goldens()[4].hex);
  ASSERT_TRUE(ParseCifarPickle(good, 6).ok());
  const std::vector<std::pair<std::string, std::string>> table = {
      {"\xc4\x88", "byte 0 of `data`'s text, \"\\xc4\\x88\\xc3\\xad\", is no character below"},
      {"x\xc3", "byte 1 of `data`'s text, \"\\xc3\\xc3\\xad\\x12\", is no"},
      {"\x88x", "byte 0 of `data`'s text, \"\\x88x"},
      {"xy", "`data` has 13 bytes of values; its shape (2, 6)"},
  };
  for (const auto& [bytes, words] : table) {
    const auto batch = ParseCifarPickle(absl::StrReplaceAll(good, {{"\xc3\x88", bytes}}), 6);
    EXPECT_EQ(batch.status().code(), absl::StatusCode::kInvalidArgument) << words;
    EXPECT_THAT(std::string(batch.status().message()), HasSubstr(words));
  }
}

// NumPy's __reduce__ creates an empty array that __setstate__ must fill.
TEST(CifarPickleTest, RefusesAnArrayThatWasNeverFilled) {
  std::string pickle =
      "\x80\x02}(U\x06labels]U\x04"
      "data";
  pickle += "cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nNN\x87Ru.";
  EXPECT_THAT(std::string(ParseCifarPickle(pickle).status().message()),
              HasSubstr("`data` is an array that was never filled"));
}

// Any bytes give an error or as many pixels as the labels say, never a crash.
TEST(CifarPickleTest, SurvivesDamage) {
  RandomStream random(9, RandomDomain::kTest, {0, 0, 0});
  int accepted = 0;
  for (const Golden& golden : Goldens()) {
    const std::string good = absl::HexStringToBytes(golden.hex);
    for (int i = 0; i < 3000; ++i) {
      std::string bytes = good;
      for (int64_t flips = random.Between(1, 3); flips > 0; --flips) {
        bytes[random.Below(static_cast<uint32_t>(bytes.size()))] =
            static_cast<char>(random.Below(256));
      }
      if (random.Below(8) == 0) {
        bytes.resize(random.Below(static_cast<uint32_t>(bytes.size())));
      }
      const auto batch = ParseCifarPickle(bytes, 6);
      if (!batch.ok()) continue;
      ++accepted;
      EXPECT_EQ(batch->pixels.size(), 6 * batch->labels.size());
    }
  }
  EXPECT_GT(accepted, 100);
}

}  // namespace
}  // namespace lra::image
