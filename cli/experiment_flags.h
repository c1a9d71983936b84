// The flags that say what a run is, shared by `train` and `config`.
#ifndef LRA_CLI_EXPERIMENT_FLAGS_H_
#define LRA_CLI_EXPERIMENT_FLAGS_H_

#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "lra/config.h"

namespace lra {

// Empty = not given: then the run file's value counts, then the default.
struct ExperimentFlags {
  static constexpr char kDefaultProtocol[] = "fair";
  static constexpr char kDefaultPreset[] = "small";

  std::string task, attention, protocol, preset;
  std::string config_file;
  std::vector<std::string> sets;

  // The object must outlive the parsing of `command`.
  void Add(CLI::App* command);
  // Protocol, preset, attention, run file, --set, in this order. InvalidArgument names the flag or
  // field and the nearest valid name.
  absl::StatusOr<ResolvedConfig> Resolve() const;
};

// --protocol, --preset and --set of commands that need of a configuration only how data is seen.
void AddViewFlags(CLI::App* command, std::string* protocol, std::string* preset,
                  std::vector<std::string>* sets);

}  // namespace lra

#endif  // LRA_CLI_EXPERIMENT_FLAGS_H_
