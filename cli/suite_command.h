// What the subcommands that train suites share: `run`, and `train` with lists.
#ifndef LRA_CLI_SUITE_COMMAND_H_
#define LRA_CLI_SUITE_COMMAND_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/cluster_flags.h"
#include "cli/command.h"
#include "suite/run_suite.h"

namespace lra {

struct SuiteFlags {
  std::string budget, shard;
  int workers = 0;
  bool is_dry = false, retries_failed = false, pins_workers = false;
  std::vector<std::string> reuse;  // folders with runs of other suites
  // The name of the one run to train, which is how elements of job arrays call.
  std::string cell;
  ClusterFlags cluster;
  std::vector<std::string> cluster_flags;  // further flags of the elements' `lra run`
};

// --workers, --pin-workers, --budget, --shard, --retry-failed, --reuse.
void AddSuiteFlags(CLI::App* command, SuiteFlags* flags);

// Measures and plans the suite; prints the plan (is_dry), or has what is left trained in
// options.out and prints how far all runs are. `options` has the folder, the threads and further
// flags of `train`. Aborted where a run has no result and none is queued: it says what to do. For a
// single cell the error is IsInUse() where beginning again would help.
absl::Status RunSuiteFile(const SuiteFile& suite, const SuiteFlags& flags, SuiteRunOptions options,
                          const CommandContext& context);

// What a user means where folders of runs and names of suites are taken: what is there, else
// runs/NAME, if that is there; else as it is. NotFound for a suite of configs/suites of which no
// run has begun, and for a word that is nearly such a name.
absl::StatusOr<std::string> SuiteFolder(const std::string& name_or_folder);

}  // namespace lra

#endif  // LRA_CLI_SUITE_COMMAND_H_
