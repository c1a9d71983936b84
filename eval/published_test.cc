#include "eval/published.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "absl/strings/ascii.h"
#include "lra/config.h"

namespace lra {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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

TEST(PublishedTest, EveryWrongAverageCarriesANote) {
  const std::vector<std::string> names = ConfigNames("published");
  ASSERT_THAT(names, ElementsAre("cosformer2022", "lra2020", "nystromformer", "skyformer"));
  for (const std::string& name : names) {
    const PublishedTable table = Load(name);
    for (const std::string& finding : AuditAverages(table)) {
      EXPECT_THAT(finding, HasSubstr("sinkhorn is 51.29, its cells average 51.48")) << name;
    }
  }
  for (const char* name : {"cosformer2022", "lra2020"}) {
    const PublishedTable table = Load(name);
    EXPECT_EQ(AuditAverages(table).size(), 1);
    EXPECT_THAT(ByMethod(table).at("sinkhorn")->note(), HasSubstr("51.48"));
  }
}

TEST(PublishedTest, TheAuditFindsAPlantedError) {
  PublishedTable table = Load("skyformer");
  EXPECT_THAT(AuditAverages(table), IsEmpty());
  table.mutable_rows(0)->set_average_percent(table.rows(0).average_percent() + 0.01);
  EXPECT_EQ(AuditAverages(table).size(), 1);
}

TEST(PublishedTest, RowsHaveFiveTasksAndPrimaryEvidence) {
  const std::set<std::string> expected = {"listops", "text", "retrieval", "image", "pathfinder32"};
  for (const std::string& name : ConfigNames("published")) {
    const PublishedTable table = Load(name);
    EXPECT_EQ(table.evidence_class(), "P") << name;
    for (const PublishedRow& row : table.rows()) {
      std::set<std::string> tasks;
      for (const PublishedCell& cell : row.cells()) tasks.insert(cell.task());
      EXPECT_EQ(tasks, expected) << name << " " << row.method();
      EXPECT_EQ(row.method(), absl::AsciiStrToLower(row.method()));
    }
  }
}

TEST(PublishedTest, BaselinesOfCosformerAreTheRowsOf2020) {
  const PublishedTable cosformer = Load("cosformer2022"), lra = Load("lra2020");
  const auto original = ByMethod(lra);
  EXPECT_EQ(cosformer.rows_size(), 12);
  for (const auto& [method, row] : ByMethod(cosformer)) {
    if (method == "cosformer") continue;
    ASSERT_TRUE(original.count(method)) << method;
    for (int i = 0; i < row->cells_size(); ++i) {
      EXPECT_EQ(row->cells(i).accuracy_percent(), original.at(method)->cells(i).accuracy_percent());
    }
  }
  EXPECT_NEAR(MeanOfCells(*ByMethod(cosformer).at("cosformer")), 55.234, 1e-9);
}

TEST(PublishedTest, UnknownNameIsWrongUseAndListsTheKnownOnes) {
  const auto table = LoadPublishedTable("cosformer");
  EXPECT_EQ(table.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(table.status().message()), HasSubstr("skyformer"));
}

}  // namespace
}  // namespace lra
