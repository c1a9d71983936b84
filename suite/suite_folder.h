// The folder of a suite's runs: which suite it is of.
#ifndef LRA_SUITE_SUITE_FOLDER_H_
#define LRA_SUITE_SUITE_FOLDER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "suite/suite.pb.h"

namespace lra {

inline constexpr char kSuiteFile[] = "suite.textproto";

// Makes OUT and its suite.textproto, which names the versions of its protocols, so that the folder
// stays what it is when they change; one that names none is taken to mean today's. Run files that
// are no names are copied to OUT/run_files. Where the encoders of suite.init_from lie may
// change: the file then names the new place.
// FailedPrecondition if it holds another suite, also by a run file that was edited, or the same
// under other versions; AlreadyExists if it is a run's; the errors of ReadFile of a run file.
absl::Status ClaimSuiteFolder(const std::string& out, const SuiteFile& suite);
// The suite of a folder; NotFound if it has none. A run file that is not there, as in folders of
// earlier builds, is looked for where its path leads from the current folder.
absl::StatusOr<SuiteFile> SuiteOfFolder(const std::string& out);
// `suite`, which the folder was claimed for, with the run files that the folder keeps in place of
// its users'. The errors of SuiteOfFolder.
absl::StatusOr<SuiteFile> WithRunFilesOf(const std::string& out, SuiteFile suite);

// The folder as records name it: "runs/x" for "./runs//x/".
std::string NormalFolder(const std::string& folder);
// Folders of suites at or below the paths, each once however many of them lead there, by where they
// really are. What lies in a run is its own. What cannot be listed holds none.
std::vector<std::string> SuiteFoldersBelow(absl::Span<const std::string> paths);

}  // namespace lra

#endif  // LRA_SUITE_SUITE_FOLDER_H_
