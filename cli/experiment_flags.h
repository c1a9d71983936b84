// The flags that say what a run is, shared by `train` and `config`.
#ifndef LRA_CLI_EXPERIMENT_FLAGS_H_
#define LRA_CLI_EXPERIMENT_FLAGS_H_

#include "cli/flags.h"
#include "lra/experiment.h"

namespace lra {

// Without --config, for `init`. *choice must outlive the parsing.
void AddNewExperimentFlags(CLI::App* command, ExperimentChoice* choice);
// *choice must outlive the parsing.
void AddExperimentFlags(CLI::App* command, ExperimentChoice* choice);

// --protocol, --preset and --set of commands that need of a configuration only how data is seen.
void AddViewFlags(CLI::App* command, ViewChoice* view);

}  // namespace lra

#endif  // LRA_CLI_EXPERIMENT_FLAGS_H_
