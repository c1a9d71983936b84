// How the processes of one run were started: what torchrun or Slurm says in environment variables.
// Free of LibTorch.
#ifndef LRA_RANKS_LAUNCH_H_
#define LRA_RANKS_LAUNCH_H_

#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace lra {

struct Launch {
  // What was found: "torchrun", "Slurm", or empty for a process that is alone.
  std::string starter{};
  int rank = 0, size = 1;
  // The same among the processes of this machine; local_size is 0 where nobody says.
  int local_rank = 0, local_size = 1;
  // Where the processes meet: a store on this host and port, which rank 0 opens.
  std::string address{};
  int port = 0;
  // The starter holds that store already (torchrun's agent).
  bool has_store = false;
  // How often the starter has started all of them anew.
  int attempt = 0;
  // The cores that Slurm gives each task; 0 where nobody says.
  int cores = 0;
  // Which cards a process may use. Those of one machine with the same text share them.
  std::string cards{};
};

// An environment variable's value; nothing where it is unset.
using LaunchVariables = std::function<std::optional<std::string>(const char* name)>;

// torchrun's RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT, LOCAL_RANK and LOCAL_WORLD_SIZE, which a
// person may also set; else, in a Slurm step of several tasks (srun), Slurm's, with MASTER_ADDR and
// MASTER_PORT in place of the step's first node and a port made of the job's number where they are
// set. Neither means alone. Cards are CUDA_VISIBLE_DEVICES' and SLURM_STEP_GPUS'. InvalidArgument
// names a variable that is missing, is no number, or contradicts another.
absl::StatusOr<Launch> ReadLaunch(const LaunchVariables& environment);
// The same from this process's own environment.
absl::StatusOr<Launch> ReadLaunch();

// How many threads a rank that may run on so many cores takes: as many as Slurm gives each task,
// else its share of these cores among the ranks of its machine, or among all ranks where nobody
// says how many share a machine.
int ThreadsOfRank(const Launch& launch, int available_cores);

// The first host of Slurm's list: "node07" of "node[07-09,12]", "a" of "a,b3".
std::string FirstHost(absl::string_view node_list);

}  // namespace lra

#endif  // LRA_RANKS_LAUNCH_H_
