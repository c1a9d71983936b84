#include "bench/profile_figure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/picture_test_util.h"
#include "lra/files.h"
#include "lra/folder_test_util.h"

namespace lra {
namespace {

using ::lra::testing::ExpectPictures;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class ProfileFigureTest : public ::testing::Test {
 protected:
  ProfileFigureTest() {
    group_.metric = *FindMetric(kAccuracy);
    bar_.kind = RunRecord::BASELINE;
    bar_.label = "depth_1";
    row_.label = "linear's own";
    board_.group = &group_;
    board_.headings = {{"depth", "how deep", {"0", "1", "2"}, {100, 50, 3}, true}};
    bars_.kind = RunRecord::BASELINE;
    bars_.rows = {bar_};
    rows_.rules = "fair";
    rows_.rows = {row_};
    group_.task = "listops";
    group_.split = "test";
    group_.settings = {bars_, rows_};
    board_.rows = {{Row(bar_, 1, 0)}, {Row(row_, 0.9, 0.25)}};
  }
  static ProfileBoardRow Row(const ProfiledRow& row, double first, double second) {
    ProfileBoardRow shown;
    shown.row = &row;
    shown.cells = {{{100, first, Interval{first - 0.1, first}},
                    {50, second, Interval{second, second + 0.5}},
                    {3, 0.0, std::nullopt}}};
    return shown;
  }
  ProfileGroup group_;
  ProfiledRow bar_, row_;
  ProfiledSetting bars_, rows_;
  ProfileBoard board_;
};

TEST_F(ProfileFigureTest, DrawsRowsWithIntervalsAndBaselinesGrey) {
  const std::string program = ProfileProgram(board_, 0, "p");
  EXPECT_THAT(program, HasSubstr("$row0 << END\n0 100 90 100\n1 0 0 50\nEND"));
  EXPECT_THAT(program, HasSubstr("$row1 << END\n0 90 80 90\n1 25 25 75\nEND"));
  EXPECT_THAT(program, HasSubstr("lc rgb \"#999999\" lw 1 dt 1 title 'depth\\_1'"));
  EXPECT_THAT(program, HasSubstr("with yerrorbars lt 1 dt 1 lw 1 ps 0.8 title 'linear''s own'"));
  EXPECT_THAT(program, HasSubstr("set xtics ('0' 0, '1' 1)"));  // the third has three examples
  EXPECT_THAT(program, HasSubstr("set ylabel 'accuracy in %'"));
}

TEST_F(ProfileFigureTest, RowsOfWhichNothingIsKnownAreLeftOut) {
  board_.rows[0][0].cells[0].clear();
  const std::string program = ProfileProgram(board_, 0, "p");
  EXPECT_THAT(program, Not(HasSubstr("depth\\_1")));
}

TEST_F(ProfileFigureTest, OneLabelInSeveralSettings) {
  rows_.rules = "strong";
  rows_.fields = {"train.steps=300"};
  group_.settings.push_back(rows_);
  board_.rows.push_back({Row(row_, 0.5, 0.5)});
  const std::string program = ProfileProgram(board_, 0, "p");
  EXPECT_THAT(program, HasSubstr("title 'linear''s own, fair'"));
  EXPECT_THAT(program, HasSubstr("title 'linear''s own, strong (1)'"));
}

TEST_F(ProfileFigureTest, CircumstancesHaveNoLines) {
  board_.headings[0].is_ordered = false;
  const std::string program = ProfileProgram(board_, 0, "p");
  EXPECT_THAT(program, Not(HasSubstr("with lines lt")));
}

TEST_F(ProfileFigureTest, OneStratumIsNoFigure) {
  board_.headings[0].examples = {100, 3, 3};
  const TestFolder folder;
  const auto drawn = DrawProfiles({board_}, folder.File("p"));
  ASSERT_TRUE(drawn.ok()) << drawn.status();
  EXPECT_THAT(*drawn, IsEmpty());
}

// Baselines are lines in the legend, rows of ordered strata are lines with points.
TEST_F(ProfileFigureTest, AColumnHasItsLegendBelow) {
  const std::string program = ProfileProgram(board_, 0, "p");
  EXPECT_THAT(program, HasSubstr("set title 'listops, test split: accuracy in %'"));
  EXPECT_THAT(program,
              HasSubstr("plot NaN with lines lc rgb \"#999999\" lw 1 dt 1 title 'depth_1', "
                        "NaN with linespoints lt 1 ps 0.5 title 'linear''s own'\n"));
}

// A sample is as long as some 50 of the units of dashes; gnuplot's own second kind takes it alone.
TEST_F(ProfileFigureTest, DashesAreShorterThanTheLegendsSample) {
  ProfiledRow second = bar_;
  second.label = "depth_2";
  group_.settings[0].rows.push_back(second);
  board_.rows[0].push_back(Row(second, 1, 0.5));
  const std::string program = ProfileProgram(board_, 0, "p");
  EXPECT_THAT(program, HasSubstr("lines lc rgb \"#999999\" lw 1 dt (12,8) title 'depth\\_2'"));
  EXPECT_THAT(program, HasSubstr("lines lc rgb \"#999999\" lw 1 dt (12,8) title 'depth_2'"));
}

TEST_F(ProfileFigureTest, LongNamesOfStrataAreSlanted) {
  board_.headings[0].names = {"1 to 64", "65 to 128", "129 to 256"};
  const std::string program = ProfileProgram(board_, 0, "p");
  EXPECT_THAT(program, HasSubstr("set xtics rotate by -25 ('1 to 64' 0, '65 to 128' 1)"));
  EXPECT_THAT(program, HasSubstr("set xtics rotate by 45 right ('1 to 64' 0, '65 to 128' 1)"));
}

TEST_F(ProfileFigureTest, NamesOfStrataAreLongByCharacters) {
  board_.headings[0].names = {"small", "gr\u00f6\u00dfe", "x"};
  EXPECT_THAT(ProfileProgram(board_, 0, "p"),
              HasSubstr("set xtics ('small' 0, 'gr\u00f6\u00dfe' 1)"));
}

TEST_F(ProfileFigureTest, IsDrawn) {
  const TestFolder folder;
  const auto drawn = DrawProfiles({board_}, folder.File("p"));
  if (drawn.status().code() == absl::StatusCode::kFailedPrecondition)
    GTEST_SKIP() << drawn.status();
  ASSERT_TRUE(drawn.ok()) << drawn.status();
  ASSERT_THAT(*drawn, ElementsAre(folder.File("p-1")));
  ExpectPictures(drawn->front());
}

TEST_F(ProfileFigureTest, WithoutGnuplotTheProgramIsThere) {
  const TestFolder folder;
  const auto drawn = DrawProfiles({board_}, folder.File("p"), "no-such-gnuplot");
  EXPECT_EQ(drawn.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(FileExists(folder.File("p-1.gp")));
}

}  // namespace
}  // namespace lra
