// Text in LaTeX.
#ifndef LRA_EVAL_LATEX_TEXT_H_
#define LRA_EVAL_LATEX_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"

namespace lra {

// No character of the text is taken for a command.
std::string EscapeLatex(absl::string_view text);

// The same; names of files and fields may break at their underscores, slashes and dots, and words
// of more than 32 letters and digits behind every 16.
std::string BreakableLatex(absl::string_view text);

}  // namespace lra

#endif  // LRA_EVAL_LATEX_TEXT_H_
