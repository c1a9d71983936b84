// Job arrays of Slurm: many elements that run one command, each for an item of its own.
#ifndef LRA_SUITE_JOB_ARRAY_H_
#define LRA_SUITE_JOB_ARRAY_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace lra {

// What a user says about the cluster. Empty and 0 leave a choice to the program or to the cluster.
struct ClusterOptions {
  std::string partition, account;
  std::vector<std::string> sbatch_arguments;  // over everything else
  int at_most = 0;                            // elements that run at once
  int64_t limit_seconds = 0;                  // instead of the predicted limits
  int64_t memory_bytes = 0;                   // instead of the predicted memory
};

// Where the item of an element stands in the words of its command.
inline constexpr char kItem[] = "{item}";

// Element i runs `words` with items[i] for each kItem in them.
struct JobArray {
  std::string name;    // of the job
  std::string folder;  // absolute, on a folder that all nodes share; for logs, as LogOfElement()
  std::vector<std::string> items;
  std::vector<std::string> words;
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<std::string> needed_paths;  // an element ends with a message where one is missing
  int64_t limit_seconds = 0;              // of each element
  int64_t memory_bytes = 0;               // of each element; 0 = the cluster's default
  int cores = 1;
  std::vector<std::string> after;    // begins when these jobs have ended,
  bool needs_their_success = false;  // and each of their elements with exit code 0
};

// The largest number of elements that Slurm takes where its MaxArraySize is the default.
inline constexpr int kMostElements = 1000;

// The least time limit that an element may be given. Slurm is asked to signal it a minute before
// its end and may do so another minute earlier: with less it could be stopped as it begins.
inline constexpr int64_t kLeastLimitSeconds = 180;

// The batch script. An element that comes near its time limit is told so: its command gets SIGTERM,
// by which runs save; where it then ends with kInUseExitCode the element queues itself again. So
// does one whose command was killed (by another than Slurm), three times at most, however often
// else it was queued again: FOLDER/12_3.retries has a line each time. One that Slurm preempts or
// that loses its node is queued again by Slurm.
std::string SlurmScript(const JobArray& array, const ClusterOptions& options);

// sbatch's variables that would go over what the script sets, and SBATCH_WAIT, with which sbatch
// returns at the end of the job.
std::vector<std::string> VariablesOverScript(const JobArray& array, const ClusterOptions& options);

// Whether an argument of sbatch says how much memory an element has: --mem, --mem-per-cpu or
// --mem-per-gpu, which exclude each other.
bool GivesMemory(const ClusterOptions& options);

// InvalidArgument for a folder that sbatch cannot be told to keep a log of each element in. A
// backslash anywhere in a path, also an escaped one, has Slurm replace nothing in it.
absl::Status CheckLogFolder(const std::string& folder);

// FOLDER/12_3.log
std::string LogOfElement(const std::string& folder, const std::string& element);

}  // namespace lra

#endif  // LRA_SUITE_JOB_ARRAY_H_
