#include "report/shown_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lra {
namespace {

TEST(ShownNamesTest, NamesAreRelativeToTheOnlyFolder) {
  for (const char* folder : {"/home/me/runs", "/home/me/runs/", "/home/me/./runs"}) {
    const ShownNames names({folder});
    EXPECT_EQ(names.In("/home/me/runs/text/s0"), "text/s0") << folder;
    EXPECT_EQ(names.In("/home/me/runs/a/record.textproto: was changed; see /home/me/runs/b."),
              "a/record.textproto: was changed; see b.");
  }
}

TEST(ShownNamesTest, AFolderThatIsARunKeepsItsName) {
  EXPECT_EQ(ShownNames({"/home/me/runs/first"}).In("/home/me/runs/first: has no record"),
            "first: has no record");
}

TEST(ShownNamesTest, OtherPathsAreLeftAlone) {
  const ShownNames names({"a"});
  EXPECT_EQ(names.In("data/x, b/a/x, aa/x, a-b/x"), "data/x, b/a/x, aa/x, a-b/x");
  EXPECT_EQ(names.In("a/x (a/y)"), "x (y)");
}

TEST(ShownNamesTest, SeveralFoldersAreToldApart) {
  const ShownNames names({"one/runs", "two/runs", "two/runs/deep"});
  EXPECT_EQ(names.In("one/runs/x"), "runs/x");
  EXPECT_EQ(names.In("two/runs/x"), "runs (2)/x");
  EXPECT_EQ(names.In("two/runs/deep/x"), "deep/x");
}

TEST(ShownNamesTest, TheCurrentFolder) {
  EXPECT_EQ(ShownNames({"."}).In("text/s0: has no record"), "text/s0: has no record");
}

}  // namespace
}  // namespace lra
