// The flags that say where work is done: here, or on a cluster.
#ifndef LRA_CLI_CLUSTER_FLAGS_H_
#define LRA_CLI_CLUSTER_FLAGS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/flags.h"
#include "suite/job_array.h"

namespace lra {

inline constexpr char kLocalExecutor[] = "local";

struct ClusterFlags {
  std::string executor = kLocalExecutor, time;
  uint64_t memory_bytes = 0;
  ClusterOptions options;
};

// --executor and what Slurm is told.
void AddClusterFlags(CLI::App* command, ClusterFlags* flags);

// Absent where work is done here. InvalidArgument for another executor, a time that is none or too
// short (kLeastLimitSeconds), memory below 64 MB, arguments of sbatch by which submitted jobs would
// not be found again, and flags for a cluster that was not asked for.
absl::StatusOr<std::optional<ClusterOptions>> ClusterOf(const ClusterFlags& flags);

// What elements start: this program, or the launcher of its package (scripts/launcher), which alone
// sees to it that LibTorch is found.
std::string ClusterProgram();

// Where elements find rules, data and, by a launcher, LibTorch: the folders that this process
// takes, as absolute paths.
std::vector<std::pair<std::string, std::string>> ClusterEnvironment();

// "2h", "90m", "1h30m", at most a hundred years. InvalidArgument names the flag.
absl::StatusOr<double> SecondsOfFlag(const std::string& flag, const std::string& text);

}  // namespace lra

#endif  // LRA_CLI_CLUSTER_FLAGS_H_
