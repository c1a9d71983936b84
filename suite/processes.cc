#include "suite/processes.h"

#include <signal.h>

#include <atomic>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lra/seconds.h"
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

absl::Status Processes::Run(const std::function<absl::Status(int worker)>& work) {
  working_ = workers_;
  std::vector<std::thread> threads;
  for (int worker = 0; worker < workers_; ++worker) {
    threads.emplace_back([this, &work, worker] {
      const absl::Status status = work(worker);
      held_[static_cast<size_t>(worker)].reset();
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

std::vector<int> Processes::CoresOf(int worker) {
  if (pinning_.locks == nullptr) return {};
  std::optional<CoreLocks::Held>& held = held_[static_cast<size_t>(worker)];
  if (!held) {
    std::optional<CoreLocks::Held> taken = pinning_.locks->TakeOrNote(pinning_.cores_each);
    if (!taken) return {};
    held.emplace(*std::move(taken));
  }
  return held->cores();
}

absl::StatusOr<Processes::End> Processes::RunProcess(int worker, WorkerCommand command) {
  command.cores = CoresOf(worker);
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
  end.was_pinned = !command.cores.empty();
  end.wall_seconds = SecondsSince(begin);
  if (end.signal == 0 && end.exit_code == kNotStarted)
    return absl::InternalError(absl::StrCat("cannot start ", command.words.front()));
  return end;
}

}  // namespace lra
