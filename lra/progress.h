// Progress on standard error: a bar that redraws itself on a terminal, otherwise a plain line every
// few seconds, and nothing if quiet. Results are never printed here.
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
  // The unit counted, "examples" or "steps"; it is shown with the rate.
  std::string unit;
  // 0 = unknown.
  int64_t total = 0;
  // How much was done before this process started (a resumed run); it does not count in the rate.
  int64_t start = 0;
  bool quiet = false;
  // A second unit to count, e.g. "tokens", shown with a rate of its own; empty = none.
  std::string second_unit;
};

class Progress {
 public:
  explicit Progress(ProgressOptions options);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Cheap to call: it draws at most 10 times a second on a terminal, and every 10 s otherwise.
  // `second_done` counts second_unit in this process. The last update is left to Finish().
  void Update(int64_t done, absl::string_view detail = "", int64_t second_done = 0);
  // Sets a total that is an estimate while the work goes on, e.g. from how much of an archive was
  // read. It is shown with "~" and used for the remaining time. 0 = unknown.
  void EstimateTotal(int64_t total);
  // Prints the final line with the total time. It is not called when the work failed.
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

// FormatSeconds gives "1 h 02 min", "3 min 20 s", "4.2 s"; FormatBytes gives "1.2 GB", "340 kB"
// (decimal units).
std::string FormatSeconds(double seconds);
std::string FormatBytes(int64_t bytes);
// Groups digits: 1234567 becomes "1,234,567".
std::string FormatCount(int64_t count);

}  // namespace lra

#endif  // LRA_PROGRESS_H_
