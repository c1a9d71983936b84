#include "eval/published.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "lra/config.h"
#include "lra/config_folder_test_util.h"
#include "lra/protocol_rules.h"

namespace lra {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

PublishedTable Load(const std::string& name) {
  auto table = LoadPublishedTable(name);
  EXPECT_TRUE(table.ok()) << table.status();
  return table.ok() ? *table : PublishedTable();
}

std::map<std::string, const PublishedRow*> ByMethod(const PublishedTable& table) {
  std::map<std::string, const PublishedRow*> rows;
  for (const PublishedRow& row : table.rows()) {
    EXPECT_TRUE(rows.emplace(row.method(), &row).second) << row.method() << " occurs twice";
  }
  return rows;
}

// Differences from ours are of rows of one protocol and preset, which their own words name.
TEST(PublishedTest, RulesOfOursAreKnown) {
  const auto is_known = [](const std::string& kind, const std::string& name) {
    const std::vector<std::string> names = ConfigNames(kind);
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  std::set<std::string> with_rules;
  for (const std::string& name : ConfigNames("published")) {
    const PublishedTable table = Load(name);
    if (table.our_protocol().empty()) continue;
    with_rules.insert(name);
    EXPECT_TRUE(is_known("protocols", table.our_protocol())) << name;
    EXPECT_TRUE(is_known("presets", table.our_preset())) << name;
    EXPECT_THAT(table.protocol(), StartsWith(table.our_protocol())) << name;
  }
  EXPECT_THAT(with_rules, ElementsAre("cosformer2022", "cosformer2022_table6", "lra2020",
                                      "lra2020_table3", "nystromformer"));
}

std::vector<std::pair<std::string, std::string>> RulesOf(const std::string& protocol,
                                                         const std::string& task) {
  auto fragment = LoadFragment("protocols", protocol);
  EXPECT_TRUE(fragment.ok()) << fragment.status();
  if (!fragment.ok()) return {};
  ExperimentConfig rules = fragment->base();
  MergeConfig(fragment->task().at(task), &rules);
  return LeafFields(rules);
}

// A version from before a task's rules were changed is not that of the printed rows, and one from
// after it is: whoever writes a new version says so in the tables that name the protocol.
TEST(PublishedTest, OurRulesSinceAreThoseOfTheProtocolsVersions) {
  int compared = 0;
  for (const std::string& name : ConfigNames("published")) {
    const PublishedTable table = Load(name);
    const std::string& protocol = table.our_protocol();
    if (protocol.empty()) continue;
    const auto now = LoadFragment("protocols", protocol);
    ASSERT_TRUE(now.ok()) << now.status();
    for (const auto& [task, unused] : now->task()) {
      const uint32_t since = OurRulesSince(table, task);
      EXPECT_LE(since, now->version()) << name << ", " << task;
      for (const std::string& earlier : EarlierVersions("protocols", protocol)) {
        const bool is_alike = RulesOf(earlier, task) == RulesOf(protocol, task);
        EXPECT_EQ(ProtocolVersion(earlier) >= since, is_alike) << name << ", " << task;
        ++compared;
      }
    }
    for (const RulesSince& since : table.our_rules_since())
      EXPECT_TRUE(since.task().empty() || now->task().contains(since.task())) << since.task();
  }
  EXPECT_GT(compared, 0);
}

TEST(PublishedTest, EveryWrongAverageCarriesANote) {
  std::vector<std::string> findings;
  for (const std::string& name : ConfigNames("published")) {
    const PublishedTable table = Load(name);
    const auto rows = ByMethod(table);
    for (const std::string& finding : AuditAverages(table)) {
      findings.push_back(finding);
      for (const auto& [method, row] : rows) {
        if (!absl::StrContains(finding, absl::StrCat("average of ", method, " is"))) continue;
        EXPECT_THAT(row->note(),
                    HasSubstr(absl::StrCat("the printed average ", row->average(), " is wrong")))
            << finding;
      }
    }
  }
  EXPECT_THAT(
      findings,
      ElementsAre(
          "cosformer2022: the printed average of sinkhorn is 51.29, its cells average 51.48",
          "lra2020: the printed average of sinkhorn is 51.29, its cells average 51.48",
          "s4_line: the printed average of lion_d is 85.63, its cells average 85.68",
          "s4_line: the printed average of lion_s is 86.07, its cells average 86.02"));
}

TEST(PublishedTest, TheAuditFindsAPlantedError) {
  PublishedTable table = Load("skyformer");
  EXPECT_THAT(AuditAverages(table), IsEmpty());
  table.mutable_rows(0)->set_average(table.rows(0).average() + 0.01);
  EXPECT_EQ(AuditAverages(table).size(), 1);
  // Averages with one printed decimal are rounded more.
  PublishedTable glue = Load("cottention2024_table1");
  EXPECT_THAT(AuditAverages(glue), IsEmpty());
  glue.mutable_rows(1)->set_average(83.2);
  EXPECT_THAT(AuditAverages(glue), ElementsAre(HasSubstr("is 83.2, its cells average 83.1")));
}

TEST(PublishedTest, TheAuditPassesOverRowsOfFailuresAlone) {
  PublishedTable table;
  PublishedRow* const row = table.add_rows();
  row->set_average(50);
  row->add_cells()->set_column("pathx");
  row->mutable_cells(0)->set_is_failed(true);
  EXPECT_THAT(AuditAverages(table), IsEmpty());
}

TEST(PublishedTest, TablesOfTheFiveTasksAreWholeAndPrimary) {
  const std::set<std::string> expected = {"listops", "text", "retrieval", "image", "pathfinder32"};
  for (const char* name : {"cosformer2022", "lra2020", "nystromformer", "skyformer"}) {
    const PublishedTable table = Load(name);
    for (const PublishedRow& row : table.rows()) {
      const std::vector<std::string> averaged = AveragedColumns(row);
      EXPECT_EQ(std::set<std::string>(averaged.begin(), averaged.end()), expected)
          << name << " " << row.method();
      EXPECT_EQ(row.method(), absl::AsciiStrToLower(row.method()));
      EXPECT_EQ(EvidenceOf(table, row), "P") << name;
    }
  }
}

// Rows and columns as the papers print them.
TEST(PublishedTest, TablesOfThePapersAreThere) {
  const std::map<std::string, std::pair<int, int>> rows_and_columns = {
      {"cosformer2022", {12, 5}},
      {"cosformer2022_table1", {4, 4}},
      {"cosformer2022_table2", {7, 2}},
      {"cosformer2022_table3", {7, 5}},
      {"cosformer2022_table6", {2, 1}},
      {"cosformer2022_table7", {10, 3}},
      {"cottention2024_table1", {3, 9}},
      {"linear_transformers2020_table1", {4, 2}},
      {"linear_transformers2020_table2", {4, 2}},
      {"linear_transformers2020_table3", {4, 2}},
      {"lra2020", {13, 6}},
      {"lra2020_table3", {11, 2}}};
  for (const auto& [name, size] : rows_and_columns) {
    const PublishedTable table = Load(name);
    EXPECT_EQ(table.rows_size(), size.first) << name;
    EXPECT_EQ(static_cast<int>(ColumnNames(table).size()), size.second) << name;
    EXPECT_EQ(table.evidence_class(), "P") << name;
    EXPECT_THAT(table.item(), StartsWith("Table ")) << name;
  }
}

TEST(PublishedTest, ColumnsSayWhatTheyAre) {
  const PublishedColumn accuracy = ColumnOf(Load("cosformer2022"), "listops");
  EXPECT_EQ(accuracy.metric(), "accuracy");
  EXPECT_EQ(accuracy.unit(), "%");
  EXPECT_FALSE(accuracy.is_lower_better());
  const PublishedColumn perplexity = ColumnOf(Load("cosformer2022_table2"), "wikitext103_test");
  EXPECT_EQ(perplexity.metric(), "perplexity");
  EXPECT_EQ(perplexity.unit(), "perplexity");
  EXPECT_TRUE(perplexity.is_lower_better());
  const PublishedTable speech = Load("linear_transformers2020_table3");
  EXPECT_EQ(ColumnOf(speech, "phoneme error rate").unit(), "%");
  EXPECT_EQ(ColumnOf(speech, "time an epoch").unit(), "s");
  EXPECT_FALSE(ColumnOf(Load("linear_transformers2020_table1"), "images/s").is_lower_better());
  // In the paper's unit, which is ours of pixels.
  const PublishedColumn bits = ColumnOf(Load("linear_transformers2020_table1"), "mnist_pixels");
  EXPECT_EQ(bits.unit(), "bits/dim");
  EXPECT_TRUE(bits.is_lower_better());
  EXPECT_EQ(bits.metric(), "bits_per_token");
  EXPECT_EQ(bits.split(), "test");
  const PublishedTable sizes = Load("cosformer2022_table7");
  EXPECT_EQ(sizes.row_heading(), "data set");
  EXPECT_EQ(ColumnOf(sizes, "train").metric(), "examples");
  EXPECT_EQ(ColumnOf(sizes, "train").unit(), "thousand");
}

// Table 6 averages what Tables 3 and 4 print.
TEST(PublishedTest, TablesOfCosformerAgreeWithEachOther) {
  const PublishedTable table3 = Load("cosformer2022_table3"), table4 = Load("cosformer2022"),
                       table6 = Load("cosformer2022_table6");
  const PublishedRow& row = *ByMethod(table6).at("cosformer");
  EXPECT_EQ(row.cells(0).value(), ByMethod(table3).at("cosformer")->average());
  EXPECT_EQ(row.average(), ByMethod(table4).at("cosformer")->average());
  EXPECT_EQ(AveragedColumns(row), AveragedColumns(table4.rows(0)));
  // The softmax row of Table 1 is fine-tuned to the same scores in Table 3.
  const PublishedTable table1 = Load("cosformer2022_table1");
  const PublishedRow &one = *ByMethod(table1).at("transformer"),
                     &three = *ByMethod(table3).at("transformer");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(one.cells(i + 1).value(), three.cells(i).value());
}

TEST(PublishedTest, BaselinesOfCosformerAreTheRowsOf2020) {
  const PublishedTable cosformer = Load("cosformer2022"), lra = Load("lra2020");
  const auto original = ByMethod(lra);
  EXPECT_EQ(cosformer.rows_size(), 12);
  for (const auto& [method, row] : ByMethod(cosformer)) {
    if (method == "cosformer") continue;
    ASSERT_TRUE(original.count(method)) << method;
    for (int i = 0; i < row->cells_size(); ++i) {
      EXPECT_EQ(row->cells(i).value(), original.at(method)->cells(i).value());
    }
  }
  EXPECT_NEAR(MeanOfCells(*ByMethod(cosformer).at("cosformer")), 55.234, 1e-9);
}

// Table 3 prints the column Image of Table 1 once more, beside accuracies in training, which are
// all higher.
TEST(PublishedTest, Table3Of2020HasTheTestAccuraciesOfTable1) {
  const PublishedTable table1 = Load("lra2020"), table3 = Load("lra2020_table3");
  const auto first = ByMethod(table1);
  for (const auto& [method, row] : ByMethod(table3)) {
    ASSERT_TRUE(first.count(method)) << method;
    const auto& cells = first.at(method)->cells();
    const auto image = std::find_if(cells.begin(), cells.end(), [](const PublishedCell& cell) {
      return cell.column() == "image";
    });
    ASSERT_NE(image, cells.end()) << method;
    ASSERT_EQ(row->cells_size(), 2) << method;
    EXPECT_EQ(row->cells(0).column(), "image");
    EXPECT_EQ(row->cells(0).value(), image->value()) << method;
    EXPECT_EQ(row->cells(1).column(), "image_train");
    EXPECT_GT(row->cells(1).value(), image->value()) << method;
  }
}

class PublishedFileTest : public ConfigFolderTest {
 protected:
  void SetUp() override { ASSERT_EQ(MakeDirectories(folder_.File("published")), absl::OkStatus()); }

  // The message of a table with this text behind its head.
  std::string Refusal(const std::string& rows) {
    Write("published/mine",
          absl::StrCat("name: 'mine' source: 'me' protocol: 'mine' evidence_class: 'S' ", rows));
    return std::string(LoadPublishedTable("mine").status().message());
  }
};

TEST_F(PublishedFileTest, ContradictionsAreNamed) {
  EXPECT_EQ(Refusal("rows { method: 'a' label: 'A' cells { column: 'text' value: 60 } }"), "");
  EXPECT_THAT(Refusal("rows { method: 'a' label: 'A' }"),
              HasSubstr("mine.textproto: row \"a\": has neither cells nor average_of"));
  EXPECT_THAT(Refusal("rows { method: 'a' label: 'A' average_of: 'text' }"),
              HasSubstr("has average_of and no average"));
  EXPECT_THAT(Refusal("rows { method: 'a' label: 'A' cells { column: 'text' } }"),
              HasSubstr("text has no value"));
  EXPECT_THAT(Refusal("rows { method: 'a' label: 'A' cells { column: 'text' value: 101 } }"),
              HasSubstr("text is 101, outside 0 .. 100 percent"));
  EXPECT_THAT(Refusal("rows { method: 'a' label: 'A' evidence_class: 'Q' "
                      "cells { column: 'text' value: 1 } }"),
              HasSubstr("evidence_class is \"Q\"; there are P, S and R"));
  EXPECT_THAT(
      Refusal("rows { method: 'a' label: 'A' cells { column: 'text' value: 1 spread: 1 } }"),
      HasSubstr("has a spread; `spread` of the table does not say which"));
  EXPECT_THAT(Refusal("rows { method: 'a' label: 'A' cells { column: 'text' value: 1 } "
                      "cells { column: 'text' value: 2 } }"),
              HasSubstr("column text occurs twice"));
  EXPECT_THAT(Refusal("our_protocol: 'fair'"),
              HasSubstr("mine.textproto: needs our_protocol and our_preset, or neither"));
  EXPECT_THAT(Refusal("our_rules_since { version: 2 }"),
              HasSubstr("our_rules_since needs our_protocol"));
  const std::string rules = "our_protocol: 'fair' our_preset: 'small' ";
  EXPECT_THAT(Refusal(rules + "our_rules_since { task: 'text' }"),
              HasSubstr("our_rules_since: version of text must be at least 1"));
  EXPECT_THAT(Refusal(rules + "our_rules_since { version: 1 } our_rules_since { version: 2 }"),
              HasSubstr("our_rules_since: every task occurs twice"));
  EXPECT_THAT(Refusal("columns { name: 'text' metric: 'nats' unit: '%' }"),
              HasSubstr("column \"text\": nats is in nats"));
  EXPECT_THAT(Refusal("columns { name: 'text' metric: 'bits_per_token' unit: 'bits/word' }"),
              HasSubstr("is in bits/token or bits/byte or bits/dim, not in bits/word"));
}

TEST_F(PublishedFileTest, AveragesAreInTheRangeOfTheirCells) {
  const auto refusal = [&](const std::string& average, const std::string& column) {
    return Refusal(absl::StrCat("columns { name: 'speed' metric: 'speed' unit: 'images/s' } ",
                                "rows { method: 'a' label: 'A' average: ", average,
                                " cells { column: '", column, "' value: 60 } }"));
  };
  EXPECT_EQ(refusal("100", "text"), "");
  EXPECT_THAT(refusal("550", "text"),
              HasSubstr("row \"a\": average is 550, outside 0 .. 100 percent"));
  EXPECT_THAT(refusal("nan", "text"), HasSubstr("average is nan, outside 0 .. 100 percent"));
  EXPECT_EQ(refusal("550", "speed"), "");
  EXPECT_THAT(refusal("inf", "speed"), HasSubstr("average is inf, outside 0 .. inf"));
}

TEST_F(PublishedFileTest, DecimalsOfAveragesAreFew) {
  EXPECT_EQ(Refusal("average_decimals: 6"), "");
  EXPECT_THAT(Refusal("average_decimals: 2000000000"),
              HasSubstr("average_decimals is 2000000000, must be at most 6"));
}

// That each row has a class of its own excuses no wrong one of the table.
TEST_F(PublishedFileTest, TheTableHasAClassOfEvidence) {
  Write("published/mine",
        "name: 'mine' source: 'me' protocol: 'mine' evidence_class: 'Q' rows { method: 'a' "
        "label: 'A' evidence_class: 'P' cells { column: 'text' value: 60 } }");
  EXPECT_THAT(std::string(LoadPublishedTable("mine").status().message()),
              HasSubstr("mine.textproto: evidence_class is \"Q\"; there are P, S and R"));
}

TEST(PublishedTest, UnknownNameIsWrongUseAndListsTheKnownOnes) {
  const auto table = LoadPublishedTable("cosformer");
  EXPECT_EQ(table.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(table.status().message()), HasSubstr("skyformer"));
}

}  // namespace
}  // namespace lra
