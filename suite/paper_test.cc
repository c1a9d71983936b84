#include "suite/paper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "eval/run_record.h"
#include "lra/config.h"
#include "lra/config_folder_test_util.h"
#include "lra/files.h"
#include "lra/folder_test_util.h"
#include "nlohmann/json.hpp"
#include "suite/cells.h"
#include "suite/paper_page.h"
#include "suite/state.h"
#include "suite/suite_file.h"
#include "suite/suite_folder.h"

namespace lra {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

std::vector<SuiteCell> Cells(const std::string& suite) {
  const auto file = LoadSuite(suite);
  EXPECT_TRUE(file.ok()) << file.status();
  if (!file.ok()) return {};
  const auto cells = ExpandSuite(*file);
  EXPECT_TRUE(cells.ok()) << suite << ": " << cells.status();
  return cells.ok() ? *cells : std::vector<SuiteCell>();
}

// --- The files of the project ---

std::vector<PaperItem> AllItems() {
  std::vector<PaperItem> items;
  for (const std::string& name : ConfigNames("papers")) {
    const auto paper = LoadPaper(name);
    EXPECT_TRUE(paper.ok()) << paper.status();
    if (paper.ok()) items.insert(items.end(), paper->item().begin(), paper->item().end());
  }
  return items;
}

TEST(Papers, NameEveryPublishedTableOnceAtLeast) {
  std::set<std::string> named;
  for (const PaperItem& item : AllItems()) named.insert(item.published());
  for (const std::string& table : ConfigNames("published"))
    EXPECT_EQ(named.count(table), 1) << table;
}

TEST(Papers, NameEveryGrid) {
  std::set<std::string> named;
  for (const PaperItem& item : AllItems()) {
    named.insert(item.grid());
    named.insert(absl::StrCat(item.grid(), "_small"));
  }
  for (const std::string& grid : ConfigNames("efficiency")) {
    if (grid == "streaming" || grid == "causal") continue;  // claims of ours, not of papers
    EXPECT_EQ(named.count(grid), 1) << grid;
  }
}

// What is compared has the same steps of the same batches and one learning rate for every method,
// under the small budget as under the official one.
TEST(Papers, SuitesGiveEveryMethodTheSameBudget) {
  using Budget = std::tuple<int64_t, int64_t, std::string, int64_t>;
  for (const PaperItem& item : AllItems()) {
    if (item.suite().empty()) continue;
    // The models of this comparison are small as they are.
    const bool is_small = item.published() == "nystromformer" || item.beside() == "nystromformer";
    const std::string small = absl::StrCat(item.suite(), "_small");
    ASSERT_THAT(ConfigNames("suites"), Contains(small).Times(is_small ? 0 : 1));
    for (const std::string& suite : {item.suite(), is_small ? item.suite() : small}) {
      std::map<std::string, std::set<Budget>> budgets;
      for (const SuiteCell& cell : Cells(suite)) {
        const TrainConfig& train = cell.config.train();
        budgets[cell.config.task()].insert({train.steps(), train.batch_examples(),
                                            cell.config.schedule().ShortDebugString(),
                                            cell.config.view().max_length_tokens()});
      }
      for (const auto& [task, all] : budgets) EXPECT_THAT(all, SizeIs(1)) << suite << " " << task;
    }
  }
}

// Runs of the small twins that two suites have are the same runs.
TEST(Papers, SmallSuitesShareTheirCells) {
  std::set<std::string> of_table4;
  for (const SuiteCell& cell : Cells("cosformer_table4_small")) of_table4.insert(cell.name);
  EXPECT_THAT(of_table4, SizeIs(12 * 4 * 2));
  for (const SuiteCell& cell : Cells("lra2020_table1_small"))
    EXPECT_EQ(of_table4.count(cell.name), 1) << cell.name;
  for (const SuiteCell& cell : Cells("cottention_lra_small")) {
    if (cell.config.attention().name() == "transformer" && cell.seed < 2) {
      EXPECT_EQ(of_table4.count(cell.name), 1) << cell.name;
    }
  }
}

TEST(Papers, AskForCommandsThatThePageShows) {
  const auto items_of = [](const std::string& name) {
    const auto paper = LoadPaper(name);
    EXPECT_TRUE(paper.ok()) << paper.status();
    std::map<std::string, PaperItem> items;
    for (const PaperItem& item : paper->item()) items[item.name()] = item;
    return items;
  };
  const std::map<std::string, PaperItem> items = items_of("cosformer2022");
  EXPECT_THAT(CommandsOf(items.at("Table 4")),
              ElementsAre("lra run cosformer_table4_small", "lra run cosformer_table4",
                          "lra table runs/cosformer_table4_small --published cosformer2022"));
  EXPECT_THAT(CommandsOf(items.at("Table 6")),
              ElementsAre("lra run cosformer_table6_small", "lra run cosformer_table6",
                          "lra table runs/cosformer_table6_small",
                          "lra ablate runs/cosformer_table6_small --published cosformer2022_table6",
                          "lra ablate runs/cosformer_table6 --published cosformer2022_table6"));
  EXPECT_THAT(CommandsOf(items.at("Table 5")),
              ElementsAre("lra bench efficiency --grid cosformer_table5_small",
                          "lra bench efficiency --grid cosformer_table5"));
  EXPECT_THAT(CommandsOf(items.at("Figure 1")),
              ElementsAre("lra bench efficiency --grid cosformer_table5_small --scores "
                          "runs/cosformer_table4_small --figure figure1",
                          "lra bench efficiency --grid cosformer_table5 --scores "
                          "runs/cosformer_table4 --figure figure1"));
  EXPECT_THAT(CommandsOf(items.at("Table 2")),
              ElementsAre("lra run cosformer_table2_bytes_small", "lra run cosformer_table2_bytes",
                          "lra table runs/cosformer_table2_bytes_small"));
  EXPECT_EQ(StatusOf(items.at("Table 6"), "nowhere")->text, "not run");
  const PaperItem language_model = items_of("cottention2024").at("Figure 3");
  EXPECT_THAT(CommandsOf(language_model), IsEmpty());
  EXPECT_EQ(StatusOf(language_model, "nowhere")->text, "not to be run here");
}

// --- Status ---

class PaperStatusTest : public testing::Test {
 protected:
  void Keep(const std::string& suite, const SuiteCell& cell) {
    RunRecord record;
    record.set_kind(RunRecord::MEASURED);
    record.set_method(cell.config.attention().name());
    record.set_seed(cell.seed);
    *record.mutable_config() = cell.config;
    record.mutable_spec()->set_name(cell.config.task());
    const std::string directory = RunDirectory(folder_.File(suite), cell);
    ASSERT_TRUE(MakeDirectories(directory).ok());
    ASSERT_TRUE(WriteRunRecord(directory, record).ok());
  }

  TestFolder folder_;
};

TEST_F(PaperStatusTest, CountsTheRecordsOfTheSuitesSettings) {
  PaperItem item;
  item.set_suite("cosformer_table6");
  std::vector<SuiteCell> cells = Cells("cosformer_table6_small");
  Keep("cosformer_table6_small", cells[0]);
  Keep("cosformer_table6_small", cells[1]);
  cells[2].config.mutable_train()->set_steps(7);  // not the suite's
  Keep("cosformer_table6_small", cells[2]);
  const auto status = StatusOf(item, folder_.path());
  ASSERT_TRUE(status.ok()) << status.status();
  EXPECT_EQ(status->text,
            absl::StrCat("cosformer_table6_small: 2 of 40 runs; cosformer_table6: 0 of ",
                         Cells("cosformer_table6").size(), " runs"));
  ASSERT_THAT(status->kept, SizeIs(1));
  EXPECT_EQ(status->kept[0].path, "cosformer_table6_small");

  const auto page = PaperMarkdown({{"cosformer2022"}, folder_.path()});
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_THAT(*page, HasSubstr(absl::StrCat("| ", status->text, "<br>[cosformer_table6_small](")));
  EXPECT_THAT(*page, HasSubstr("### cosformer2022: Table 5 as printed"));
  EXPECT_THAT(*page, Not(HasSubstr("### cosformer2022: Figure 1 as printed"))) << "the same speeds";
  EXPECT_THAT(*page, HasSubstr("### cosformer2022: Table 7 as printed\n\n"
                               "| data set | train (examples, thousand) | "));
  const auto json = nlohmann::json::parse(*PaperJson({{"cosformer2022"}, folder_.path()}));
  for (const auto& one : json["papers"][0]["items"]) {
    if (one["item"] == "Table 6") {
      EXPECT_EQ(one["kept"][0]["finished"], 2);
    } else if (one["item"] == "Table 4") {
      EXPECT_EQ(one["status"], "not run");
    }
  }
}

// Runs that two suites share are trained once.
TEST_F(PaperStatusTest, RunsOfOtherSuitesCount) {
  PaperItem item;
  item.set_suite("cottention_lra");
  const std::vector<SuiteCell> cells = Cells("cottention_lra_small");
  const auto softmax = std::find_if(cells.begin(), cells.end(), [](const SuiteCell& cell) {
    return cell.config.attention().name() == "transformer";
  });
  ASSERT_NE(softmax, cells.end());
  Keep("cosformer_table4_small", *softmax);
  const auto status = StatusOf(item, folder_.path());
  ASSERT_TRUE(status.ok()) << status.status();
  EXPECT_EQ(status->text,
            absl::StrCat("cottention_lra_small: 1 of ", cells.size(),
                         " runs; cottention_lra: 0 of ", Cells("cottention_lra").size(), " runs"));
  ASSERT_THAT(status->kept, SizeIs(1));
  EXPECT_EQ(status->kept[0].path, "cosformer_table4_small");
  // In both folders it is one run still.
  Keep("cottention_lra_small", *softmax);
  EXPECT_EQ(StatusOf(item, folder_.path())->text, status->text);
  EXPECT_EQ(StatusOf(item, folder_.path())->kept[0].path, "cottention_lra_small");
}

// A suite of another name may have more of an item.
TEST_F(PaperStatusTest, FurtherSuitesCount) {
  PaperItem item;
  item.set_suite("transformers_are_rnns_figure2");
  item.add_further_suite("copy_lsh_small");
  const std::vector<SuiteCell> cells = Cells("copy_lsh_small");
  Keep("copy_lsh_small", cells[0]);
  EXPECT_THAT(CommandsOf(item),
              ElementsAre("lra run transformers_are_rnns_figure2_small",
                          "lra run transformers_are_rnns_figure2", "lra run copy_lsh_small",
                          "lra table runs/transformers_are_rnns_figure2_small"));
  const auto status = StatusOf(item, folder_.path());
  ASSERT_TRUE(status.ok()) << status.status();
  EXPECT_THAT(status->text,
              testing::EndsWith(absl::StrCat("; copy_lsh_small: 1 of ", cells.size(), " runs")));
  ASSERT_THAT(status->kept, SizeIs(1));
  EXPECT_EQ(status->kept[0].path, "copy_lsh_small");
}

// A suite that starts from an encoder is run by a command that says which, and its folder knows it.
TEST_F(PaperStatusTest, SuitesOfCommandsCount) {
  PaperItem item;
  item.add_command("lra run pretrain_then_swap_small --init-from runs/encoder");
  item.add_command_suite("pretrain_then_swap_small");
  EXPECT_EQ(StatusOf(item, folder_.path())->text, "not kept");
  SuiteFile suite = *LoadSuite("pretrain_then_swap_small");
  std::string* const set =
      suite.mutable_group(0)->mutable_factor(0)->mutable_level(1)->mutable_set(0);
  *set = absl::StrReplaceAll(*set, {{"{init-from}", std::string(64, '1')}});
  ASSERT_TRUE(ClaimSuiteFolder(folder_.File("pretrain_then_swap_small"), suite).ok());
  const std::vector<SuiteCell> cells = *ExpandSuite(suite);
  Keep("pretrain_then_swap_small", cells.back());
  EXPECT_THAT(CommandsOf(item), ElementsAre(item.command(0)));
  EXPECT_EQ(StatusOf(item, folder_.path())->text,
            absl::StrCat("pretrain_then_swap_small: 1 of ", cells.size(), " runs"));
}

// A protocol with a new version gives runs new names; what is on record stays to be seen.
TEST_F(PaperStatusTest, RunsUnderOtherRulesCount) {
  PaperItem item;
  item.set_suite("cosformer_table6");
  const std::string suite = folder_.File("cosformer_table6_small");
  for (const char* run : {"text-cosformer-old-s0", "text-cosformer-old-s1", "baselines/order"}) {
    const std::string folder = JoinPath(suite, run);
    ASSERT_TRUE(MakeDirectories(folder).ok());
    ASSERT_TRUE(WriteFileAtomically(JoinPath(folder, "record.textproto"), "").ok());
  }
  const auto status = StatusOf(item, folder_.path());
  ASSERT_TRUE(status.ok()) << status.status();
  EXPECT_THAT(status->text, HasSubstr("cosformer_table6_small: 2 runs under other rules; "));
  ASSERT_THAT(status->kept, SizeIs(1));
  EXPECT_EQ(status->kept[0].finished, 0);
}

TEST_F(PaperStatusTest, CellsOfAGridOrItsTwinCount) {
  PaperItem item;
  item.set_grid("cosformer_table5");
  EXPECT_EQ(StatusOf(item, folder_.path())->text, "not run");
  // Twelve methods, four lengths, two modes.
  const std::string both = "cosformer_table5_small: 0 of 96 cells; cosformer_table5: 0 of 96 cells";
  int files = 0;
  for (const char* grid : {"cosformer_table5_small", "cosformer_table5"}) {
    const std::string path = folder_.File(GridRecords(grid));
    ASSERT_TRUE(MakeDirectories(folder_.File("efficiency")).ok());
    ASSERT_TRUE(WriteFileAtomically(path, "{}\n").ok());
    const auto status = StatusOf(item, folder_.path());
    ASSERT_TRUE(status.ok()) << status.status();
    EXPECT_EQ(status->text, both);
    EXPECT_THAT(status->kept, SizeIs(++files));
  }
  const auto status = StatusOf(item, folder_.path());
  ASSERT_TRUE(status.ok()) << status.status();
  ASSERT_THAT(status->kept, SizeIs(2));
  EXPECT_EQ(status->kept[0].path, "efficiency/cosformer_table5_small.jsonl");
  EXPECT_EQ(status->kept[0].cells, 96);
}

// --- Files of a user's ---

class PaperFileTest : public ConfigFolderTest {
 protected:
  void SetUp() override {
    for (const char* kind : {"papers", "published", "suites", "efficiency"})
      ASSERT_TRUE(MakeDirectories(folder_.File(kind)).ok());
    for (const char* name : {"suites/one", "efficiency/pairs", "efficiency/pairs_small"})
      Write(name, "");
    Write("published/printed", R"(
      name: "printed" source: "Someone" protocol: "theirs" evidence_class: "P"
      columns { name: "ppl" metric: "perplexity" is_lower_better: true }
      rows { method: "a" label: "A" cells { column: "ppl" value: 24.5 } }
      rows { method: "b" label: "B|b" cells { column: "ppl" is_failed: true } average: 3.5 average_of: "text" }
      rows { method: "c" label: "C" evidence_class: "R" cells { column: "ppl" value: 99.25 } })");
  }
  std::string Refusal(const std::string& items) {
    Write("papers/mine", absl::StrCat("title: 'Mine' ", items));
    return std::string(LoadPaper("mine").status().message());
  }
};

TEST_F(PaperFileTest, ContradictionsAreNamed) {
  EXPECT_EQ(Refusal("item { name: 'T' shows: 'x' reason: 'y' }"), "");
  EXPECT_THAT(
      Refusal("item { name: 'T' shows: 'x' }"),
      HasSubstr("mine.textproto: item \"T\": needs a suite, a grid, a command or a reason"));
  EXPECT_THAT(Refusal("item { shows: 'x' }"), HasSubstr("needs name and shows"));
  EXPECT_THAT(Refusal("item { name: 'T' shows: 'x' suite: 'two' }"),
              HasSubstr("unknown suite \"two\""));
  EXPECT_THAT(Refusal("item { name: 'T' shows: 'x' grid: 'pairs' scores: 'two' }"),
              HasSubstr("unknown suite \"two\""));
  EXPECT_THAT(Refusal("item { name: 'T' shows: 'x' suite: 'one' further_suite: 'two' }"),
              HasSubstr("unknown suite \"two\""));
  EXPECT_THAT(Refusal("item { name: 'T' shows: 'x' reason: 'y' further_suite: 'one' }"),
              HasSubstr("item \"T\": has further_suite and no suite"));
  EXPECT_THAT(Refusal("item { name: 'T' shows: 'x' reason: 'y' command_suite: 'one' }"),
              HasSubstr("item \"T\": has command_suite and no command"));
  for (const char* of_grid : {"scores: 'one'", "grid_flags: '--figure f'"}) {
    EXPECT_THAT(Refusal(absl::StrCat("item { name: 'T' shows: 'x' reason: 'y' ", of_grid, " }")),
                HasSubstr("item \"T\": has scores or grid_flags and no grid"));
  }
  EXPECT_THAT(Refusal("item { name: 'T' shows: 'x' reason: 'y' published: 'print' }"),
              HasSubstr("unknown published table \"print\""));
  EXPECT_THAT(Refusal("item { name: 'T' shows: 'x' reason: 'y' } "
                      "item { name: 'T' shows: 'x' reason: 'y' }"),
              HasSubstr("item \"T\" occurs twice"));
}

// A grid's twin has the scores of the suite's, where the suite has one.
TEST_F(PaperFileTest, EachSizeOfAGridHasItsOwnScores) {
  PaperItem item;
  item.set_grid("pairs");
  item.set_scores("one");
  item.set_grid_flags("--figure f");
  const std::string of_full = "lra bench efficiency --grid pairs --scores runs/one --figure f";
  EXPECT_THAT(
      CommandsOf(item),
      ElementsAre("lra bench efficiency --grid pairs_small --scores runs/one --figure f", of_full));
  Write("suites/one_small", "");
  EXPECT_THAT(
      CommandsOf(item),
      ElementsAre("lra bench efficiency --grid pairs_small --scores runs/one_small --figure f",
                  of_full));
}

// Every number but those that nobody has read.
TEST_F(PaperFileTest, ThePageHasWhatIsPrinted) {
  EXPECT_EQ(Refusal("item { name: 'T' shows: 'x' reason: 'y' published: 'printed' }"), "");
  const auto page = PaperMarkdown({{"mine"}, folder_.path()});
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_THAT(*page, HasSubstr("## mine\n\nMine\n\n| item | shows | command | status |\n"
                               "| --- | --- | --- | --- |\n"
                               "| T | x | y | not to be run here |\n"));
  EXPECT_THAT(*page, HasSubstr("### mine: T as printed\n\n"
                               "| method | ppl (perplexity, lower is better) | average of text |\n"
                               "| --- | --- | --- |\n"
                               "| A | 24.5 | - |\n"
                               "| B\\|b | FAIL | 3.50 |\n"));
  EXPECT_THAT(*page, Not(HasSubstr("99.25")));
  EXPECT_THAT(*page, Not(HasSubstr("# The papers' tables")));
  EXPECT_THAT(*PaperMarkdown({{}, folder_.path()}), HasSubstr("# The papers' tables"));
}

}  // namespace
}  // namespace lra
