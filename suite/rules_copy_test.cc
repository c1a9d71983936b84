#include "suite/rules_copy.h"

#include <gtest/gtest.h>

#include "lra/config_folder_test_util.h"
#include "lra/files.h"
#include "lra/folder_test_util.h"

namespace lra {
namespace {

class CopyRulesTest : public ConfigFolderTest {};

TEST_F(CopyRulesTest, IsTheFolderAsItWas) {
  const TestFolder out;
  Write("tasks/mine", "first");
  const auto first = CopyRules(out.path());
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(*CopyRules(out.path()), *first);  // nothing new for the same rules
  Write("tasks/mine", "second");
  const auto second = CopyRules(out.path());
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_NE(*first, *second);
  EXPECT_EQ(*ReadFile(JoinPath(*first, "tasks/mine.textproto")), "first");
  EXPECT_EQ(*ReadFile(JoinPath(*second, "tasks/mine.textproto")), "second");
}

TEST_F(CopyRulesTest, NeedsThem) {
  const TestFolder out;
  ASSERT_TRUE(RemoveAll(folder_.path()).ok());
  EXPECT_FALSE(CopyRules(out.path()).ok());
}

}  // namespace
}  // namespace lra
