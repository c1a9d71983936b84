#include "suite/pool.h"

#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "lra/files.h"
#include "lra/progress.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

constexpr std::chrono::milliseconds kPoll{50};
constexpr int64_t kLogTailBytes = 1 << 20;

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

// The last line that a run wrote.
std::string LastWords(const std::string& log) {
  const absl::StatusOr<std::string> text = ReadFile(log, kLogTailBytes);
  if (!text.ok()) return "";
  std::string last;
  for (const absl::string_view line : absl::StrSplit(*text, '\n')) {
    if (!absl::StripAsciiWhitespace(line).empty()) last = std::string(line);
  }
  return last;
}

class Pool {
 public:
  Pool(const std::vector<SuiteCell>& cells, const PoolOptions& options)
      : cells_(cells),
        options_(options),
        cores_(CoresOfWorkers(options.workers, options.threads, AllowedCores())),
        progress_({.label = "suite",
                   .unit = "runs",
                   .total = static_cast<int64_t>(cells.size()),
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
      const absl::Status status = Train(*cell, worker);
      std::lock_guard<std::mutex> lock(mutex_);
      error_.Update(status);
      progress_.Update(++ended_, cell->name);
    }
    std::lock_guard<std::mutex> lock(mutex_);
    --working_;
    done_.notify_all();
  }

  const SuiteCell* Next() {
    std::lock_guard<std::mutex> lock(mutex_);
    return is_stopping_ || next_ == cells_.size() ? nullptr : &cells_[next_++];
  }

  absl::Status Train(const SuiteCell& cell, int worker) {
    LRA_ASSIGN_OR_RETURN(const CellStatus before, ReadCellStatus(options_.out, cell));
    if (!IsLeft(before, options_.retries_failed)) return absl::OkStatus();
    const WorkerCommand command = {options_.command(cell), LogPath(options_.out, cell),
                                   cores_[static_cast<size_t>(worker)]};
    pid_t process = 0;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (is_stopping_) return absl::OkStatus();
      LRA_ASSIGN_OR_RETURN(process, StartWorker(command));
      processes_.insert(process);
    }
    const WorkerEnd end = WaitForWorker(process);
    bool was_stopped = false;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      processes_.erase(process);
      was_stopped = is_stopping_;
    }
    return Note(cell, end, was_stopped);
  }

  absl::Status Note(const SuiteCell& cell, const WorkerEnd& end, bool was_stopped) const {
    LRA_RETURN_IF_ERROR(RemoveFailure(options_.out, cell));
    LRA_ASSIGN_OR_RETURN(const CellStatus after, ReadCellStatus(options_.out, cell));
    if (was_stopped || !IsLeft(after, false)) return absl::OkStatus();
    SuiteFailure failure;
    failure.set_exit_code(end.exit_code);
    failure.set_signal(end.signal);
    failure.set_message(LastWords(LogPath(options_.out, cell)));
    failure.set_unix_seconds(std::chrono::duration_cast<std::chrono::seconds>(
                                 std::chrono::system_clock::now().time_since_epoch())
                                 .count());
    return WriteFailure(options_.out, cell, failure);
  }

  const std::vector<SuiteCell>& cells_;
  const PoolOptions& options_;
  const std::vector<std::vector<int>> cores_;
  std::mutex mutex_;
  std::condition_variable done_;
  // Guarded by mutex_.
  Progress progress_;
  size_t next_ = 0;
  int64_t ended_ = 0;
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
  if (allowed.size() < static_cast<size_t>(workers) * static_cast<size_t>(threads)) return cores;
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
