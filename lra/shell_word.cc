#include "lra/shell_word.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace lra {

std::string QuotedShellWord(absl::string_view text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

std::string ShellWord(absl::string_view text) {
  constexpr absl::string_view kPlain = "_./:=@%+,-";
  const bool is_plain = !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
           kPlain.find(c) != absl::string_view::npos;
  });
  return is_plain ? std::string(text) : QuotedShellWord(text);
}

}  // namespace lra
