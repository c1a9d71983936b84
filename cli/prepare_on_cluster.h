// Generated data made in parts by a cluster: a job array of parts, and a job that joins them.
#ifndef LRA_CLI_PREPARE_ON_CLUSTER_H_
#define LRA_CLI_PREPARE_ON_CLUSTER_H_

#include "absl/status/status.h"
#include "cli/cluster_flags.h"
#include "cli/command.h"
#include "tasks/prepare.h"

namespace lra {

struct PartFlags {
  int parts = 0;
  bool is_dry = false;
  ClusterFlags cluster;
};

// --parts, --dry-run, --executor and what Slurm is told.
void AddPartFlags(CLI::App* command, PartFlags* flags);

// Submits what is missing and not queued: parts in OUT.parts/K, and a job that joins them to OUT
// once all have ended well, and then removes them. OUT.parts/slurm has scripts and logs.
// FailedPrecondition where parts of other data are queued there. The errors of IsPrepared,
// Submissions and CheckLogFolder.
absl::Status PrepareOnCluster(const PrepareOptions& options, const PartFlags& flags,
                              const ClusterOptions& cluster, const CommandContext& context);

}  // namespace lra

#endif  // LRA_CLI_PREPARE_ON_CLUSTER_H_
