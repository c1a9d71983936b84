#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "lra/files.h"
#include "lra/folder_test_util.h"

namespace lra {
namespace {

TEST(PathTest, Join) {
  EXPECT_EQ(JoinPath("a", "b"), "a/b");
  EXPECT_EQ(JoinPath("a/", "b"), "a/b");
  EXPECT_EQ(JoinPath("a", "/b"), "/b");
  EXPECT_EQ(JoinPath("", "b"), "b");
  EXPECT_EQ(JoinPath("a", ""), "a");
}

TEST(PathTest, AnAbsolutePathEndsWithAName) {
  for (const char* path : {"/a/b", "/a/b/", "/a/./b//", "/a/c/../b", "/a/b/c/.."})
    EXPECT_EQ(AbsolutePath(path), "/a/b") << path;
  EXPECT_EQ(AbsolutePath("/"), "/");
  EXPECT_EQ(AbsolutePath("b/"), JoinPath(AbsolutePath("."), "b"));
}

TEST(PathTest, LinksAreFollowedAlsoToWhatIsNotThere) {
  const TestFolder folder;
  ASSERT_TRUE(MakeDirectories(folder.File("disk/data")).ok());
  const auto link = [&](const std::string& to, const std::string& name) {
    std::filesystem::create_symlink(to, folder.File(name));
  };
  link("disk/data/", "to-data");
  link(folder.File("to-data"), "twice");
  link("../new", "disk/to-new");
  link("disk", "to-disk");
  EXPECT_EQ(*FollowLinks(folder.File("disk/data//")), folder.File("disk/data"));
  EXPECT_EQ(*FollowLinks(folder.File("to-data")), folder.File("disk/data"));
  EXPECT_EQ(*FollowLinks(folder.File("twice/")), folder.File("disk/data"));
  const std::string is_new = AbsolutePath(*FollowLinks(folder.File("disk/to-new")));
  EXPECT_EQ(is_new, folder.File("new"));
  EXPECT_EQ(*FollowLinks(folder.File("to-disk/x")), folder.File("to-disk/x"));
  EXPECT_EQ(*FollowLinks("absent/./"), "absent");
}

TEST(PathTest, ACircleOfLinksIsRefused) {
  const TestFolder folder;
  std::filesystem::create_symlink("b", folder.File("a"));
  std::filesystem::create_symlink("a", folder.File("b"));
  const absl::Status status = FollowLinks(folder.File("a")).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr(folder.File("a")));
}

}  // namespace
}  // namespace lra
