#include "bench/gnuplot.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "lra/child.h"
#include "lra/excerpt.h"
#include "lra/files.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

absl::Status Draw(const std::string& gnuplot, const std::string& program) {
  const absl::StatusOr<ChildOutcome> child = RunChild({{gnuplot, program}, {}});
  if (!child.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat("no figure: ", child.status().message(),
                     "; install gnuplot (Debian: gnuplot-nox) and run: gnuplot ", program));
  }
  if (child->exit_code == 0 && child->signal == 0) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("gnuplot ", program, ": ", LastLine(child->errors)));
}

}  // namespace

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

absl::StatusOr<std::vector<std::string>> DrawPictures(const std::vector<GnuplotPicture>& pictures,
                                                      const std::string& prefix,
                                                      const std::string& gnuplot) {
  std::vector<std::string> names, programs;
  for (const GnuplotPicture& picture : pictures) {
    const std::string name = absl::StrCat(prefix, "-", programs.size() + 1);
    names.push_back(name + ".svg");
    programs.push_back(name + ".gp");
    LRA_RETURN_IF_ERROR(WriteFileAtomically(programs.back(), picture(names.back())));
  }
  for (const std::string& program : programs) LRA_RETURN_IF_ERROR(Draw(gnuplot, program));
  return names;
}

}  // namespace lra
