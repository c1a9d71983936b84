#include "bench/column_figure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "bench/gnuplot.h"
#include "bench/picture_test_util.h"
#include "lra/files.h"
#include "lra/folder_test_util.h"

namespace lra {
namespace {

using ::lra::testing::ExpectPictures;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(WrapText, BreaksAtSpaces) {
  EXPECT_THAT(WrapText("a design of factors", 9), ElementsAre("a design", "of", "factors"));
  EXPECT_THAT(WrapText("a design of", 11), ElementsAre("a design of"));
  EXPECT_THAT(WrapText("", 3), ElementsAre(""));
}

TEST(WrapText, BreaksLongWordsBetweenCharacters) {
  EXPECT_THAT(WrapText("an abcdefg", 3), ElementsAre("an", "abc", "def", "g"));
  EXPECT_THAT(WrapText("\u00e4\u00f6\u00fc\u00e4", 3), ElementsAre("\u00e4\u00f6\u00fc", "\u00e4"));
}

// In double quotes gnuplot would run what stands in backquotes.
TEST(QuotedLines, OnlyTheBreakIsInDoubleQuotes) {
  EXPECT_EQ(QuotedLines({"it's", "`rm`"}), "'it''s'.\"\\n\".'`rm`'");
}

ColumnFigure OnePlot() {
  ColumnFigure figure = {"", {}, {}};
  figure.plots.push_back({"", "set xrange [0:1]\nplot x lt 1\n", 100});
  figure.legend = {{"line", "lines lt 1"}};
  return figure;
}

// 4 + 100 + 14, a line of the legend with 8: 136.5 points.
TEST(ColumnProgram, IsAsHighAsItsParts) {
  ColumnFigure figure = OnePlot();
  EXPECT_THAT(ColumnProgram(figure, "a"), HasSubstr("set terminal pngcairo size 952,548 "));
  EXPECT_THAT(ColumnProgram(figure, "a"), HasSubstr("set tmargin at screen 0.9708\n"));
  figure.title = "A title that is so long that no column has room for it in one line";
  EXPECT_THAT(ColumnProgram(figure, "a"), HasSubstr("set terminal pngcairo size 952,648 "));
  figure.plots.push_back(figure.plots.front());
  figure.legend.clear();
  EXPECT_THAT(ColumnProgram(figure, "a"), HasSubstr("set terminal pngcairo size 952,1044 "));
}

TEST(ColumnProgram, DrawsThePlotsIntoBothFormats) {
  const std::string program = ColumnProgram(OnePlot(), "a");
  const size_t pdf = program.find("set output 'a.pdf'"), png = program.find("set output 'a.png'");
  ASSERT_LT(pdf, png);
  ASSERT_NE(png, std::string::npos);
  for (const size_t begin : {pdf, png})
    EXPECT_THAT(program.substr(begin), HasSubstr("plot x lt 1\n"));
}

// Left to itself the terminal makes 5.3 points of 8.
TEST(ColumnTerminal, APdfHasLettersOfEightPoints) {
  EXPECT_THAT(ColumnTerminal(PictureFormat::kPdf, "a", 144),
              HasSubstr("size 3.30556in,2in noenhanced font 'sans,8' fontscale 0.75\n"));
}

TEST(ColumnProgram, ShortLabelsStandSideBySide) {
  ColumnFigure figure = OnePlot();
  figure.legend = {{"a", "lines"}, {"b", "lines"}, {"c", "lines"}, {"d", "lines"}};
  EXPECT_THAT(ColumnProgram(figure, "a"), HasSubstr(" maxrows 2\n"));
  figure.legend[0].label = "of two words";
  EXPECT_THAT(ColumnProgram(figure, "a"), HasSubstr(" maxrows 2\n"));
  figure.legend[0].label = "a label of more words";
  EXPECT_THAT(ColumnProgram(figure, "a"), HasSubstr(" maxrows 4\n"));
}

TEST(ColumnProgram, LongLabelsHaveSeveralLines) {
  ColumnFigure figure = OnePlot();
  figure.legend[0].label = "a label of far more words than a line of a column has room for";
  const std::string program = ColumnProgram(figure, "a");
  EXPECT_THAT(program, HasSubstr("NaN with lines lt 1 title 'a label of far more words than a line "
                                 "of', NaN with lines lc bgnd title '  a column has room for'\n"));
  EXPECT_THAT(program, HasSubstr(" maxrows 2\n"));
}

TEST(ColumnProgram, IsDrawn) {
  const TestFolder folder;
  ColumnFigure figure = OnePlot();
  figure.title = "A title that is so long that no column has room for it in one line";
  const auto drawn = DrawPictures({[&](const std::string& stem) {
                                    return absl::StrCat(ScreenTerminal(stem, 300, 200, ""),
                                                        "plot x\n", ColumnProgram(figure, stem));
                                  }},
                                  folder.File("a"));
  if (drawn.status().code() == absl::StatusCode::kFailedPrecondition)
    GTEST_SKIP() << drawn.status();
  ASSERT_TRUE(drawn.ok()) << drawn.status();
  ASSERT_THAT(*drawn, ElementsAre(folder.File("a-1")));
  ExpectPictures(drawn->front());
}

TEST(DrawPictures, SaysWhatGnuplotDidNotUnderstand) {
  const TestFolder folder;
  const auto drawn =
      DrawPictures({[](const std::string&) { return "set nothing\n"; }}, folder.File("a"));
  if (drawn.status().code() == absl::StatusCode::kFailedPrecondition)
    GTEST_SKIP() << drawn.status();
  EXPECT_EQ(drawn.status().code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(drawn.status().message()), HasSubstr("a-1.gp"));
}

// A gnuplot that writes nothing but this text into STEM.pdf.
std::string PdfWriter(const TestFolder& folder, const std::string& pdf) {
  std::string program = folder.File("gnuplot");
  EXPECT_EQ(WriteFileAtomically(
                program, absl::StrCat("#!/bin/sh\nprintf %s '", pdf, "' >\"${1%.gp}.pdf\"\n")),
            absl::OkStatus());
  EXPECT_EQ(chmod(program.c_str(), 0755), 0);
  return program;
}

TEST(DrawPictures, TakesThePlainDateOutOfAPdf) {
  const TestFolder folder;
  const std::string gnuplot =
      PdfWriter(folder, "%PDF-1.5 << /CreationDate (D:20261128062436Z) >> %%EOF");
  ::testing::internal::CaptureStderr();
  const auto drawn =
      DrawPictures({[](const std::string&) { return ""; }}, folder.File("a"), gnuplot);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  ASSERT_TRUE(drawn.ok()) << drawn.status();
  EXPECT_EQ(*ReadFile(folder.File("a-1.pdf")),
            "%PDF-1.5 << /CreationDate (D:19700101000000Z) >> %%EOF");
}

// cairo 1.18 compresses the date.
TEST(DrawPictures, SaysOnceThatAPdfHoldsTheTimeOfDrawing) {
  const TestFolder folder;
  const std::string pdf = "%PDF-1.7 << /Type /ObjStm >> %%EOF";
  const GnuplotPicture picture = [](const std::string&) { return ""; };
  ::testing::internal::CaptureStderr();
  const auto drawn = DrawPictures({picture, picture}, folder.File("a"), PdfWriter(folder, pdf));
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            absl::StrCat("note: ", folder.File("a-1.pdf"), " holds the time of drawing\n"));
  ASSERT_TRUE(drawn.ok()) << drawn.status();
  EXPECT_THAT(*drawn, ElementsAre(folder.File("a-1"), folder.File("a-2")));
  for (const std::string& stem : *drawn) EXPECT_EQ(*ReadFile(stem + ".pdf"), pdf);
}

TEST(PictureFiles, NamesAllFormats) { EXPECT_EQ(PictureFiles("a-1"), "a-1.svg, .pdf and .png"); }

}  // namespace
}  // namespace lra
