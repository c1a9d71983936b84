#include "report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "eval/leaderboard_test_util.h"
#include "lra/files.h"
#include "lra/folder_test_util.h"
#include "lra/golden_test_util.h"
#include "report/page_files.h"

namespace lra {
namespace {

using ::lra::testing::MakeBaseline;
using ::lra::testing::MakeRun;
using ::lra::testing::RunSpec;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kHostile[] = "</script><script>alert(1)</script>&\"'";

class ReportTest : public ::testing::Test {
 protected:
  // Writes the run below runs/ of the folder.
  void Write(LocatedRecord located) {
    ASSERT_TRUE(WriteRunRecord(folder_.File(located.directory), located.record).ok());
  }

  LocatedRecord Trained(const RunSpec& spec) {
    LocatedRecord located = MakeRun(spec);
    RunRecord& record = located.record;
    record.mutable_spec()->set_classes(2);
    for (const int64_t count : {spec.correct, 1000 - spec.correct, int64_t{400}, int64_t{600}})
      record.mutable_results(0)->add_confusion(count);
    for (int step = 10; step <= 30; step += 10) {
      CurvePoint* point = record.add_curve();
      point->set_step(step);
      point->set_train_loss(2.0 - step / 100.0);
      (*point->mutable_train())["accuracy"] = step / 100.0;
      if (step < 30) continue;
      point->set_validation_loss(1.75);
      (*point->mutable_validation())["accuracy"] = 0.25;
    }
    record.mutable_efficiency()->set_wall_seconds(1800);
    record.mutable_efficiency()->set_threads(2);
    record.mutable_machine()->set_cpu("a processor");
    ChangedRule* rule = record.add_changed_rule();
    rule->set_path("train.steps");
    rule->set_protocol_value("30000");
    rule->set_value("150");
    rule->set_origin("--set");
    return located;
  }

  void WriteThree() {
    Write(MakeBaseline("majority", 340));
    Write(Trained({.method = "linear", .seed = 0, .correct = 700}));
    Write(Trained({.method = "linear", .seed = 1, .correct = 720}));
  }

  std::string Page(const std::string& page = "") {
    const std::string runs = folder_.File("runs");
    auto found = FindRunRecords({runs}, Damaged::kSetAside);
    EXPECT_TRUE(found.ok()) << found.status();
    const auto board = BuildLeaderboard(*found, {}, {});
    EXPECT_TRUE(board.ok()) << board.status();
    return MakeReport({.folders = {runs}, .found = &*found, .board = &*board, .page = page});
  }

  static nlohmann::json DataOf(const std::string& page) {
    const std::string begin = "id=\"data\">";
    const size_t start = page.find(begin) + begin.size();
    return nlohmann::json::parse(page.substr(start, page.find("</script>", start) - start));
  }

  TestFolder folder_;
};

// Style and scripts are files of their own; the rest of the page must be as it was.
TEST_F(ReportTest, Golden) {
  WriteThree();
  std::string page = absl::StrReplaceAll(Page(), {{kPageStyle, ""}, {kPageScript, ""}});
  const size_t policy = page.find("script-src");
  page.erase(policy, page.find("\">", policy) - policy);
  ExpectGolden(absl::StrCat(LRA_GOLDEN, "/report.html"), page);
}

TEST_F(ReportTest, CellsNameTheirRuns) {
  WriteThree();
  const std::string page = Page();
  const nlohmann::json data = DataOf(page);
  ASSERT_EQ(data["runs"].size(), 3);
  EXPECT_EQ(data["runs"][0]["name"], "listops-linear-s0");
  EXPECT_EQ(data["runs"][2]["method"], "majority");
  EXPECT_THAT(page, HasSubstr("data-cost=\"1\" data-runs=\"0 1\">"));
  EXPECT_THAT(page, HasSubstr("data-value=\"0.17\""));
  // Both seeds have the settings of one, and one machine.
  EXPECT_EQ(data["runs"][0]["settings"], data["runs"][1]["settings"]);
  EXPECT_EQ(data["machines"].size(), 2);
  EXPECT_EQ(data["settings"][0]["changed"][0][1], "30000");
  const nlohmann::json confusion = {700, 300, 400, 600};
  EXPECT_EQ(data["runs"][0]["confusion"], confusion);
  const nlohmann::json steps = {10, 20, 30};
  EXPECT_EQ(data["runs"][0]["curve"]["train_loss"]["step"], steps);
  EXPECT_EQ(data["runs"][0]["curve"]["validation"]["value"][0], 0.25);
}

TEST_F(ReportTest, ARunThatWentOnElsewhereNamesBothMachines) {
  LocatedRecord located = Trained({});
  located.directory = "runs/resumed";
  *located.record.add_stretch()->mutable_machine() = located.record.machine();
  located.record.mutable_stretch(0)->mutable_machine()->set_cpu("an earlier processor");
  TrainingStretch& second = *located.record.add_stretch();
  second.set_after_step(20);
  *second.mutable_machine() = located.record.machine();
  *second.mutable_versions() = located.record.versions();
  Write(located);
  const nlohmann::json data = DataOf(Page());
  const nlohmann::json stretches = data["runs"][0]["stretches"];
  ASSERT_EQ(stretches.size(), 2);
  EXPECT_EQ(data["machines"][stretches[0][1].get<size_t>()]["cpu"], "an earlier processor");
  EXPECT_EQ(stretches[1][0], 20);
  EXPECT_EQ(stretches[1][1], data["runs"][0]["machine"]);
}

TEST_F(ReportTest, TextsOfRecordsAreInert) {
  LocatedRecord located = Trained({.method = kHostile});
  located.directory = "runs/hostile";
  located.record.add_warning(kHostile);
  located.record.mutable_machine()->set_cpu(kHostile);
  Write(located);
  const std::string page = Page();
  // The page's own three closing tags are all that there are.
  size_t count = 0;
  for (size_t at = page.find("</script"); at != std::string::npos;
       at = page.find("</script", at + 1))
    ++count;
  EXPECT_EQ(count, 2);
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  EXPECT_EQ(DataOf(page)["runs"][0]["warnings"][0], kHostile);
  EXPECT_THAT(page, HasSubstr("&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;&amp;&quot;"));
}

TEST_F(ReportTest, APageDoesNotSayWhereTheRecordsLie) {
  WriteThree();
  ASSERT_TRUE(WriteFileAtomically(folder_.File("runs/damaged/record.textproto"), "kind: X").ok() ||
              (MakeDirectories(folder_.File("runs/damaged")).ok() &&
               WriteFileAtomically(folder_.File("runs/damaged/record.textproto"), "x").ok()));
  ASSERT_TRUE(MakeDirectories(folder_.File("runs/killed/checkpoint")).ok());
  const std::string page = Page();
  EXPECT_THAT(page, Not(HasSubstr(folder_.path())));
  EXPECT_THAT(page, HasSubstr("1 record could not be read"));
  EXPECT_THAT(page, HasSubstr("<li>damaged/record.textproto"));
  EXPECT_THAT(page, HasSubstr("<li>killed: has no record"));
}

TEST_F(ReportTest, RunsBelowThePageAreLinked) {
  WriteThree();
  EXPECT_EQ(DataOf(Page(folder_.File("report.html")))["runs"][0]["link"],
            "runs/listops-linear-s0/");
  EXPECT_FALSE(DataOf(Page(folder_.File("elsewhere/report.html")))["runs"][0].contains("link"));
  EXPECT_FALSE(DataOf(Page())["runs"][0].contains("link"));
}

TEST_F(ReportTest, NothingIsFetched) {
  WriteThree();
  const std::string page = Page();
  EXPECT_THAT(page, HasSubstr("default-src 'none'; img-src data:; script-src 'sha256-"));
  for (const char* address : {"src=\"http", "href=\"http", "url(", "@import", "fetch("})
    EXPECT_THAT(page, Not(HasSubstr(address)));
}

TEST_F(ReportTest, MapsAndProfilesOfTheFolderAreShown) {
  Write(Trained({}));
  const std::string run = folder_.File("runs/listops-linear-s0");
  ASSERT_TRUE(MakeDirectories(run + "/maps").ok());
  ASSERT_TRUE(WriteFileAtomically(run + "/maps/all-mean.png", "\x89PNG picture").ok());
  ASSERT_TRUE(WriteFileAtomically(run + "/maps/maps.json",
                                  R"({"maps": {"all": ["all-mean.npy", "all-mean.png"],
                                      "layer0-head0": ["x.png"], "layer0": ["../secret.png"]}})")
                  .ok());
  ASSERT_TRUE(WriteFileAtomically(run + "/profile.json",
                                  R"({"tables": [{"by": "depth", "definition": "of evaluation",
                                      "rows": [{"name": "1", "examples": 5, "value": 0.5,
                                                "interval": [0.1, 0.9]}]}]})")
                  .ok());
  const nlohmann::json shown = DataOf(Page())["runs"][0];
  ASSERT_EQ(shown["maps"].size(), 1);
  EXPECT_EQ(shown["maps"][0]["src"], "data:image/png;base64,iVBORyBwaWN0dXJl");
  EXPECT_EQ(shown["profile"][0]["rows"][0]["interval"][1], 0.9);
  EXPECT_THAT(Page(), Not(HasSubstr("Files of runs, not shown")));
  ASSERT_TRUE(WriteFileAtomically(run + "/profile.json", "[").ok());
  EXPECT_THAT(Page(), HasSubstr("<h2 id=\"not-shown-title\">Files of runs, not shown</h2>\n<ul>\n"
                                "<li>listops-linear-s0/profile.json: is no JSON object</li>"));
}

// `lra attend` writes layers first; maps of images take more than a megabyte.
TEST_F(ReportTest, MapsOfAllLayersComeFirstAndWhatIsLeftOutIsNamed) {
  Write(Trained({}));
  const std::string maps = folder_.File("runs/listops-linear-s0/maps");
  ASSERT_TRUE(MakeDirectories(maps).ok());
  nlohmann::ordered_json named;
  for (const char* name : {"layer0", "layer1", "layer2", "layer3", "all"}) {
    for (const char* kind : {"mean", "coverage"}) {
      const std::string file = absl::StrCat(name, "-", kind, ".png");
      named["maps"][name].push_back(file);
      const size_t size = file == "layer0-mean.png" ? 3 << 20 : 1 << 20;
      ASSERT_TRUE(WriteFileAtomically(absl::StrCat(maps, "/", file),
                                      absl::StrCat("\x89PNG", std::string(size, 'x')))
                      .ok());
    }
  }
  ASSERT_TRUE(WriteFileAtomically(maps + "/maps.json", named.dump()).ok());
  const std::string page = Page();
  std::vector<std::string> names;
  const nlohmann::json data = DataOf(page);
  for (const nlohmann::json& map : data["runs"][0]["maps"]) names.push_back(map["name"]);
  EXPECT_THAT(names, ElementsAre("all-mean.png", "all-coverage.png", "layer0-coverage.png",
                                 "layer1-mean.png", "layer1-coverage.png", "layer2-mean.png",
                                 "layer2-coverage.png", "layer3-mean.png"));
  EXPECT_THAT(page, HasSubstr("listops-linear-s0/maps/layer0-mean.png&quot;: it has 3145732 bytes, "
                              "at most 2097152 are read"));
  EXPECT_THAT(page, HasSubstr("<li>listops-linear-s0/maps: 8 pictures of a run are shown, "
                              "layer3-coverage.png is not</li>"));
}

}  // namespace
}  // namespace lra
