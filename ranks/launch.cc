#include "ranks/launch.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

// Ports of Slurm jobs: below those that systems hand out by themselves (32768 on Linux).
constexpr int64_t kFirstPort = 15000, kPorts = 15000;
constexpr int64_t kLastPort = 65535;

struct Bounds {
  int64_t least, most;
};

// Reads a whole number; `missing` is returned where the variable is unset, unless it is nothing.
absl::StatusOr<int64_t> Number(const LaunchVariables& environment, const char* name, Bounds bounds,
                               std::optional<int64_t> missing = std::nullopt) {
  const std::optional<std::string> text = environment(name);
  if (!text && missing) return *missing;
  if (!text) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, " is not set, though other variables of a launcher are: start all processes with ",
        "torchrun or srun, or set RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT"));
  }
  int64_t value = 0;
  if (!absl::SimpleAtoi(*text, &value) || value < bounds.least || value > bounds.most) {
    return absl::InvalidArgumentError(absl::StrCat(name, " is \"", *text,
                                                   "\", must be a whole number from ", bounds.least,
                                                   " to ", bounds.most));
  }
  return value;
}

constexpr Bounds kSizes = {1, 1000000};

// Where Slurm hides the cards of other tasks (ConstrainDevices), each task counts its own from 0,
// and only the second variable tells them apart.
std::string VisibleCards(const LaunchVariables& environment) {
  return absl::StrCat(environment("CUDA_VISIBLE_DEVICES").value_or(""), " of ",
                      environment("SLURM_STEP_GPUS").value_or(""));
}

absl::StatusOr<Launch> FromTorchrun(const LaunchVariables& environment) {
  Launch launch;
  launch.starter = "torchrun";
  LRA_ASSIGN_OR_RETURN(launch.size, Number(environment, "WORLD_SIZE", kSizes));
  LRA_ASSIGN_OR_RETURN(launch.rank, Number(environment, "RANK", {0, launch.size - 1}));
  if (launch.size == 1) return launch;
  const std::optional<std::string> address = environment("MASTER_ADDR");
  if (!address || address->empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "MASTER_ADDR is not set, and WORLD_SIZE is ", launch.size,
        ": it must name the host of rank 0, for example 127.0.0.1 for processes of one machine"));
  }
  launch.address = *address;
  LRA_ASSIGN_OR_RETURN(launch.port, Number(environment, "MASTER_PORT", {1, kLastPort}));
  LRA_ASSIGN_OR_RETURN(launch.local_size,
                       Number(environment, "LOCAL_WORLD_SIZE", {1, launch.size}, 0));
  LRA_ASSIGN_OR_RETURN(launch.local_rank,
                       Number(environment, "LOCAL_RANK", {0, launch.size - 1}, 0));
  LRA_ASSIGN_OR_RETURN(launch.attempt,
                       Number(environment, "TORCHELASTIC_RESTART_COUNT", {0, 1000000}, 0));
  launch.has_store = environment("TORCHELASTIC_USE_AGENT_STORE").value_or("") == "True";
  launch.cards = VisibleCards(environment);
  return launch;
}

// How many tasks of a step run on one node: the first number of "4(x3),2", 0 if there is none.
int TasksOfNode(const std::string& text) {
  int tasks = 0;
  return absl::SimpleAtoi(text.substr(0, text.find_first_of("(,")), &tasks) ? tasks : 0;
}

absl::StatusOr<Launch> FromSlurm(const LaunchVariables& environment) {
  Launch launch;
  launch.starter = "Slurm";
  LRA_ASSIGN_OR_RETURN(launch.size, Number(environment, "SLURM_STEP_NUM_TASKS", kSizes));
  if (launch.size == 1) return Launch();
  LRA_ASSIGN_OR_RETURN(launch.rank, Number(environment, "SLURM_PROCID", {0, launch.size - 1}));
  LRA_ASSIGN_OR_RETURN(launch.local_rank,
                       Number(environment, "SLURM_LOCALID", {0, launch.size - 1}, 0));
  launch.local_size = TasksOfNode(environment("SLURM_STEP_TASKS_PER_NODE").value_or(""));
  launch.address = environment("MASTER_ADDR").value_or("");
  if (launch.address.empty())
    launch.address = FirstHost(environment("SLURM_STEP_NODELIST").value_or(""));
  // The node that srun was typed on: rank 0's only when that is the job's first.
  if (launch.address.empty()) launch.address = environment("SLURM_LAUNCH_NODE_IPADDR").value_or("");
  if (launch.address.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the Slurm step has ", launch.size, " tasks, but neither SLURM_STEP_NODELIST nor ",
        "SLURM_LAUNCH_NODE_IPADDR says where they meet; set MASTER_ADDR to rank 0's host"));
  }
  LRA_ASSIGN_OR_RETURN(const int64_t job, Number(environment, "SLURM_JOB_ID", {0, INT32_MAX}, 0));
  LRA_ASSIGN_OR_RETURN(const int64_t step, Number(environment, "SLURM_STEP_ID", {0, INT32_MAX}, 0));
  LRA_ASSIGN_OR_RETURN(launch.port, Number(environment, "MASTER_PORT", {1, kLastPort},
                                           kFirstPort + (31 * job + step) % kPorts));
  LRA_ASSIGN_OR_RETURN(launch.cores, Number(environment, "SLURM_CPUS_PER_TASK", kSizes, 0));
  launch.cards = VisibleCards(environment);
  return launch;
}

}  // namespace

std::string FirstHost(absl::string_view node_list) {
  const size_t end = node_list.find_first_of("[,");
  const absl::string_view name = node_list.substr(0, end);
  if (end == absl::string_view::npos || node_list[end] == ',') return std::string(name);
  const absl::string_view numbers = node_list.substr(end + 1);
  return absl::StrCat(name, numbers.substr(0, numbers.find_first_of("-,]")));
}

int ThreadsOfRank(const Launch& launch, int available_cores) {
  // A site may bind each task to cores that are its alone, or none to any.
  if (launch.cores > 0) return std::min(available_cores, launch.cores);
  // Who does not say how many processes share a machine may have put all of them on one.
  const int here = launch.local_size > 0 ? launch.local_size : launch.size;
  return std::max(1, available_cores / here);
}

absl::StatusOr<Launch> ReadLaunch(const LaunchVariables& environment) {
  if (environment("RANK") || environment("WORLD_SIZE")) return FromTorchrun(environment);
  // A batch script has SLURM_PROCID and SLURM_NTASKS too; only a step's tasks have their number.
  if (environment("SLURM_PROCID") && environment("SLURM_STEP_NUM_TASKS"))
    return FromSlurm(environment);
  return Launch();
}

absl::StatusOr<Launch> ReadLaunch() {
  return ReadLaunch([](const char* name) -> std::optional<std::string> {
    const char* const value = std::getenv(name);
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  });
}

}  // namespace lra
