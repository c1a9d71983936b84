// From what a user names (task, attention, protocol, preset, a run file, single fields) to a
// resolved configuration, and from a configuration to the name of its runs.
#ifndef LRA_EXPERIMENT_H_
#define LRA_EXPERIMENT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lra/config.h"
#include "lra/config.pb.h"

namespace lra {

inline constexpr char kDefaultProtocol[] = "fair";
inline constexpr char kDefaultPreset[] = "small";

// Empty = not given: then the run file's value counts, then the default.
struct ExperimentChoice {
  std::string task, attention, protocol, preset;
  std::string run_file;           // path of a RunFile
  std::vector<std::string> sets;  // "train.steps=100", over everything else
};

// Merges protocol, preset, attention, the run file's overrides and `sets`, in this order.
// InvalidArgument names the flag or field and the nearest valid name; the errors of ReadTextProto
// and of ConfigBuilder.
absl::StatusOr<ResolvedConfig> ResolveExperiment(const ExperimentChoice& choice);

// How a command that needs no model is told how data is seen; LoadView reads it.
struct ViewChoice {
  std::string protocol = kDefaultProtocol, preset = kDefaultPreset;
  std::vector<std::string> sets;  // fields of the view, e.g. "max_length_tokens=1000"
};

// What a row of a table is called: the attention, the block that uses none, or "python-" and the
// name of an attention that lives in Python.
std::string MethodOf(const ExperimentConfig& config);

// "listops-linear-small-s0": task, attention, preset and seed. A block other than the default one
// stands behind the attention ("listops-s4d-mixer-small-1f2e3d4c-s0"), a protocol other than the
// default behind the preset, and where anything differs from what protocol, preset and attention
// say, the first eight digits of the cell's fingerprint stand behind both:
// "listops-linear-small-lra2020-1f2e3d4c-s0". Unlike configurations have unlike names.
std::string ExperimentName(const ExperimentConfig& config);

}  // namespace lra

#endif  // LRA_EXPERIMENT_H_
