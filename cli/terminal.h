// Pictures that are drawn again and again on a terminal.
#ifndef LRA_CLI_TERMINAL_H_
#define LRA_CLI_TERMINAL_H_

#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace CLI {
class App;
}

namespace lra {

int TerminalColumns();

// By the locale's variables in their order of precedence; NO_COLOR asks for plain output.
bool WantsUnicode();

struct FollowFlags {
  bool once = false;
  double every_seconds = 2;
};

void AddEvery(CLI::App* command, FollowFlags* flags);

// Whether standard output is a terminal on which a picture is to be drawn again.
bool IsFollowed(const FollowFlags& flags);

// Draws until `draw` says that there is nothing more to come, each time over the picture before;
// where nothing is followed, once.
absl::Status Follow(const FollowFlags& flags, const std::function<absl::StatusOr<bool>()>& draw);

}  // namespace lra

#endif  // LRA_CLI_TERMINAL_H_
