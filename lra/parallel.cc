#include "lra/parallel.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "lra/files.h"

namespace lra {
namespace {

int AffinityCores() {
  const size_t cores = AllowedCores().size();
  return static_cast<int>(cores > 0 ? cores : std::thread::hardware_concurrency());
}

// CPU cores that a "quota period" pair in microseconds allows, rounded up; 0 = no limit.
int QuotaCores(absl::string_view quota, absl::string_view period) {
  double quota_us, period_us;
  if (!absl::SimpleAtod(quota, &quota_us) || !absl::SimpleAtod(period, &period_us)) return 0;
  if (quota_us <= 0 || period_us <= 0) return 0;
  return std::max(1, static_cast<int>(std::ceil(quota_us / period_us)));
}

// The tightest CPU quota among this process's control group (version 2) and its ancestors; 0 =
// none.
int CgroupCores() {
  absl::StatusOr<std::string> groups = ReadFile("/proc/self/cgroup");
  if (!groups.ok()) return 0;
  int cores = 0;
  for (absl::string_view line : absl::StrSplit(*groups, '\n')) {
    if (!absl::ConsumePrefix(&line, "0::")) continue;
    std::string folder(line);
    while (true) {
      absl::StatusOr<std::string> limit =
          ReadFile(absl::StrCat("/sys/fs/cgroup", folder, "/cpu.max"));
      const std::vector<std::string> words =
          absl::StrSplit(limit.value_or(""), absl::ByAnyChar(" \n"), absl::SkipEmpty());
      const int here = words.size() == 2 ? QuotaCores(words[0], words[1]) : 0;
      if (here > 0) cores = cores == 0 ? here : std::min(cores, here);
      const size_t slash = folder.rfind('/');
      if (slash == std::string::npos) break;
      folder.resize(slash);
    }
  }
  return cores;
}

}  // namespace

std::vector<int> AllowedCores() {
  // Machines with more than CPU_SETSIZE processors need a larger mask.
  for (int size = CPU_SETSIZE; size <= 1 << 16; size *= 2) {
    cpu_set_t* mask = CPU_ALLOC(size);
    const size_t mask_bytes = CPU_ALLOC_SIZE(size);
    const bool ok = sched_getaffinity(0, mask_bytes, mask) == 0;
    std::vector<int> cores;
    for (int core = 0; ok && core < size; ++core) {
      if (CPU_ISSET_S(static_cast<size_t>(core), mask_bytes, mask)) cores.push_back(core);
    }
    CPU_FREE(mask);
    if (ok) return cores;
  }
  return {};
}

int AvailableCores() {
  static const int cores = [] {
    const int allowed = std::max(1, AffinityCores());
    const int quota = CgroupCores();
    return quota > 0 ? std::min(allowed, quota) : allowed;
  }();
  return cores;
}

int ResolveThreads(int threads) { return threads > 0 ? threads : AvailableCores(); }

int MaxThreads() { return kMaxThreadsPerCore * AvailableCores(); }

}  // namespace lra
