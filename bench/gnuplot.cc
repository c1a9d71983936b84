#include "bench/gnuplot.h"

#include <cmath>
#include <iostream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "lra/child.h"
#include "lra/excerpt.h"
#include "lra/files.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

absl::Status Draw(const std::string& gnuplot, const std::string& program) {
  // In another zone the date in a PDF has another length (RemoveDate).
  const absl::StatusOr<ChildOutcome> child = RunChild({{gnuplot, program}, {{"TZ", "UTC0"}}});
  if (!child.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat("no figure: ", child.status().message(),
                     "; install gnuplot (Debian: gnuplot-nox) and run: gnuplot ", program));
  }
  if (child->exit_code == 0 && child->signal == 0) return absl::OkStatus();
  const std::string message = absl::StrCat("gnuplot ", program, ": ", LastLine(child->errors));
  if (!absl::StrContains(child->errors, "terminal type")) return absl::InternalError(message);
  return absl::FailedPreconditionError(absl::StrCat(
      message, ": it must have the terminals svg, pdfcairo and pngcairo (Debian: gnuplot-nox)"));
}

// The time of drawing, which cairo writes into the file, becomes that of no day. False, with the
// file as it was, where there is no plain date: cairo 1.18 compresses it.
absl::StatusOr<bool> RemoveDate(const std::string& path) {
  LRA_ASSIGN_OR_RETURN(std::string pdf, ReadFile(path));
  const std::string date = "/CreationDate (D:", no_date = "19700101000000Z";
  const size_t at = pdf.find(date);
  const size_t begin = at + date.size();
  // The length stays, because the file says where its parts begin.
  if (at == std::string::npos || pdf.find(')', begin) != begin + no_date.size()) return false;
  pdf.replace(begin, no_date.size(), no_date);
  LRA_RETURN_IF_ERROR(WriteFileAtomically(path, pdf));
  return true;
}

constexpr double kPdfFontScale = 0.75;  // by itself it is a half, and 8 points are 5.3
constexpr int kPngScale = 4;  // 288 dots an inch; its 6 points are 8, as gnuplot thinks of 96

}  // namespace

const char kFigureLineTypes[] =
    "set linetype 1 lc rgb '#0072b2' dt 1 pt 7 lw 1.5\n"
    "set linetype 2 lc rgb '#d55e00' dt 2 pt 5 lw 1.5\n"
    "set linetype 3 lc rgb '#009e73' dt 3 pt 9 lw 1.5\n"
    "set linetype 4 lc rgb '#cc79a7' dt 4 pt 11 lw 1.5\n"
    "set linetype 5 lc rgb '#56b4e9' dt 5 pt 13 lw 1.5\n"
    "set linetype 6 lc rgb '#e69f00' dt 1 pt 6 lw 1.5\n"
    "set linetype 7 lc rgb '#000000' dt 2 pt 4 lw 1.5\n"
    "set linetype 8 lc rgb '#0072b2' dt 3 pt 8 lw 1.5\n"
    "set linetype 9 lc rgb '#d55e00' dt 4 pt 10 lw 1.5\n"
    "set linetype 10 lc rgb '#009e73' dt 5 pt 12 lw 1.5\n"
    "set linetype 11 lc rgb '#cc79a7' dt 1 pt 1 lw 1.5\n"
    "set linetype 12 lc rgb '#56b4e9' dt 2 pt 2 lw 1.5\n"
    "set linetype 13 lc rgb '#e69f00' dt 3 pt 3 lw 1.5\n"
    "set linetype 14 lc rgb '#000000' dt 4 pt 14 lw 1.5\n"
    "set linetype cycle 14\n";

std::string GnuplotText(const std::string& text) {
  return absl::StrCat("'",
                      absl::StrReplaceAll(text, {{"'", "''"},
                                                 {"\n", " "},
                                                 {"\\", "\\\\"},
                                                 {"_", "\\_"},
                                                 {"^", "\\^"},
                                                 {"{", "\\{"},
                                                 {"}", "\\}"},
                                                 {"@", "\\@"},
                                                 {"&", "\\&"}}),
                      "'");
}

std::string PlainQuoted(const std::string& text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "''"}, {"\n", " "}}), "'");
}

std::string TickDistance(double low, double high) {
  const double least = (high - low) / 5;
  if (!(least > 0)) return "autofreq";
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double multiple : {1, 2, 5}) {
    if (multiple * power >= least) return absl::StrFormat("%g", multiple * power);
  }
  return absl::StrFormat("%g", 10 * power);
}

std::string ScreenTerminal(const std::string& stem, int width, int height,
                           const std::string& options) {
  return absl::StrCat("set terminal svg size ", width, ",", height, " dynamic",
                      options.empty() ? "" : " ", options, "\nset output ",
                      PlainQuoted(stem + ".svg"), "\n");
}

std::string ColumnTerminal(PictureFormat format, const std::string& stem, int height_points) {
  switch (format) {
    case PictureFormat::kSvg:
      return absl::StrFormat(
          "set terminal svg size %d,%d noenhanced font 'sans,8' background 'white'\n"
          "set output %s\n",
          kColumnPoints, height_points, PlainQuoted(stem + ".svg"));
    case PictureFormat::kPdf:
      return absl::StrFormat(
          "set terminal pdfcairo size %gin,%gin noenhanced font 'sans,8' fontscale %g\n"
          "set output %s\n",
          kColumnPoints / 72.0, height_points / 72.0, kPdfFontScale, PlainQuoted(stem + ".pdf"));
    case PictureFormat::kPng:
      return absl::StrFormat(
          "set terminal pngcairo size %d,%d noenhanced font 'sans,6' fontscale %d linewidth %d "
          "pointscale %d\nset output %s\n",
          kPngScale * kColumnPoints, kPngScale * height_points, kPngScale, kPngScale, kPngScale,
          PlainQuoted(stem + ".png"));
  }
  return "";
}

const char kColumnStyle[] =
    "set border 3\nset tics nomirror out scale 0.5\nset grid back lc rgb '#d0d0d0' dt 3\n";

absl::StatusOr<std::vector<std::string>> DrawPictures(const std::vector<GnuplotPicture>& pictures,
                                                      const std::string& prefix,
                                                      const std::string& gnuplot) {
  std::vector<std::string> stems;
  for (const GnuplotPicture& picture : pictures) {
    const std::string stem = absl::StrCat(prefix, "-", stems.size() + 1);
    stems.push_back(stem);
    LRA_RETURN_IF_ERROR(WriteFileAtomically(stem + ".gp", picture(stem)));
  }
  bool has_told = false;
  for (const std::string& stem : stems) {
    LRA_RETURN_IF_ERROR(Draw(gnuplot, stem + ".gp"));
    LRA_ASSIGN_OR_RETURN(const bool is_dateless, RemoveDate(stem + ".pdf"));
    if (is_dateless || has_told) continue;
    std::cerr << "note: " << stem << ".pdf holds the time of drawing\n";
    has_told = true;
  }
  return stems;
}

std::string PictureFiles(const std::string& stem) { return stem + ".svg, .pdf and .png"; }

}  // namespace lra
