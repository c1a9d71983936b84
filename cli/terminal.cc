#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>

#include "absl/strings/match.h"
#include "cli/flags.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

int TerminalColumns() {
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

bool WantsUnicode() {
  if (!Environment("NO_COLOR").empty()) return false;
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string value = Environment(name);
    if (value.empty()) continue;
    return absl::EndsWithIgnoreCase(value, "UTF-8") || absl::EndsWithIgnoreCase(value, "UTF8");
  }
  return false;
}

void AddEvery(CLI::App* command, FollowFlags* flags) {
  AddOption(command, "--every", &flags->every_seconds, "Seconds between two drawings",
            {.shows_default = true, .allowed = FlagRules::kRange, .least = 0.1, .largest = 3600});
}

bool IsFollowed(const FollowFlags& flags) { return !flags.once && isatty(STDOUT_FILENO); }

absl::Status Follow(const FollowFlags& flags, const std::function<absl::StatusOr<bool>()>& draw) {
  const bool follows = IsFollowed(flags);
  while (true) {
    if (follows) std::cout << "\033[H\033[2J";  // the picture before this one
    LRA_ASSIGN_OR_RETURN(const bool goes_on, draw());
    std::cout << std::flush;
    if (!follows || !goes_on) return absl::OkStatus();
    std::this_thread::sleep_for(std::chrono::duration<double>(flags.every_seconds));
  }
}

}  // namespace lra
