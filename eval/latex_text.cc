#include "eval/latex_text.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/str_replace.h"

namespace lra {
namespace {

// A longer word, such as a digest, is wider than a column of a page that has two.
constexpr size_t kWordChars = 32, kPieceChars = 16;
constexpr char kBreak = '\x01';

std::string WithBreaksInLongWords(absl::string_view text) {
  std::string broken;
  while (!text.empty()) {
    const size_t word =
        std::find_if_not(text.begin(), text.end(), absl::ascii_isalnum) - text.begin();
    for (size_t i = 0; i < word; ++i) {
      if (word > kWordChars && i > 0 && i % kPieceChars == 0) broken += kBreak;
      broken += text[i];
    }
    if (word < text.size()) broken += text[word];
    text.remove_prefix(std::min(word + 1, text.size()));
  }
  return broken;
}

}  // namespace

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
  return absl::StrReplaceAll(EscapeLatex(WithBreaksInLongWords(text)),
                             {{std::string(1, kBreak), "\\allowbreak{}"},
                              {"\\_", "\\_\\allowbreak{}"},
                              {"/", "/\\allowbreak{}"},
                              {". ", ". "},
                              {".", ".\\allowbreak{}"}});
}

}  // namespace lra
