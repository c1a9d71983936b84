// Files of suites, and the run files that they name.
#ifndef LRA_SUITE_SUITE_FILE_H_
#define LRA_SUITE_SUITE_FILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "suite/suite.pb.h"

namespace lra {

// A file of configs/suites/ by its name, or any that ends with ".textproto" by its path.
// InvalidArgument names the nearest one, and `lra list suites`; the errors of ReadTextProto.
absl::StatusOr<SuiteFile> LoadSuite(const std::string& name_or_path);

// Run files that it names by a relative path lie beside it: they have its folder before them then.
// The errors of ReadTextProto.
absl::StatusOr<SuiteFile> ReadSuiteFile(const std::string& path);

// "listops_smoke" of "configs/suites/listops_smoke.textproto".
std::string SuiteName(const std::string& name_or_path);

// Whether a group's run file is a path, no name of one in configs/.
bool IsRunFileOfUser(const std::string& name);
// The path of a group's run file; empty where it has none.
std::string RunFilePath(const std::string& name);

}  // namespace lra

#endif  // LRA_SUITE_SUITE_FILE_H_
