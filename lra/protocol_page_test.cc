#include "lra/protocol_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "lra/config_folder_test_util.h"
#include "lra/files.h"

namespace lra {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

// Two protocols and a preset of its own.
class ProtocolPageTest : public ConfigFolderTest {
 protected:
  void SetUp() override {
    Write("tasks/listops", "name: 'listops'");
    Write("tasks/text", "name: 'text'");
    Write("protocols/new", R"(
      name: "new" version: 2 description: "Today's rules"
      base { model { dropout: 0 } train { steps: 10 } }
      task { key: "listops" value { view { max_length_tokens: 100 } } }
      task { key: "text" value { view { max_length_tokens: 200 } train { steps: 20 } } }
      method { key: "text/linear" value { schedule { learning_rate: 0.5 } } })");
    Write("protocols/old", R"(
      name: "old" version: 1 description: "Yesterday's"
      base { model { dropout: 0.1 } train { steps: 10 } }
      task { key: "listops" value { view { max_length_tokens: 50 } } }
      not_imitated { what: "its luck" reason: "nobody knows its seed" })");
    Write("presets/tiny", R"(
      name: "tiny" version: 1 description: "Few weights"
      base { model { layers: 1 } }
      task { key: "text" value { model { layers: 3 } } }
      protocol { key: "old" value { model { heads: 2 } } }
      protocol { key: "new:listops" value { train { steps: 40 batch_examples: 4 eval_every_steps: 2 }
        schedule { warmup_fraction: 0.1 learning_rate: 0.25 } } })");
  }
};

TEST_F(ProtocolPageTest, SaysEveryRuleOnce) {
  const auto page = ProtocolPage();
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_THAT(*page, HasSubstr("They shrink towards 0 whatever the data say"));
  EXPECT_THAT(*page, HasSubstr("| `new@2` | Today's rules | listops text |\n"
                               "| `old@1` | Yesterday's | listops |\n"));
  // The same for every task of each protocol; steps are not, though `old` has one value only.
  EXPECT_THAT(*page, HasSubstr("## Rules that do not depend on the task\n\n"
                               "| rule | new | old |\n| --- | --- | --- |\n"
                               "| `model.dropout` | 0 | 0.1 |\n\n## listops\n"));
  EXPECT_THAT(*page, HasSubstr("## listops\n\n| rule | new | old |\n| --- | --- | --- |\n"
                               "| `train.steps` | 10 | 10 |\n"
                               "| `view.max_length_tokens` | 100 | 50 |\n\n## text\n\n"
                               "| rule | new |\n| --- | --- |\n"
                               "| `train.steps` | 20 |\n"
                               "| `view.max_length_tokens` | 200 |\n"));
  EXPECT_THAT(*page, HasSubstr("### new\n\n| task/attention | sets |\n| --- | --- |\n"
                               "| `text/linear` | `schedule.learning_rate=0.5` |\n"));
  EXPECT_THAT(*page, EndsWith("### tiny\n\nFew weights.\n\n| for | sets |\n| --- | --- |\n"
                              "| every task | `model.layers=1` |\n"
                              "| text | `model.layers=3` |\n"
                              "| under new:listops | `schedule.learning_rate=0.25` "
                              "`schedule.warmup_fraction=0.1` `train.steps=40` "
                              "`train.batch_examples=4` `train.eval_every_steps=2` |\n"
                              "| under old | `model.heads=2` |\n"));
}

TEST_F(ProtocolPageTest, SaysWhatARunDoesAndWhatIsNotImitated) {
  Write("presets/other", "name: 'other' version: 1 base { model { layers: 2 } }");
  const auto page = ProtocolPage();
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_THAT(*page,
              HasSubstr("### listops\n\n| protocol | presets | steps | batch | learning rate | "
                        "warm-up steps | evaluated every | longest input |\n"
                        "| --- | --- | --- | --- | --- | --- | --- | --- |\n"
                        "| new | other | 10 | 0 | 0 | 0 | 0 | 100 |\n"
                        "| new | tiny | 40 | 4 | 0.25 | 4 | 2 | 100 |\n"
                        "| old | other tiny | 10 | 0 | 0 | 0 | 0 | 50 |\n"));
  EXPECT_THAT(*page, HasSubstr("### old\n\n| the original | why not here |\n| --- | --- |\n"
                               "| its luck | nobody knows its seed |\n"));
}

TEST_F(ProtocolPageTest, ABetaThatTheScheduleMovesHasNoValue) {
  Write("protocols/cycle", R"(
    name: "cycle" version: 1
    base { optimizer { beta1: 0.9 } schedule { kind: ONE_CYCLE } }
    task { key: "listops" value { train { steps: 10 } } })");
  Write("protocols/old", R"(
    name: "old" version: 1 base { optimizer { beta1: 0.5 } schedule { kind: COSINE } }
    task { key: "listops" value { train { steps: 10 } } })");
  const auto page = ProtocolPage();
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_THAT(*page, HasSubstr("| rule | cycle | new | old |\n"));
  EXPECT_THAT(*page, HasSubstr("| `optimizer.beta1` | by schedule | – | 0.5 |\n"));
}

TEST_F(ProtocolPageTest, SaysWhatEarlierVersionsHad) {
  EXPECT_THAT(*ProtocolPage(), Not(HasSubstr("Earlier versions")));
  ASSERT_EQ(MakeDirectories(folder_.File("protocols/earlier")), absl::OkStatus());
  Write("protocols/earlier/new@1", R"(
    name: "new" version: 1 description: "Before" extends: "new"
    base { model { dropout: 0.5 } train { steps: 10 } }
    task { key: "text" value { train { steps: 5 } } })");
  const auto page = ProtocolPage();
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_THAT(*page, HasSubstr("## Earlier versions\n"));
  EXPECT_THAT(*page,
              HasSubstr("| `new@1` | Before | `model.dropout=0.5` `train.steps=5` (text) |\n"));
}

TEST_F(ProtocolPageTest, ADamagedFileIsNamed) {
  Write("protocols/old", "name: 'other'");
  EXPECT_THAT(std::string(ProtocolPage().status().message()),
              HasSubstr("protocols/old.textproto calls itself \"other\""));
}

}  // namespace
}  // namespace lra
