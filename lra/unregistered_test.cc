#include "lra/unregistered.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "lra/config_folder_test_util.h"
#include "lra/registry.h"

namespace lra {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

class UnregisteredTest : public ConfigFolderTest {
 protected:
  static std::string About(const std::string& kind, const std::string& name) {
    const absl::Status status = UnregisteredError(kind, name, {"linear", "mixer"});
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  }
};

// "mine" is near "mixer", but is no misspelling of it.
TEST_F(UnregisteredTest, AFileOfTheNameIsToldAndNoOtherNameIsGuessed) {
  EXPECT_EQ(About("attention", "mine"),
            "unknown attention \"mine\"; did you mean \"mixer\"? Known: linear, mixer");
  EXPECT_EQ(CheckNoFileOf("attention", "mine"), absl::OkStatus());
  Write("attentions/mine", "attention { name: \"mine\" }");
  const std::string file = folder_.File("attentions/mine.textproto");
  EXPECT_EQ(About("attention", "mine"),
            "attention \"mine\": " + file +
                " is there, but no source of this program registers the name; build again, or "
                "register the attention under the name of its file");
  Write("attentions/mine", "attention { name: \"linear\" }");
  EXPECT_EQ(
      About("attention", "mine"),
      file + " calls itself \"linear\", not \"mine\" as the file is called; the two must agree");
  // Each kind has a folder of its own.
  EXPECT_THAT(About("task", "mine"), HasSubstr("unknown task \"mine\""));
  Write("tasks/mine", "name: \"mine\"");
  EXPECT_THAT(About("task", "mine"), EndsWith("register the task under the name of its file"));
}

struct Nothing {};
using NothingRegistry = Registry<Nothing>;

TEST_F(UnregisteredTest, RegistriesSayIt) {
  Write("blocks/mine", "");
  const auto made = NothingRegistry::Get().Create("block", "mine");
  EXPECT_THAT(std::string(made.status().message()), HasSubstr("no source of this program"));
}

}  // namespace
}  // namespace lra
