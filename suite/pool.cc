#include "suite/pool.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <limits>
#include <mutex>
#include <optional>
#include <sstream>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "eval/machine.h"
#include "lra/excerpt.h"
#include "lra/files.h"
#include "lra/progress.h"
#include "lra/status_macros.h"
#include "run_folder/run_claim.h"
#include "suite/memory_kills.h"
#include "suite/times.h"

namespace lra {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kRetry{200};
constexpr int64_t kLogTailBytes = 1 << 16;
constexpr double kNever = std::numeric_limits<double>::infinity();

int64_t SizeOf(const std::string& path) { return FileSizeBytes(path).value_or(0); }

// What a run says as it begins, which is not why it was killed later.
bool IsRemark(absl::string_view line) {
  return absl::StartsWith(line, "warning: ") || absl::StartsWith(line, "note: ");
}

// The last line that was written behind `begin`, of the last 64 kB; of a process that a signal
// ended, the last that is no remark.
std::string LastWords(const std::string& log, int64_t begin, bool was_killed) {
  std::ifstream file(log, std::ios::binary);
  file.seekg(std::max(begin, SizeOf(log) - kLogTailBytes));
  std::ostringstream text;
  text << file.rdbuf();
  const std::string written = text.str();
  absl::string_view rest = written;
  std::string last = LastLine(rest);
  while (was_killed && IsRemark(last)) {
    rest = rest.substr(0, rest.rfind(last));
    last = LastLine(rest);
  }
  return last;
}

struct Queued {
  const SuiteCell* cell = nullptr;
  double seconds_left = 0;
};

class Pool {
 public:
  Pool(const std::vector<SuiteCell>& cells, const PoolOptions& options)
      : options_(options),
        processes_(options.workers, options.deadline, options.pinning),
        queue_(Left(cells, options)),
        ended_(static_cast<int64_t>(cells.size() - queue_.size())),
        progress_({.label = "suite",
                   .unit = "runs",
                   .total = static_cast<int64_t>(cells.size()),
                   .start = ended_,
                   .quiet = options.is_quiet}) {}

  absl::Status Run() {
    const absl::Status status = processes_.Run([this](int worker) { return Work(worker); });
    if (status.ok()) progress_.Finish();
    return status;
  }

 private:
  // What is to be trained, and what others train now.
  static std::vector<Queued> Left(const std::vector<SuiteCell>& cells, const PoolOptions& options) {
    std::vector<Queued> left;
    for (size_t i = 0; i < cells.size(); ++i) {
      const CellStatus status = ReadCellStatus(options.out, cells[i]);
      if (IsLeft(status, options.retries_failed) || status.state == CellState::kRunning)
        left.push_back({&cells[i], options.seconds_left.empty() ? 0 : options.seconds_left[i]});
    }
    return left;
  }

  using Cells = std::vector<const SuiteCell*>;

  absl::Status Work(int worker) {
    for (Cells cells = Next(); !cells.empty(); cells = Next()) {
      LRA_ASSIGN_OR_RETURN(const Cells left, Handle(cells, worker));
      if (left.empty()) continue;
      // The worker of a killed suite saves, or another suite's trains: its turn comes again, after
      // all others.
      std::this_thread::sleep_for(kRetry);
      std::lock_guard<std::mutex> lock(mutex_);
      for (const SuiteCell* cell : left) queue_.push_back({cell, kNever});
    }
    return absl::OkStatus();
  }

  // The next run, and others of its cell that are trained with it, which take the sum of their
  // times.
  Cells Next() {
    const double seconds = options_.deadline ? Seconds(*options_.deadline - Clock::now()) : kNever;
    if (processes_.is_stopping()) return {};
    std::lock_guard<std::mutex> lock(mutex_);
    if (queue_.empty()) return {};
    auto next = std::find_if(queue_.begin(), queue_.end(),
                             [&](const Queued& one) { return one.seconds_left <= seconds; });
    if (next == queue_.end()) {
      next = std::min_element(queue_.begin(), queue_.end(), [](const Queued& a, const Queued& b) {
        return a.seconds_left < b.seconds_left;
      });
    }
    const Queued first = *next;
    queue_.erase(next);
    return WithOthers(first, seconds);
  }

  // Takes them from the queue, of which mutex_ is held; all of them end in so many seconds, or of
  // none it is known when it would (kNever).
  Cells WithOthers(const Queued& first, double seconds) {
    Cells cells = {first.cell};
    double sum = first.seconds_left;
    for (auto other = queue_.begin(); other != queue_.end();) {
      const bool joins = static_cast<int>(cells.size()) < options_.at_once &&
                         CellName(*other->cell) == CellName(*first.cell) &&
                         // Encoders that are a seed's own are settings, and one command has one.
                         other->cell->choice.sets == first.cell->choice.sets &&
                         (sum + other->seconds_left <= seconds ||
                          (first.seconds_left == kNever && other->seconds_left == kNever));
      if (joins) {
        cells.push_back(other->cell);
        sum += other->seconds_left;
      }
      other = joins ? queue_.erase(other) : other + 1;
    }
    return cells;
  }

  static double Seconds(Clock::duration duration) {
    return std::chrono::duration<double>(duration).count();
  }

  // The runs to which this suite must come back.
  absl::StatusOr<Cells> Handle(const Cells& cells, int worker) {
    Cells others, ended;
    std::vector<Begun> begun;
    for (const SuiteCell* cell : cells) {
      const CellStatus status = ReadCellStatus(options_.out, *cell);
      if (status.state == CellState::kRunning) {
        others.push_back(cell);
      } else if (IsLeft(status, options_.retries_failed)) {
        begun.push_back({cell, status});
      } else {
        ended.push_back(cell);
      }
    }
    if (!begun.empty()) {
      const absl::StatusOr<bool> is_done = Train(begun, worker);
      if (absl::IsCancelled(is_done.status())) return Cells();
      LRA_RETURN_IF_ERROR(is_done.status());
      for (const Begun& one : begun) (*is_done ? ended : others).push_back(one.cell);
    }
    for (const SuiteCell* cell : ended) {
      if (IsLeft(ReadCellStatus(options_.out, *cell), false)) continue;
      std::lock_guard<std::mutex> lock(mutex_);
      progress_.Update(++ended_, cell->name);
    }
    return others;
  }

  struct Begun {
    const SuiteCell* cell;
    CellStatus before;
  };

  // False where a run is in use. The process writes into the log of the first run.
  absl::StatusOr<bool> Train(const std::vector<Begun>& begun, int worker) {
    const std::string log = LogPath(options_.out, *begun[0].cell);
    const int64_t log_begin = SizeOf(log);
    Cells cells;
    for (const Begun& one : begun) cells.push_back(one.cell);
    const int64_t kills = MemoryKills(options_.system_root);
    LRA_ASSIGN_OR_RETURN(
        const Processes::End end,
        processes_.RunProcess(worker, {.words = options_.command(cells, worker), .log = log}));
    if (end.signal == 0 && end.exit_code == kInUseExitCode) return false;
    // What was counted may be another worker's process; that somebody killed this one during the
    // same hours is rare.
    const bool lacked_memory = end.signal == SIGKILL && MemoryKills(options_.system_root) > kills;
    const SuiteFailure failure =
        FailureOf(end, LastWords(log, log_begin, end.signal != 0), lacked_memory);
    const SuiteTime took = ShareOf(end, begun.size());
    for (const Begun& one : begun) {
      const CellStatus after = ReadCellStatus(options_.out, *one.cell);
      LRA_RETURN_IF_ERROR(AddTime(options_.out, *one.cell, one.before, after, took));
      LRA_RETURN_IF_ERROR(RemoveFailure(options_.out, *one.cell));
      if (!end.was_stopped && IsLeft(ReadCellStatus(options_.out, *one.cell), false))
        LRA_RETURN_IF_ERROR(WriteFailure(options_.out, *one.cell, failure));
    }
    return true;
  }

  // What each of the runs took of a process that trained so many.
  SuiteTime ShareOf(const Processes::End& end, size_t runs) const {
    SuiteTime took;
    took.set_wall_seconds(end.wall_seconds / static_cast<double>(runs));
    took.set_cpu_seconds(end.cpu_seconds / static_cast<double>(runs));
    took.set_peak_memory_bytes(end.peak_memory_bytes / static_cast<int64_t>(runs));
    took.set_runs_at_once(static_cast<int32_t>(runs));
    took.set_device(options_.device);
    return took;
  }

  static SuiteFailure FailureOf(const Processes::End& end, const std::string& words,
                                bool lacked_memory) {
    SuiteFailure failure;
    failure.set_exit_code(end.exit_code);
    failure.set_signal(end.signal);
    failure.set_message(words);
    failure.set_unix_seconds(UnixSeconds());
    failure.set_lacked_memory(lacked_memory);
    if (lacked_memory) failure.set_memory_bytes(JobMemoryBytes());
    return failure;
  }

  const PoolOptions& options_;
  Processes processes_;
  std::mutex mutex_;
  // Guarded by mutex_.
  std::vector<Queued> queue_;
  int64_t ended_;
  Progress progress_;
};

}  // namespace

std::vector<std::string> TrainManyCommand(const std::string& program, const std::string& out,
                                          const std::vector<const SuiteCell*>& cells, int threads,
                                          const std::vector<std::string>& flags) {
  const SuiteCell& first = *cells.front();
  if (cells.size() == 1)
    return TrainCommand(program, RunDirectory(out, first), first, threads, flags);
  // `train` adds the seeds to the folder's name.
  std::vector<std::string> words =
      TrainCommand(program, JoinPath(out, CellName(first)), first, threads, flags);
  std::vector<uint32_t> seeds;
  for (const SuiteCell* cell : cells) seeds.push_back(cell->seed);
  std::sort(seeds.begin(), seeds.end());  // ParseSeeds() wants them so
  *(std::find(words.begin(), words.end(), "--seeds") + 1) = absl::StrJoin(seeds, ",");
  words.insert(words.end(), {"--at-once", absl::StrCat(cells.size())});
  return words;
}

std::vector<std::string> TrainCommand(const std::string& program, const std::string& run_directory,
                                      const SuiteCell& cell, int threads,
                                      const std::vector<std::string>& flags) {
  std::vector<std::string> words = {program,          "train",       "--task",
                                    cell.choice.task, "--attention", cell.choice.attention};
  const auto add = [&](const char* flag, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {flag, value});
  };
  add("--protocol", cell.choice.protocol);
  add("--preset", cell.choice.preset);
  add("--config", cell.choice.run_file);
  for (const std::string& set : cell.choice.sets) add("--set", set);
  add("--init-from", cell.init_from);
  add("--seeds", absl::StrCat(cell.seed));
  add("--out", run_directory);
  add("--threads", absl::StrCat(threads));
  words.insert(words.end(), flags.begin(), flags.end());
  words.insert(words.end(), {"--resume", "--quiet"});
  return words;
}

absl::Status RunCells(const std::vector<SuiteCell>& cells, const PoolOptions& options) {
  const absl::Status status = Pool(cells, options).Run();
  ForgetStop();
  return status;
}

}  // namespace lra
