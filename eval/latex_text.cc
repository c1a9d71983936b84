#include "eval/latex_text.h"

#include "absl/strings/str_replace.h"

namespace lra {

std::string EscapeLatex(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"\\", "\\textbackslash{}"},
                                    {"&", "\\&"},
                                    {"%", "\\%"},
                                    {"$", "\\$"},
                                    {"#", "\\#"},
                                    {"_", "\\_"},
                                    {"{", "\\{"},
                                    {"}", "\\}"},
                                    {"~", "\\textasciitilde{}"},
                                    {"^", "\\textasciicircum{}"},
                                    {"<", "\\textless{}"},
                                    {">", "\\textgreater{}"}});
}

std::string BreakableLatex(absl::string_view text) {
  return absl::StrReplaceAll(EscapeLatex(text), {{"\\_", "\\_\\allowbreak{}"},
                                                 {"/", "/\\allowbreak{}"},
                                                 {". ", ". "},
                                                 {".", ".\\allowbreak{}"}});
}

}  // namespace lra
