// Reads a run file (RunFile), and writes one for people to edit: `lra init`.
#ifndef LRA_RUN_FILE_H_
#define LRA_RUN_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lra/config.pb.h"
#include "lra/experiment.h"

namespace lra {

// The errors of ReadTextProto; where the file is a suite, they say so.
absl::StatusOr<RunFile> ReadRunFile(const std::string& path);

// A run file of that choice. `sets` stand in it as fields; other fields that people change stand
// behind "#" with the values that they have anyway, so the file means what the choice means. `path`
// is only named in the comments, as that of the file. InvalidArgument for a choice with a run file;
// the errors of ResolveExperiment.
absl::StatusOr<std::string> RunFileText(const ExperimentChoice& choice, absl::string_view path);

// Writes that text. AlreadyExists where there is a file.
absl::Status WriteRunFile(const ExperimentChoice& choice, absl::string_view path);

}  // namespace lra

#endif  // LRA_RUN_FILE_H_
