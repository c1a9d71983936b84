#include "lra/sha256.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace lra {
namespace {

// The digest of "abc" from FIPS 180-2, appendix B.
constexpr char kAbc[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
constexpr char kTwoBlocks[] = "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1";
constexpr char kMillionA[] = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";
constexpr char kEmpty[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

TEST(Sha256Test, GivesThePublishedDigests) {
  EXPECT_EQ(Sha256Hex(""), kEmpty);
  EXPECT_EQ(Sha256Hex("abc"), kAbc);
  EXPECT_EQ(Sha256Hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"), kTwoBlocks);
  EXPECT_EQ(Sha256Hex(std::string(1000000, 'a')), kMillionA);
}

TEST(Sha256Test, PiecesHashLikeTheWholeAndFinishStartsAnew) {
  Sha256 hash;
  hash.Update("a");
  hash.Update("");
  hash.Update("bc");
  EXPECT_EQ(ToHex(hash.Finish()), kAbc);
  EXPECT_EQ(ToHex(hash.Finish()), kEmpty);
}

TEST(Sha256Test, MovingTakesTheStateAlong) {
  Sha256 first;
  first.Update("ab");
  Sha256 second(std::move(first));
  second.Update("c");
  EXPECT_EQ(ToHex(second.Finish()), kAbc);
}

}  // namespace
}  // namespace lra
