#include "suite/memory_kills.h"

#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "lra/files.h"

namespace lra {
namespace {

// The number in the line "oom_kill NUMBER", which both versions of control groups write.
std::optional<int64_t> KillsIn(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadFile(path);
  if (!text.ok()) return std::nullopt;
  for (absl::string_view line : absl::StrSplit(*text, '\n')) {
    int64_t count = 0;
    if (absl::ConsumePrefix(&line, "oom_kill ") && absl::SimpleAtoi(line, &count)) return count;
  }
  return std::nullopt;
}

// Looks for `file` in every folder from base/group up to base. A container may see its own group
// at the base, whatever the group is called outside.
int64_t KillsOfGroup(const std::string& base, absl::string_view group, absl::string_view file) {
  while (true) {
    const std::optional<int64_t> count = KillsIn(JoinPath(absl::StrCat(base, group), file));
    if (count) return *count;
    const size_t slash = group.rfind('/');
    if (slash == absl::string_view::npos) return 0;
    group = group.substr(0, slash);
  }
}

// A positive number in an environment variable, else 0.
int64_t PositiveVariable(const char* name) {
  const char* const text = std::getenv(name);
  int64_t number = 0;
  return text != nullptr && absl::SimpleAtoi(text, &number) && number > 0 ? number : 0;
}

}  // namespace

int64_t MemoryKills(absl::string_view root) {
  const std::string base = absl::StrCat(root, "/sys/fs/cgroup");
  const std::string groups = ReadFile(absl::StrCat(root, "/proc/self/cgroup")).value_or("");
  int64_t kills = 0;
  for (const absl::string_view line : absl::StrSplit(groups, '\n')) {
    // "NUMBER:CONTROLLERS:GROUP"; version 2 names no controllers.
    const std::vector<absl::string_view> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() < 3) continue;
    if (parts[1].empty()) kills += KillsOfGroup(base, parts[2], "memory.events");
    if (parts[1] == "memory")
      kills += KillsOfGroup(absl::StrCat(base, "/memory"), parts[2], "memory.oom_control");
  }
  return kills;
}

int64_t JobMemoryBytes() {
  // In units of 1 MiB; the second where a job asks by the core, or the cluster's default does.
  const int64_t of_node = PositiveVariable("SLURM_MEM_PER_NODE");
  const int64_t of_cores =
      PositiveVariable("SLURM_MEM_PER_CPU") * PositiveVariable("SLURM_CPUS_ON_NODE");
  return (of_node > 0 ? of_node : of_cores) << 20;
}

}  // namespace lra
