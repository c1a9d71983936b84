#include "lra/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lra/seconds.h"
#include "lra/text_columns.h"

namespace lra {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kTerminalSeconds = 0.1;
constexpr double kPlainSeconds = 10;
constexpr int kBarWidth = 20;
// Narrower terminals have no bar, so that what is being measured is not cut off.
constexpr size_t kBarColumns = 120;

// A bar redraws its line; log files and dumb terminals cannot do that.
bool CanRedraw() {
  const char* terminal = std::getenv("TERM");
  return isatty(STDERR_FILENO) && terminal != nullptr && std::strcmp(terminal, "dumb") != 0;
}

bool WantsColor() {
  const char* no_color = std::getenv("NO_COLOR");
  return no_color == nullptr || *no_color == '\0';
}

size_t TerminalColumns() {
  winsize size{};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

std::string Bar(double fraction) {
  const int filled = std::clamp(static_cast<int>(fraction * kBarWidth), 0, kBarWidth);
  return absl::StrCat("[", std::string(filled, '#'), std::string(kBarWidth - filled, '.'), "] ");
}

}  // namespace

Progress::Progress(ProgressOptions options)
    : options_(std::move(options)),
      is_terminal_(CanRedraw()),
      done_(options_.start),
      begin_(Clock::now()),
      drawn_(begin_) {}

Progress::~Progress() {
  // The work failed: end the bar's line without claiming that it is done.
  if (!finished_ && is_terminal_ && !options_.quiet) std::fprintf(stderr, "\n");
}

void Progress::Update(int64_t done, absl::string_view detail, int64_t second_done) {
  done_ = done;
  second_done_ = second_done;
  if (options_.quiet || finished_) return;
  detail_ = std::string(detail);
  if (!is_estimate_ && options_.total > 0 && done >= options_.total) return;
  if (SecondsSince(drawn_) < (is_terminal_ ? kTerminalSeconds : kPlainSeconds)) return;
  Draw(detail_, /*last=*/false);
}

void Progress::EstimateTotal(int64_t total) {
  options_.total = total;
  is_estimate_ = true;
}

void Progress::Finish() {
  if (finished_) return;
  if (is_estimate_) options_.total = 0;
  finished_ = true;
  if (!options_.quiet) Draw(detail_, /*last=*/true);
}

void Progress::Draw(absl::string_view detail, bool last) {
  drawn_ = Clock::now();
  const double seconds = SecondsSince(begin_);
  const double rate = seconds > 0 ? static_cast<double>(done_ - options_.start) / seconds : 0;
  std::string line = absl::StrCat(options_.label, "  ");
  if (options_.total > 0) {
    const double fraction = static_cast<double>(done_) / static_cast<double>(options_.total);
    if (is_terminal_ && !last && TerminalColumns() >= kBarColumns)
      absl::StrAppend(&line, Bar(fraction));
    absl::StrAppend(&line, FormatCount(done_), "/", is_estimate_ ? "~" : "",
                    FormatCount(options_.total), " ");
  } else {
    absl::StrAppend(&line, FormatCount(done_), " ");
  }
  absl::StrAppend(&line, options_.unit);
  if (last) {
    absl::StrAppend(&line, "  in ", FormatSeconds(seconds));
  } else if (rate > 0 && options_.total > done_) {
    absl::StrAppend(&line, "  ETA ",
                    FormatSeconds(static_cast<double>(options_.total - done_) / rate));
  }
  if (!detail.empty()) absl::StrAppend(&line, "  ", detail);
  // Rates come last: a narrow terminal cuts them off first.
  if (rate > 0) absl::StrAppendFormat(&line, "  %.3g/s", rate);
  if (rate > 0 && !options_.second_unit.empty()) {
    absl::StrAppend(&line, "  ",
                    FormatCount(std::llround(static_cast<double>(second_done_) / seconds)), " ",
                    options_.second_unit, "/s");
  }
  if (!is_terminal_) {
    std::fprintf(stderr, "%s\n", line.c_str());
    return;
  }
  // A line that wraps cannot be redrawn, so it is cut.
  if (!last) line.resize(EndOfCharacters(line, TerminalColumns() - 1));
  const bool color = WantsColor() && line.size() > options_.label.size();
  if (color)
    line = absl::StrCat("\033[1m", options_.label, "\033[0m", line.substr(options_.label.size()));
  std::fprintf(stderr, "\r\033[K%s%s", line.c_str(), last ? "\n" : "");
  std::fflush(stderr);
}

std::string FormatSeconds(double seconds) {
  if (!(seconds >= 0)) return "?";
  if (seconds < 59.95) return absl::StrFormat("%.1f s", seconds);
  const int64_t whole = std::llround(seconds);
  if (whole < 3600) return absl::StrFormat("%d min %02d s", whole / 60, whole % 60);
  const int64_t minutes = std::llround(seconds / 60);
  if (minutes < 48 * 60) return absl::StrFormat("%d h %02d min", minutes / 60, minutes % 60);
  const int64_t hours = std::llround(seconds / 3600);
  return absl::StrFormat("%d d %02d h", hours / 24, hours % 24);
}

std::string FormatBytes(int64_t bytes) {
  if (bytes < 1000) return absl::StrCat(bytes, " B");
  double value = static_cast<double>(bytes);
  for (const char* unit : {"kB", "MB", "GB", "TB"}) {
    value /= 1000;
    // Without the limit, 999.5 would print as 1000.
    if (value < 9.95) return absl::StrFormat("%.1f %s", value, unit);
    if (value < 999.5) return absl::StrFormat("%.0f %s", value, unit);
  }
  return absl::StrFormat("%.0f PB", value / 1000);
}

std::string FormatCount(int64_t count) {
  std::string digits = absl::StrCat(count);
  const size_t first = count < 0 ? 1 : 0;
  for (size_t i = digits.size(); i > first + 3; i -= 3) digits.insert(i - 3, 1, ',');
  return digits;
}

}  // namespace lra
