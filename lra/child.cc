#include "lra/child.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "lra/seconds.h"

extern char** environ;

namespace lra {
namespace {

std::vector<char*> Pointers(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

bool IsNamed(absl::string_view variable, absl::string_view pattern) {
  return absl::ConsumeSuffix(&pattern, "*") ? absl::StartsWith(variable, pattern)
                                            : variable == pattern;
}

std::vector<std::string> EnvironmentOf(const ChildCommand& command) {
  std::map<std::string, std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::pair<std::string, std::string> pair =
        absl::StrSplit(absl::string_view(*entry), absl::MaxSplits('=', 1));
    const auto is_named = [&](const std::string& name) { return IsNamed(pair.first, name); };
    if (std::none_of(command.without.begin(), command.without.end(), is_named))
      all[pair.first] = pair.second;
  }
  for (const auto& [name, value] : command.environment) all[name] = value;
  std::vector<std::string> lines;
  for (const auto& [name, value] : all) lines.push_back(absl::StrCat(name, "=", value));
  return lines;
}

// Reads both pipes until the program has closed them, so that neither can fill up.
void ReadAll(int output, int errors, ChildOutcome* outcome) {
  std::array<pollfd, 2> open = {pollfd{output, POLLIN, 0}, pollfd{errors, POLLIN, 0}};
  const std::array<std::string*, 2> texts = {&outcome->output, &outcome->errors};
  while (open[0].fd >= 0 || open[1].fd >= 0) {
    if (poll(open.data(), open.size(), -1) < 0) {
      if (errno == EINTR) continue;
      break;
    }
    for (size_t i = 0; i < open.size(); ++i) {
      if (open[i].fd < 0 || open[i].revents == 0) continue;
      char buffer[4096];
      const ssize_t size = read(open[i].fd, buffer, sizeof buffer);
      if (size > 0) texts[i]->append(buffer, static_cast<size_t>(size));
      if (size == 0 || (size < 0 && errno != EINTR)) open[i].fd = -1;
    }
  }
}

void Wait(pid_t child, ChildOutcome* outcome) {
  int status = 0;
  rusage usage = {};
  while (wait4(child, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) outcome->signal = WTERMSIG(status);
  if (WIFEXITED(status)) outcome->exit_code = WEXITSTATUS(status);
  outcome->cpu_seconds = SecondsOf(usage.ru_utime) + SecondsOf(usage.ru_stime);
  outcome->peak_resident_bytes = static_cast<int64_t>(usage.ru_maxrss) * 1024;
}

// Starts the program with the writing ends of the pipes; 0 or an error number. All four ends close
// themselves in the program. Where one is descriptor 1 or 2 already (this process began without
// it), dup2 onto itself keeps it open, as posix_spawn_file_actions_adddup2 defines.
int Spawn(const ChildCommand& command, const int output[2], const int errors[2], pid_t* child) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, output[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errors[1], STDERR_FILENO);
  const std::vector<std::string> environment = EnvironmentOf(command);
  const int error = posix_spawnp(child, command.words[0].c_str(), &actions, nullptr,
                                 Pointers(command.words).data(), Pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

}  // namespace

absl::StatusOr<ChildOutcome> RunChild(const ChildCommand& command) {
  int output[2], errors[2];
  // Programs that other threads start meanwhile must not keep the pipes open.
  if (pipe2(output, O_CLOEXEC) != 0)
    return absl::ResourceExhaustedError("no pipe to read a program's output");
  if (pipe2(errors, O_CLOEXEC) != 0) {
    close(output[0]), close(output[1]);
    return absl::ResourceExhaustedError("no pipe to read a program's errors");
  }
  ChildOutcome outcome;
  pid_t child = 0;
  const auto start = std::chrono::steady_clock::now();
  const int error = Spawn(command, output, errors, &child);
  close(output[1]), close(errors[1]);
  if (error == 0) {
    ReadAll(output[0], errors[0], &outcome);
    Wait(child, &outcome);
  }
  close(output[0]), close(errors[0]);
  if (error != 0) {
    return absl::NotFoundError(
        absl::StrCat("cannot start \"", command.words[0], "\": ", std::strerror(error)));
  }
  outcome.wall_seconds = SecondsSince(start);
  return outcome;
}

std::string ThisProgram() {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? "lra" : path.string();
}

}  // namespace lra
