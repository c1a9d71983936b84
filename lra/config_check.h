// The rules that a whole configuration keeps, wherever it comes from.
#ifndef LRA_CONFIG_CHECK_H_
#define LRA_CONFIG_CHECK_H_

#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "lra/config.h"
#include "lra/config.pb.h"

namespace lra {

// Every value is in range, every field that is needed is set, and fields agree. The chosen block
// does not read `idle_fields` (BlockFile.idle_field). InvalidArgument names the fields.
absl::Status CheckConfig(const ExperimentConfig& config, const std::set<std::string>& idle_fields);

// Does the same for a configuration that was read from a checkpoint or a weights file. What an
// older file lacks counts as set to its legacy value.
absl::Status CheckStoredConfig(ExperimentConfig config);

// Whether a model guesses the next tokens or hidden ones, and not labels.
bool GuessesTokens(const DataView& view);

// Whether a field has a flag of its own (task, protocol, preset, attention.name), which chooses
// what is merged; --set refuses it.
bool IsChosenByFlag(absl::string_view path);

// Whether the field was set by --set or by a run file, and not by a protocol, preset or plug-in.
bool IsGivenByUser(const ResolvedConfig& resolved, const std::string& path);

// A field that the user set and that says nothing beside the other fields.
struct IdleField {
  std::string path;
  std::string warning;  // a sentence that says why
  // Whether runs with and without it are one run, so that it is left out. What was not told in
  // earlier versions stays: the names of runs that have it must not change.
  bool is_left_out = true;
};
std::vector<IdleField> FindIdleFields(const ResolvedConfig& resolved,
                                      const std::set<std::string>& idle_fields);

// Gives the field at the dotted path the value and the origin that it has in `from`; unset if it is
// unset there.
absl::Status RestoreField(const ResolvedConfig& from, const std::string& path, ResolvedConfig* to);

}  // namespace lra

#endif  // LRA_CONFIG_CHECK_H_
