#include "suite/processes.h"

#include <sched.h>
#include <signal.h>

#include <atomic>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPoll{50};

std::atomic<bool> stop_was_asked{false};

}  // namespace

void StopSuite() { stop_was_asked = true; }
bool StopWasAsked() { return stop_was_asked; }
void ForgetStop() { stop_was_asked = false; }

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

std::vector<std::vector<int>> CoresOfWorkers(int workers, int threads,
                                             const std::vector<int>& allowed) {
  std::vector<std::vector<int>> cores(static_cast<size_t>(workers));
  if (allowed.size() != static_cast<size_t>(workers) * static_cast<size_t>(threads)) return cores;
  for (size_t i = 0; i < static_cast<size_t>(workers * threads); ++i)
    cores[i / static_cast<size_t>(threads)].push_back(allowed[i]);
  return cores;
}

Processes::Processes(int workers, int threads, Deadline deadline)
    : cores_(CoresOfWorkers(workers, threads, AllowedCores())), deadline_(deadline) {}

absl::Status Processes::Run(const std::function<absl::Status(int worker)>& work) {
  working_ = static_cast<int>(cores_.size());
  std::vector<std::thread> threads;
  for (int worker = 0; worker < static_cast<int>(cores_.size()); ++worker) {
    threads.emplace_back([this, &work, worker] {
      const absl::Status status = work(worker);
      std::lock_guard<std::mutex> lock(mutex_);
      error_.Update(status);
      --working_;
      done_.notify_all();
    });
  }
  Supervise();
  for (std::thread& thread : threads) thread.join();
  return error_;
}

void Processes::Supervise() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (working_ > 0) {
    done_.wait_for(lock, kPoll);
    const bool is_late = deadline_ && Clock::now() >= *deadline_;
    if ((is_late || stop_was_asked || !error_.ok()) && !is_stopping_) {
      is_stopping_ = true;
      for (const pid_t process : processes_) kill(-process, SIGTERM);
    }
  }
}

bool Processes::is_stopping() {
  std::lock_guard<std::mutex> lock(mutex_);
  return is_stopping_;
}

absl::StatusOr<Processes::End> Processes::RunProcess(int worker, WorkerCommand command) {
  command.cores = cores_[static_cast<size_t>(worker)];
  const auto begin = Clock::now();
  pid_t process = 0;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (is_stopping_) return absl::CancelledError("stopped before it began");
    LRA_ASSIGN_OR_RETURN(process, StartWorker(command));
    processes_.insert(process);
  }
  AwaitWorker(process);
  End end;
  {
    // Supervise() must not signal a number that the system has given to another process.
    std::lock_guard<std::mutex> lock(mutex_);
    processes_.erase(process);
    static_cast<WorkerEnd&>(end) = ReapWorker(process);
    // A batch system signals workers itself, also those that have not begun to listen.
    end.was_stopped = is_stopping_ || stop_was_asked || end.signal == SIGTERM;
  }
  end.wall_seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  if (end.signal == 0 && end.exit_code == kNotStarted)
    return absl::InternalError(absl::StrCat("cannot start ", command.words.front()));
  return end;
}

}  // namespace lra
