// Progress on standard error: a bar that redraws itself on a terminal, plain lines every few
// seconds otherwise, nothing when quiet. Results never go through here.
//
//   Progress progress({.label = "train linear", .unit = "steps", .total = 150, .quiet = false});
//   progress.Update(step, "loss 2.01  accuracy 0.24");
//   progress.Finish();
#ifndef LRA_PROGRESS_H_
#define LRA_PROGRESS_H_

#include <chrono>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace lra {

struct ProgressOptions {
  std::string label;
  // "examples", "steps": shown with the rate.
  std::string unit;
  // 0 = unknown.
  int64_t total = 0;
  // Already done before this process (a resumed run): not counted in the rate.
  int64_t start = 0;
  bool quiet = false;
  // "tokens": what else is counted, shown as a rate of its own; empty = nothing.
  std::string second_unit;
};

class Progress {
 public:
  explicit Progress(ProgressOptions options);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Cheap: draws at most 10 times a second on a terminal, every 10 s otherwise.
  // second_done: of second_unit, in this process. At the end nothing is drawn: Finish() does.
  void Update(int64_t done, absl::string_view detail = "", int64_t second_done = 0);
  // A total that is only guessed at while the work goes on (from how much of an archive was read);
  // it is shown with "~" and gives the ETA. 0 = unknown.
  void EstimateTotal(int64_t total);
  // Final line with the total time. Without it nothing is claimed: the work failed.
  void Finish();

 private:
  friend class ProgressTestPeer;
  void Draw(absl::string_view detail, bool last);
  ProgressOptions options_;
  bool is_terminal_;
  bool is_estimate_ = false;
  bool finished_ = false;
  int64_t done_ = 0, second_done_ = 0;
  std::string detail_;
  std::chrono::steady_clock::time_point begin_, drawn_;
};

// "1 h 02 min", "3 min 20 s", "4.2 s"; "1.2 GB", "340 kB" (decimal units).
std::string FormatSeconds(double seconds);
std::string FormatBytes(int64_t bytes);
// 1234567 -> "1,234,567".
std::string FormatCount(int64_t count);

}  // namespace lra

#endif  // LRA_PROGRESS_H_
