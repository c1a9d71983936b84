#include "lra/temporary_name.h"

#include <gtest/gtest.h>

namespace lra {
namespace {

TEST(TemporaryNameTest, ItsOwnNamesAreKnownAndDiffer) {
  const std::string a = TemporaryName("runs/a"), b = TemporaryName("runs/a");
  EXPECT_NE(a, b);
  EXPECT_TRUE(IsTemporaryName(a));
  EXPECT_TRUE(IsTemporaryNameOf("runs/a", a));
  EXPECT_FALSE(IsTemporaryNameOf("runs/b", a));
  EXPECT_TRUE(IsTemporaryName(TemporaryName(a)));
}

TEST(TemporaryNameTest, NamesOfUsersAreNot) {
  for (const char* name : {"a", "a.tmp", "a.tmp-", "a.tmp-1", "a.tmp-1-", "a.tmp--1", "a.tmp-1-2-3",
                           "a.tmp-backup", "a.tmp-1-2.txt"}) {
    EXPECT_FALSE(IsTemporaryName(name)) << name;
    EXPECT_FALSE(IsTemporaryNameOf("a", name)) << name;
  }
  EXPECT_FALSE(IsTemporaryNameOf("a", "ab.tmp-1-2"));
}

}  // namespace
}  // namespace lra
