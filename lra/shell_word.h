// Words of POSIX shell commands.
#ifndef LRA_LRA_SHELL_WORD_H_
#define LRA_LRA_SHELL_WORD_H_

#include <string>

#include "absl/strings/string_view.h"

namespace lra {

// The text in single quotes.
std::string QuotedShellWord(absl::string_view text);

// The text as it stands if the shell takes it for one plain word, else in quotes.
std::string ShellWord(absl::string_view text);

}  // namespace lra

#endif  // LRA_LRA_SHELL_WORD_H_
