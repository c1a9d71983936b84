#include "eval/machine.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "lra/files.h"
#include "lra/parallel.h"
#include "lra/version.h"

namespace lra {
namespace {

// The value of the first line "key : value" or "key=value" of a system file; empty if there is
// none.
std::string Lookup(absl::string_view path, absl::string_view key, char separator) {
  const auto text = ReadFile(path);
  if (!text.ok()) return "";
  for (absl::string_view line : absl::StrSplit(*text, '\n')) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(line, absl::MaxSplits(separator, 1));
    if (absl::StripAsciiWhitespace(parts.first) == key)
      return std::string(absl::StripAsciiWhitespace(parts.second));
  }
  return "";
}

// Converts "2048 kB" to 2097152; 0 for anything else.
int64_t Kibibytes(absl::string_view text) {
  int64_t count = 0;
  if (!absl::ConsumeSuffix(&text, " kB") || !absl::SimpleAtoi(text, &count)) return 0;
  return count * 1024;
}

std::string SystemName() {
  utsname names;
  const std::string kernel =
      uname(&names) == 0 ? absl::StrCat(names.sysname, " ", names.release) : "";
  std::string distribution = Lookup("/etc/os-release", "PRETTY_NAME", '=');
  distribution.erase(0, distribution.find_first_not_of('"'));
  distribution.erase(distribution.find_last_not_of('"') + 1);
  return distribution.empty() ? kernel : absl::StrCat(distribution, ", ", kernel);
}

int CoresOfSuite() {
  const char* const said = std::getenv(kSuiteCores);
  int cores = 0;
  if (said == nullptr || !absl::SimpleAtoi(said, &cores)) return 0;
  return std::min(cores, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));
}

// The group's limit, or the least one of the groups around it: `file` in every folder from
// base/group up to base.
int64_t LimitOfGroups(const std::string& base, absl::string_view group, absl::string_view file,
                      int64_t limit) {
  while (true) {
    const auto text = ReadFile(JoinPath(absl::StrCat(base, group), file));
    int64_t bytes = 0;
    if (text.ok() && absl::SimpleAtoi(absl::StripAsciiWhitespace(*text), &bytes) && bytes > 0)
      limit = std::min(limit, bytes);
    const size_t slash = group.rfind('/');
    if (slash == absl::string_view::npos) return limit;
    group = group.substr(0, slash);
  }
}

}  // namespace

int64_t MemoryLimitBytes(absl::string_view root) {
  const int64_t machine = Kibibytes(Lookup(absl::StrCat(root, "/proc/meminfo"), "MemTotal", ':'));
  int64_t limit = machine > 0 ? machine : std::numeric_limits<int64_t>::max();
  const auto groups = ReadFile(absl::StrCat(root, "/proc/self/cgroup"));
  const std::string base = absl::StrCat(root, "/sys/fs/cgroup");
  const std::string lines = groups.ok() ? *groups : "";
  for (absl::string_view line : absl::StrSplit(lines, '\n')) {
    // "NUMBER:CONTROLLERS:GROUP"; version 2 names no controllers.
    const std::vector<absl::string_view> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() < 3) continue;
    if (parts[1].empty()) limit = LimitOfGroups(base, parts[2], "memory.max", limit);
    if (parts[1] == "memory")
      limit =
          LimitOfGroups(absl::StrCat(base, "/memory"), parts[2], "memory.limit_in_bytes", limit);
  }
  return limit == std::numeric_limits<int64_t>::max() ? 0 : limit;
}

int64_t AvailableMemoryBytes() {
  const int64_t available = Kibibytes(Lookup("/proc/meminfo", "MemAvailable", ':'));
  const int64_t limit = MemoryLimitBytes();
  return limit > 0 ? std::min(available, limit) : available;
}

Machine DescribeMachine() {
  Machine machine;
  machine.set_cpu(Lookup("/proc/cpuinfo", "model name", ':'));
  machine.set_cores(std::max(AvailableCores(), CoresOfSuite()));
  machine.set_memory_bytes(Kibibytes(Lookup("/proc/meminfo", "MemTotal", ':')));
  machine.set_system(SystemName());
  return machine;
}

int64_t PeakMemoryBytes() { return Kibibytes(Lookup("/proc/self/status", "VmHWM", ':')); }

int64_t UnixSeconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(now).count();
}

std::string& ProgramCommit() {
  static std::string& commit = *new std::string;
  return commit;
}

Versions RunVersions(absl::string_view libtorch) {
  Versions versions;
  versions.set_lra(LRA_VERSION);
  versions.set_commit(ProgramCommit());
  versions.set_libtorch(std::string(libtorch));
#ifdef __clang__
  versions.set_compiler(absl::StrCat("clang ", __clang_version__));
#else
  versions.set_compiler(absl::StrCat("g++ ", __VERSION__));
#endif
  return versions;
}

}  // namespace lra
