#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lra/config.h"
#include "lra/config_folder_test_util.h"
#include "lra/files.h"

namespace lra {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A protocol in its version 11, and what it was before.
class EarlierVersionTest : public ConfigFolderTest {
 protected:
  void SetUp() override {
    Write("tasks/text", R"(name: "text" version: 1)");
    Write("protocols/rules", R"(
      name: "rules" version: 11 base { train { steps: 10 log_every_steps: 5 } })");
    ASSERT_EQ(MakeDirectories(folder_.File("protocols/earlier")), absl::OkStatus());
    Write("protocols/earlier/rules@9", R"(
      name: "rules" version: 9 extends: "rules" base { train { log_every_steps: 77 } })");
    Write("protocols/earlier/rules@10", R"(name: "rules" version: 10 extends: "rules")");
  }
  // What a run of `text` under the protocol is told.
  ExperimentConfig Under(const char* protocol) {
    ConfigBuilder builder("text");
    EXPECT_EQ(builder.AddProtocol(protocol), absl::OkStatus());
    return builder.config();
  }
};

TEST_F(EarlierVersionTest, SaysWhereItDiffers) {
  const ExperimentConfig earlier = Under("rules@9");
  EXPECT_EQ(earlier.protocol(), "rules@9");
  EXPECT_EQ(earlier.train().log_every_steps(), 77);
  EXPECT_EQ(earlier.train().steps(), 10);
  for (const char* present : {"rules", "rules@11"}) {
    EXPECT_EQ(Under(present).protocol(), "rules@11");
    EXPECT_EQ(Under(present).train().log_every_steps(), 5);
  }
}

TEST_F(EarlierVersionTest, IsThereByItsFullNameAlone) {
  EXPECT_THAT(EarlierVersions("protocols", "rules"), ElementsAre("rules@9", "rules@10"));
  EXPECT_THAT(EarlierVersions("protocols", "rule"), IsEmpty());
  EXPECT_THAT(ConfigNames("protocols"), ElementsAre("rules"));
  EXPECT_EQ(LoadFragment("protocols", "rules@8").status(),
            absl::InvalidArgumentError(
                "protocol \"rules@8\" is not here; there are rules@9, rules@10, rules@11"));
  EXPECT_THAT(std::string(LoadFragment("protocols", "rules@/../rules@9").status().message()),
              HasSubstr("is not here"));
}

TEST_F(EarlierVersionTest, ThatCallsItselfAnotherIsRefused) {
  Write("protocols/earlier/rules@10", R"(name: "rules" version: 9)");
  EXPECT_EQ(LoadFragment("protocols", "rules@10").status().message(),
            folder_.File("protocols/earlier/rules@10.textproto") +
                " calls itself \"rules@9\", not \"rules@10\" as the file is called; the two must "
                "agree");
}

// Their versions are no part of a record.
TEST_F(EarlierVersionTest, PresetsHaveNone) {
  Write("presets/tiny", R"(name: "tiny" version: 2)");
  EXPECT_THAT(std::string(LoadFragment("presets", "tiny@2").status().message()),
              HasSubstr("unknown preset \"tiny@2\""));
}

}  // namespace
}  // namespace lra
