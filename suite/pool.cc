#include "suite/pool.h"

#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <fstream>
#include <mutex>
#include <set>
#include <sstream>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "eval/machine.h"
#include "lra/excerpt.h"
#include "lra/files.h"
#include "lra/progress.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

constexpr std::chrono::milliseconds kPoll{50};
constexpr std::chrono::milliseconds kRetry{200};
constexpr int64_t kLogTailBytes = 1 << 16;

std::atomic<bool> stop_was_asked{false};

std::vector<int> AllowedCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
  return cores;
}

int64_t SizeOf(const std::string& path) { return FileSizeBytes(path).value_or(0); }

// The last line that was written behind `begin`, of the last 64 kB.
std::string LastWords(const std::string& log, int64_t begin) {
  std::ifstream file(log, std::ios::binary);
  file.seekg(std::max(begin, SizeOf(log) - kLogTailBytes));
  std::ostringstream text;
  text << file.rdbuf();
  return LastLine(text.str());
}

class Pool {
 public:
  Pool(const std::vector<SuiteCell>& cells, const PoolOptions& options)
      : options_(options),
        cores_(CoresOfWorkers(options.workers, options.threads, AllowedCores())),
        queue_(Left(cells, options)),
        ended_(static_cast<int64_t>(cells.size() - queue_.size())),
        progress_({.label = "suite",
                   .unit = "runs",
                   .total = static_cast<int64_t>(cells.size()),
                   .start = ended_,
                   .quiet = options.is_quiet}) {}

  absl::Status Run() {
    std::vector<std::thread> threads;
    working_ = options_.workers;
    for (int w = 0; w < options_.workers; ++w) threads.emplace_back([this, w] { Work(w); });
    Supervise();
    for (std::thread& thread : threads) thread.join();
    if (error_.ok()) progress_.Finish();
    return error_;
  }

 private:
  // What is to be trained, and what others train now.
  static std::deque<const SuiteCell*> Left(const std::vector<SuiteCell>& cells,
                                           const PoolOptions& options) {
    std::deque<const SuiteCell*> left;
    for (const SuiteCell& cell : cells) {
      const CellStatus status = ReadCellStatus(options.out, cell);
      if (IsLeft(status, options.retries_failed) || status.state == CellState::kRunning)
        left.push_back(&cell);
    }
    return left;
  }

  // Waits until all workers have ended; when time is up or somebody asks, tells them to.
  void Supervise() {
    const auto begin = std::chrono::steady_clock::now();
    std::unique_lock<std::mutex> lock(mutex_);
    while (working_ > 0) {
      done_.wait_for(lock, kPoll);
      const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
      const bool is_late = options_.budget_seconds > 0 && taken.count() >= options_.budget_seconds;
      if ((is_late || stop_was_asked || !error_.ok()) && !is_stopping_) {
        is_stopping_ = true;
        for (const pid_t worker : processes_) kill(-worker, SIGTERM);
      }
    }
  }

  void Work(int worker) {
    while (const SuiteCell* cell = Next()) {
      const CellStatus status = ReadCellStatus(options_.out, *cell);
      absl::Status trained;
      if (status.state == CellState::kRunning) {
        // The worker of a killed suite saves, or another suite's trains: its turn comes again.
        std::this_thread::sleep_for(kRetry);
        std::lock_guard<std::mutex> lock(mutex_);
        queue_.push_back(cell);
        continue;
      }
      if (IsLeft(status, options_.retries_failed)) trained = Train(*cell, worker);
      const bool has_ended = !IsLeft(ReadCellStatus(options_.out, *cell), false);
      std::lock_guard<std::mutex> lock(mutex_);
      error_.Update(trained);
      if (has_ended) progress_.Update(++ended_, cell->name);
    }
    std::lock_guard<std::mutex> lock(mutex_);
    --working_;
    done_.notify_all();
  }

  const SuiteCell* Next() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (is_stopping_ || queue_.empty()) return nullptr;
    const SuiteCell* cell = queue_.front();
    queue_.pop_front();
    return cell;
  }

  absl::Status Train(const SuiteCell& cell, int worker) {
    const std::string log = LogPath(options_.out, cell);
    const int64_t log_begin = SizeOf(log);
    pid_t process = 0;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (is_stopping_) return absl::OkStatus();
      LRA_ASSIGN_OR_RETURN(
          process, StartWorker({options_.command(cell), log, cores_[static_cast<size_t>(worker)]}));
      processes_.insert(process);
    }
    AwaitWorker(process);
    WorkerEnd end;
    bool was_stopped = false;
    {
      // Supervise() must not signal a number that the system has given to another process.
      std::lock_guard<std::mutex> lock(mutex_);
      processes_.erase(process);
      end = ReapWorker(process);
      was_stopped = is_stopping_;
    }
    if (end.signal == 0 && end.exit_code == kNotStarted)
      return absl::InternalError(absl::StrCat("cannot start ", options_.command(cell).front()));
    return Note(cell, end, was_stopped, log_begin);
  }

  absl::Status Note(const SuiteCell& cell, const WorkerEnd& end, bool was_stopped,
                    int64_t log_begin) const {
    LRA_RETURN_IF_ERROR(RemoveFailure(options_.out, cell));
    if (was_stopped || !IsLeft(ReadCellStatus(options_.out, cell), false)) return absl::OkStatus();
    SuiteFailure failure;
    failure.set_exit_code(end.exit_code);
    failure.set_signal(end.signal);
    failure.set_message(LastWords(LogPath(options_.out, cell), log_begin));
    failure.set_unix_seconds(UnixSeconds());
    return WriteFailure(options_.out, cell, failure);
  }

  const PoolOptions& options_;
  const std::vector<std::vector<int>> cores_;
  std::mutex mutex_;
  std::condition_variable done_;
  // Guarded by mutex_.
  std::deque<const SuiteCell*> queue_;
  int64_t ended_;
  Progress progress_;
  int working_ = 0;
  bool is_stopping_ = false;
  std::set<pid_t> processes_;
  absl::Status error_;
};

}  // namespace

std::vector<std::string> TrainCommand(const std::string& program, const std::string& out,
                                      const SuiteCell& cell, int threads) {
  std::vector<std::string> words = {program,          "train",       "--task",
                                    cell.choice.task, "--attention", cell.choice.attention};
  const auto add = [&](const char* flag, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {flag, value});
  };
  add("--protocol", cell.choice.protocol);
  add("--preset", cell.choice.preset);
  add("--config", cell.choice.run_file);
  for (const std::string& set : cell.choice.sets) add("--set", set);
  add("--seeds", absl::StrCat(cell.seed));
  add("--out", RunDirectory(out, cell));
  add("--threads", absl::StrCat(threads));
  words.insert(words.end(), {"--resume", "--quiet"});
  return words;
}

std::vector<std::vector<int>> CoresOfWorkers(int workers, int threads,
                                             const std::vector<int>& allowed) {
  std::vector<std::vector<int>> cores(static_cast<size_t>(workers));
  if (allowed.size() != static_cast<size_t>(workers) * static_cast<size_t>(threads)) return cores;
  for (size_t i = 0; i < static_cast<size_t>(workers * threads); ++i)
    cores[i / static_cast<size_t>(threads)].push_back(allowed[i]);
  return cores;
}

void StopSuite() { stop_was_asked = true; }

absl::Status RunCells(const std::vector<SuiteCell>& cells, const PoolOptions& options) {
  const absl::Status status = Pool(cells, options).Run();
  stop_was_asked = false;
  return status;
}

}  // namespace lra
