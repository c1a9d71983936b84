#include "suite/worker.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "lra/seconds.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

// Between fork and exec of a program with threads nothing may be called that takes a lock, so
// everything that is needed is made before.
struct Prepared {
  std::vector<char*> words;
  std::vector<cpu_set_t> cores;  // one mask, in as many parts as it takes; empty = not pinned
  int log = -1, output = -1;
  pid_t parent = 0;
  sigset_t signals;  // what this thread blocks
};

std::vector<cpu_set_t> MaskOf(const std::vector<int>& cores) {
  if (cores.empty()) return {};
  const int largest = *std::max_element(cores.begin(), cores.end());
  std::vector<cpu_set_t> mask(static_cast<size_t>(largest / CPU_SETSIZE + 1));
  for (const int core : cores)
    CPU_SET_S(static_cast<size_t>(core), mask.size() * sizeof(cpu_set_t), mask.data());
  return mask;
}

void PinTo(const std::vector<cpu_set_t>& cores, int log) {
  if (cores.empty()) return;
  if (sched_setaffinity(0, cores.size() * sizeof(cpu_set_t), cores.data()) == 0) return;
  // The system may have taken the cores from this program since it asked for them.
  constexpr char kNote[] = "note: not pinned: the system refuses the cores of this worker\n";
  [[maybe_unused]] const ssize_t written = write(log, kNote, sizeof kNote - 1);
}

[[noreturn]] void Become(const Prepared& prepared) {
  // This program's handlers would take a signal that is meant to end the worker; exec forgets it.
  for (const int number : {SIGINT, SIGTERM, SIGUSR1}) signal(number, SIG_DFL);
  sigprocmask(SIG_SETMASK, &prepared.signals, nullptr);
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != prepared.parent) _exit(kNotStarted);  // it ended before the call above
  PinTo(prepared.cores, prepared.log);
  dup2(prepared.output, STDOUT_FILENO);
  dup2(prepared.log, STDERR_FILENO);
  const int nothing = open("/dev/null", O_RDONLY);
  if (nothing >= 0) dup2(nothing, STDIN_FILENO);
  execvp(prepared.words[0], prepared.words.data());
  _exit(kNotStarted);
}

// Opens the worker's files; FailedPrecondition names the one that cannot be written.
absl::Status OpenFiles(const WorkerCommand& command, Prepared* prepared) {
  constexpr int kAlways = O_WRONLY | O_CREAT | O_CLOEXEC;
  prepared->log = open(command.log.c_str(), kAlways | O_APPEND, 0644);
  if (prepared->log < 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot write ", command.log, ": ", std::strerror(errno)));
  }
  prepared->output = command.output.empty() ? prepared->log
                                            : open(command.output.c_str(), kAlways | O_TRUNC, 0644);
  if (prepared->output >= 0) return absl::OkStatus();
  const int error = errno;
  close(prepared->log);
  return absl::FailedPreconditionError(
      absl::StrCat("cannot write ", command.output, ": ", std::strerror(error)));
}

void CloseFiles(const Prepared& prepared) {
  if (prepared.output != prepared.log) close(prepared.output);
  close(prepared.log);
}

}  // namespace

absl::StatusOr<pid_t> StartWorker(const WorkerCommand& command) {
  Prepared prepared;
  for (const std::string& word : command.words)
    prepared.words.push_back(const_cast<char*>(word.c_str()));
  prepared.words.push_back(nullptr);
  prepared.cores = MaskOf(command.cores);
  prepared.parent = getpid();
  LRA_RETURN_IF_ERROR(OpenFiles(command, &prepared));
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &prepared.signals);
  const pid_t worker = fork();
  if (worker == 0) Become(prepared);
  const int error = errno;
  pthread_sigmask(SIG_SETMASK, &prepared.signals, nullptr);
  CloseFiles(prepared);
  if (worker > 0) setpgid(worker, worker);  // whichever of both comes first
  if (worker < 0)
    return absl::InternalError(absl::StrCat("no process for a run: ", std::strerror(error)));
  return worker;
}

void AwaitWorker(pid_t worker) {
  siginfo_t ended;
  while (waitid(P_PID, static_cast<id_t>(worker), &ended, WEXITED | WNOWAIT) < 0 &&
         errno == EINTR) {
  }
}

WorkerEnd ReapWorker(pid_t worker) {
  int status = 0;
  rusage usage{};
  while (wait4(worker, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  WorkerEnd end;
  end.cpu_seconds = SecondsOf(usage.ru_utime) + SecondsOf(usage.ru_stime);
  end.peak_memory_bytes = int64_t{usage.ru_maxrss} * 1024;
  if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  if (WIFEXITED(status)) end.exit_code = WEXITSTATUS(status);
  return end;
}

}  // namespace lra
