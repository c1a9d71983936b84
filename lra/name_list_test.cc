#include "lra/name_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lra {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(SplitNames, EachOnceWithoutBlanks) {
  EXPECT_THAT(*SplitNames("--tasks", "text, listops,text"), ElementsAre("text", "listops"));
  EXPECT_THAT(*SplitNames("--tasks", ""), IsEmpty());
}

TEST(SplitNames, AnEmptyNameIsNamedWithItsFlag) {
  for (const char* list : {",", "a,,b", "a, "}) {
    EXPECT_THAT(SplitNames("--tasks", list).status().ToString(),
                HasSubstr("--tasks \"" + std::string(list) + "\" has an empty name"));
  }
}

}  // namespace
}  // namespace lra
