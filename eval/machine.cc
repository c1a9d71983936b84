#include "eval/machine.h"

#include <sys/utsname.h>

#include <chrono>
#include <string>

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

}  // namespace

Machine DescribeMachine() {
  Machine machine;
  machine.set_cpu(Lookup("/proc/cpuinfo", "model name", ':'));
  machine.set_cores(AvailableCores());
  machine.set_memory_bytes(Kibibytes(Lookup("/proc/meminfo", "MemTotal", ':')));
  machine.set_system(SystemName());
  return machine;
}

int64_t PeakMemoryBytes() { return Kibibytes(Lookup("/proc/self/status", "VmHWM", ':')); }

int64_t UnixSeconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(now).count();
}

Versions RunVersions(absl::string_view libtorch) {
  Versions versions;
  versions.set_lra(LRA_VERSION);
  versions.set_commit(LRA_COMMIT);
  versions.set_libtorch(std::string(libtorch));
#ifdef __clang__
  versions.set_compiler(absl::StrCat("clang ", __clang_version__));
#else
  versions.set_compiler(absl::StrCat("g++ ", __VERSION__));
#endif
  return versions;
}

}  // namespace lra
